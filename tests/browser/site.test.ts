// SPDX-License-Identifier: Apache-2.0
// A site of results as a visitor meets it: real files from a disk and from a server of nothing but files, in Chromium.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, normalize } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { axeSource, launch, python } from "./browser";

const BUNDLE = join(import.meta.dirname, "../unit/bundle/formats/1-of-0.3.0.ioatlas.zip");
const folder = mkdtempSync(join(tmpdir(), "ioatlas-site-"));
const site = join(folder, "site");
let browser: Browser;
let server: Server;
let address: string;

const ioatlas = (...words: string[]) =>
  execFileSync(python(), ["-m", "ioatlas", ...words], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });

/** An import of one reading of 4 KiB random reads; its own latency contradicts it where it is doubted. */
function imported(name: string, iops: number, doubted: boolean): string {
  const lat = { mean: doubted ? 9e9 / iops : 9e8 / iops, N: 1000, min: 1, max: 1e10, percentile: { "99.000000": 1e10 / iops } };
  const read = { io_bytes: iops * 40960, bw_bytes: iops * 4096, iops, runtime: 10_000, total_ios: iops * 10, lat_ns: lat };
  const options = { rw: "randread", bs: "4k", iodepth: "1", numjobs: "1" };
  const output = { "fio version": "fio-3.33", jobs: [{ jobname: "a", error: 0, "job options": options, read }] };
  const place = join(folder, name);
  writeFileSync(`${place}.json`, JSON.stringify(output));
  ioatlas("import", `${place}.json`, "-o", place);
  return place;
}

beforeAll(async () => {
  mkdirSync(site);
  ioatlas("site", site, BUNDLE, imported("slow", 1000, false), imported("fast", 4000, false), imported("fake", 90_000, true));
  server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url ?? "/", "http://x").pathname));
    try {
      const type = path.endsWith(".js") ? "text/javascript" : path.endsWith(".css") ? "text/css" : "text/html";
      response.writeHead(200, { "Content-Type": type }).end(readFileSync(join(site, path.endsWith("/") ? `${path}index.html` : path)));
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  browser = await launch();
});

afterAll(async () => {
  await browser?.close();
  server?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function faults(page: Page): Promise<string[]> {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  const found: string[] = await page.evaluate(`${axeSource()};
    axe.run(document, { preload: false, resultTypes: ["violations"] }).then((r) =>
      r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.target.join(" ") + " " + n.failureSummary)))`);
  return wide > 0 ? [`${wide} pixels too wide`, ...found] : found;
}

const named = (page: Page) => page.locator("tbody a").allTextContents();

test.each([
  ["a disk", "desktop", { viewport: { width: 1440, height: 900 }, colorScheme: "light" }],
  ["a server", "phone", { viewport: { width: 390, height: 844 }, colorScheme: "dark" }],
] as const)("from %s, on a %s: found, sorted, compared, opened", async (from, _, options) => {
  const page = await (await browser.newContext(options)).newPage();
  const complaints: string[] = [];
  page.on("console", (one) => one.type() === "error" && complaints.push(one.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(from === "a disk" ? `file://${site}/index.html` : address);
  expect(await page.locator("tbody tr").count()).toBe(4);
  expect(await faults(page)).toEqual([]);

  await page.getByLabel("Load").selectOption("randread-4096");
  await page.getByText("4 KiB randread").last().waitFor();
  const order = await named(page);
  expect(order.indexOf("fast")).toBeLessThan(order.indexOf("slow"));
  expect(order.slice(-2), "what is doubted stands last, however fast").toContain("fake");
  expect(await faults(page)).toEqual([]);
  await page.getByLabel("IOPS at least").fill("2000");
  await expect.poll(() => named(page)).not.toContain("slow");
  expect(await named(page)).not.toContain("fake");
  await page.getByLabel("IOPS at least").fill("");

  await page.getByLabel("Choose slow").check();
  await page.getByLabel("Choose fast").check();
  await page.getByRole("button", { name: "Compare those ticked" }).click();
  expect(await named(page)).toEqual(["fast", "slow"]);
  await page.getByRole("button", { name: "Show all" }).click();
  await page.getByLabel("Search").fill("slow");
  await page.getByRole("link", { name: "slow" }).click();
  await page.locator(".explorer").waitFor();
  expect(await page.locator("h1").textContent()).toBe("slow");
  expect(await faults(page)).toEqual([]);
  await page.getByRole("link", { name: "All results" }).click();
  await page.getByRole("link", { name: "See fio results as a map" }).click();
  await page.getByLabel("Drop fio JSON files").setInputFiles(join(folder, "fast.json"));
  await page.getByRole("heading", { name: "fast.json" }).waitFor();
  expect(complaints).toEqual([]);
});
