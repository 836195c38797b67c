// SPDX-License-Identifier: Apache-2.0
// A picture of a report's head and map: node scripts/picture.mjs REPORT.html OUT.png [light|dark] [WIDTH]
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { chromium } from "playwright-core";

const [report, out, scheme = "light", width = "1280"] = process.argv.slice(2);
if (!report || !out) {
  process.stderr.write("usage: node scripts/picture.mjs REPORT.html OUT.png [light|dark] [WIDTH]\n");
  process.exit(2);
}
const known = [process.env.IOATLAS_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser"];
const executablePath = known.find((path) => path && existsSync(path));
if (!executablePath) {
  process.stderr.write("no Chromium: install the package `chromium`, or name one in IOATLAS_CHROMIUM\n");
  process.exit(1);
}
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({
  viewport: { width: Number(width), height: 900 },
  colorScheme: scheme === "dark" ? "dark" : "light",
  deviceScaleFactor: 2,
});
await page.goto(`file://${resolve(report)}`);
await page.locator(".board").waitFor();
const end = await page.locator(".explorer").evaluate((e) => e.getBoundingClientRect().bottom + window.scrollY);
await page.screenshot({ path: out, fullPage: true, clip: { x: 0, y: 0, width: Number(width), height: end + 20 } });
await browser.close();
