// SPDX-License-Identifier: Apache-2.0
// Opens pages in Chromium, in turns with an empty one, and prints as JSON when the first picture of each stood and how
// long a change of what is seen takes: node measure.mjs CHROMIUM REPEATS PAGE...
import { createRequire } from "node:module";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const [executablePath, repeats, ...paths] = process.argv.slice(2);
const EMPTY = "data:text/html,<!doctype html><title>empty</title><p>empty";

const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

// Looks once a frame for the answer and painted tiles; the time is taken behind the frame that shows them.
const watch = () => {
  const look = () => {
    const map = document.querySelector(".tile");
    const stands = document.title === "empty" ? document.body : map && document.querySelector(".card, .comparison");
    requestAnimationFrame(stands ? () => setTimeout(() => { window.firstPictureMs = performance.now(); }) : look);
  };
  requestAnimationFrame(look);
};

/** Main-thread processor time so far: what other work on the machine does not add to. */
async function processorMs(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => {
    const { metrics } = await cdp.send("Performance.getMetrics");
    return 1000 * metrics.find((m) => m.name === "TaskDuration").value;
  };
}

async function opened(url) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(watch);
  const cpu = await processorMs(page);
  const before = await cpu();
  await page.goto(url);
  await page.waitForFunction(() => window.firstPictureMs !== undefined, undefined, { timeout: 60_000 });
  const found = { ms: await page.evaluate(() => window.firstPictureMs), cpuMs: (await cpu()) - before };
  await context.close();
  return found;
}

const urls = [EMPTY, ...paths.map((path) => `file://${path}`)];
const first = urls.map(() => []);
for (let i = 0; i < Number(repeats); i++) for (const [at, url] of urls.entries()) first[at].push(await opened(url));

/** What a reader presses, again and again; each press does the opposite of the one before. */
const PRESSED = {
  quantity: "fieldset:nth-of-type(2) label:not(.on) input:is([value=throughput], [value=iops])",
  scale: "label:not(.on) input:is([value=linear], [value=log])",
  axes: ".swap",
  filter: ".filters fieldset:last-of-type input:last-of-type",
};

async function changes(path) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.goto(`file://${path}`);
  await page.locator(".more > summary").click();
  const cpu = await processorMs(page);
  const found = {};
  for (const [name, selector] of Object.entries(PRESSED)) {
    // The first presses compile what they run.
    for (const n of [6, 24]) {
      const before = await cpu();
      const ms = await page.evaluate(async ([selector, n]) => {
        const all = [];
        for (let i = 0; i < n; i++) {
          const from = performance.now();
          document.querySelector(selector).click();
          await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
          all.push(performance.now() - from);
          await new Promise((done) => setTimeout(done, 30));
        }
        return all;
      }, [selector, n]);
      found[name] = { ms, cpuMs: ((await cpu()) - before) / n };
    }
  }
  const tiles = await page.locator(".tile").count();
  await page.close();
  return { tiles, ...found };
}

const changed = [];
for (const path of paths) changed.push(await changes(path));
const version = browser.version();
await browser.close();
process.stdout.write(`${JSON.stringify({ version, first, changed })}\n`);
