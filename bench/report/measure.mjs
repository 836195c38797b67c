// SPDX-License-Identifier: Apache-2.0
// Opens a report in Chromium and prints, as JSON, when its first picture stood and how long frames take while a slider moves.
import { createRequire } from "node:module";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const [path, executablePath, repeats = "7"] = process.argv.slice(2);

const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

// Looks once a frame for painted tiles; the time is taken in the frame after, when the picture is on the screen.
const watch = () => {
  const look = () => {
    const tiles = [...document.querySelectorAll("canvas.tile")];
    const last = tiles.at(-1);
    const painted = last?.getContext("2d")?.getImageData(0, last.height - 1, 1, 1).data.some((v, i) => i < 3 && v > 0);
    if (tiles.length > 1 && painted) requestAnimationFrame(() => requestAnimationFrame(() => { window.firstPictureMs = performance.now(); }));
    else requestAnimationFrame(look);
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

const firstPictureMs = [];
const firstPictureCpuMs = [];
for (let i = 0; i < Number(repeats); i++) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(watch);
  const cpu = await processorMs(page);
  const before = await cpu();
  await page.goto(`file://${path}`);
  await page.waitForFunction(() => window.firstPictureMs !== undefined, undefined, { timeout: 60_000 });
  firstPictureCpuMs.push((await cpu()) - before);
  firstPictureMs.push(await page.evaluate(() => window.firstPictureMs));
  await context.close();
}

const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
await page.goto(`file://${path}`);
await page.locator(".board").waitFor();
await page.getByLabel("Tile rows", { exact: true }).selectOption({ label: "Target" });
await page.locator("#map").scrollIntoViewIfNeeded();
const cpu = await processorMs(page);
const before = await cpu();
const moved = await page.evaluate(async () => {
  const slider = document.querySelector('input[type="range"]');
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const frames = [];
  const work = [];
  let last = await frame();
  for (let i = 0; i < 96; i++) {
    const from = performance.now();
    slider.value = String(i % (Number(slider.max) + 1));
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await Promise.resolve().then(() => {});
    await new Promise((done) => queueMicrotask(done));
    work.push(performance.now() - from);
    const now = await frame();
    frames.push(now - last);
    last = now;
  }
  return { axis: slider.labels[0].firstChild.textContent, tiles: document.querySelectorAll("canvas.tile").length, frames: frames.slice(8), work: work.slice(8) };
});
const moveCpuMs = ((await cpu()) - before) / 96;
const version = browser.version();
await browser.close();
process.stdout.write(`${JSON.stringify({ version, firstPictureMs, firstPictureCpuMs, moveCpuMs, ...moved })}\n`);
