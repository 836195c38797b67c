// SPDX-License-Identifier: Apache-2.0
// A visitor's question, in a real Chromium, on a desktop and on a phone: `node bench/atlas/visit.mjs NEW-FOLDER`.
//
// Which NAS gives virtual machines 20,000 random reads of 4 KiB within 5 ms, for so much a TiB at most: how fast is it,
// how sure is that, who else found it? The service is that of some.py. Held: at most three clicks and a minute, and no
// page with faults of axe or wider than the window. Pictures of all pages go to the folder.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { chromium, devices } from "../../web/node_modules/playwright-core/index.mjs";

const OUT = resolve(process.argv[2] ?? "");
if (!process.argv[2] || existsSync(OUT)) throw new Error("usage: node bench/atlas/visit.mjs NEW-FOLDER");
const service = spawn(process.env.IOATLAS_PYTHON ?? "python3", [join(import.meta.dirname, "some.py")], { stdio: ["pipe", "pipe", "inherit"] });
const address = await new Promise((ready, failed) => {
  service.stdout.on("data", (said) => ready(String(said).split(" ")[0]));
  service.on("exit", (status) => failed(new Error(`the service ended with ${status}`)));
});
const PRICE = "150";
const AXE = readFileSync(join(import.meta.dirname, "../../web/node_modules/axe-core/axe.min.js"), "utf8");
const executablePath = process.env.IOATLAS_CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const PLACES = { desktop: { viewport: { width: 1280, height: 900 } }, phone: { ...devices["Pixel 7"] } };
const faults = [];
mkdirSync(OUT, { recursive: true });
console.log("| where | clicks | seconds | screens down to the answer | answer |\n|---|---|---|---|---|");
for (const [name, settings] of Object.entries(PLACES)) {
  const context = await browser.newContext(settings);
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  let [clicks, spent, began] = [0, 0, performance.now()];
  const screens = [];
  const shown = async (what) => {
    await page.locator(what).first().waitFor();
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
    spent += performance.now() - began;
    const top = await page.locator(what).first().evaluate((one) => one.getBoundingClientRect().bottom + scrollY);
    screens.push(top / page.viewportSize().height);
    const found = await page.evaluate(`${AXE}; axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations.map((v) => v.id + " " + v.nodes[0].target))`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (found.length) faults.push(`${name}, ${what}: ${found.join("; ")}`);
    if (wide > 0) faults.push(`${name}, ${what}: ${wide} pixels too wide`);
    await page.screenshot({ path: join(OUT, `${name}-${screens.length}.png`), fullPage: true });
    began = performance.now();
  };
  const click = async (what) => {
    clicks += 1;
    await what.click();
  };
  await page.goto(address);
  await shown("p.starts a");
  await click(page.getByRole("link", { name: "a NAS for virtual machines" }));
  await page.getByLabel("Per TiB, at most").fill(PRICE);
  await click(page.getByRole("button", { name: "Search" }));
  await page.waitForURL(`**price=${PRICE}**`);
  await shown(".shopped tbody tr");
  await click(page.locator('.shopped a[href^="/products/"]').first());
  await page.waitForURL("**/products/**");
  const answer = page.getByRole("row").filter({ hasText: "4 KiB" }).filter({ hasText: /rand(om )?read/ }).last();
  await shown("dl.facts");
  const told = (await answer.innerText()).replace(/\s+/g, " ");
  if (clicks > 3 || spent > 60_000) faults.push(`${name}: ${clicks} clicks, ${spent} ms`);
  const cost = await page.locator("dl.facts dt", { hasText: "price per usable" }).first().locator("+ dd").innerText();
  console.log(`| ${name} | ${clicks} | ${(spent / 1000).toFixed(1)} | ${screens.map((one) => one.toFixed(1)).join(", ")} | ${await page.locator("h1").innerText()}: ${told}, ${cost} |`);
  await context.close();
}
await browser.close();
service.stdin.end();
console.log(faults.length ? `✘ ${faults.join("\n")}` : "✔ three clicks");
process.exit(faults.length ? 1 : 0);
