// SPDX-License-Identifier: Apache-2.0
// How long a search in a site takes, and what it moves: `node bench/site/measure.mjs FOLDER [RUNS]`.
//
// FOLDER is of fill.py. A server of nothing but files, which packs nothing, on loopback; Chromium's own emulation adds
// 20 ms to each answer and lets through 20 Mbit/s. Each run is a new visitor with an empty cache.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join, normalize } from "node:path";
import { chromium } from "../../web/node_modules/playwright-core/index.mjs";

const [folder, runs = "5"] = process.argv.slice(2);
const TYPES = { ".js": "text/javascript", ".css": "text/css" };
const LINE = { offline: false, latency: 20, downloadThroughput: 2.5e6, uploadThroughput: 2.5e6 };

const server = createServer((request, response) => {
  const path = normalize(new URL(request.url, "http://x").pathname);
  try {
    const body = readFileSync(join(folder, path === "/" ? "index.html" : path));
    response.writeHead(200, { "Content-Type": TYPES[path.slice(path.lastIndexOf("."))] ?? "text/html" }).end(body);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const executablePath = process.env.IOATLAS_CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });

/** Milliseconds until the text of the page's status is another one and is painted. */
const until = (page, act) =>
  page.evaluate(async (code) => {
    const said = document.getElementById("said");
    const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    const [before, began] = [said.textContent, performance.now()];
    new Function("form", code)(document.querySelector("form"));
    while (said.textContent === before || said.textContent.startsWith("Loading")) await painted();
    await painted();
    return performance.now() - began;
  }, act);
const input = (name, value) => `form.${name}.value = "${value}"; form.${name}.dispatchEvent(new Event("input", { bubbles: true }));`;

const found = [];
for (let run = 0; run < Number(runs); run += 1) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const processor = async () => 1000 * (await session.send("Performance.getMetrics")).metrics.find((one) => one.name === "TaskDuration").value;
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", LINE);
  let moved = 0;
  session.on("Network.loadingFinished", (one) => {
    moved += one.encodedDataLength;
  });
  const steps = [];
  const step = async (act) => {
    const [before, began] = [await processor(), performance.now()];
    const took = await act();
    steps.push([took ?? performance.now() - began, (await processor()) - before, moved]);
  };
  await step(async () => {
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    await page.locator("tbody tr").first().waitFor();
  });
  await step(() => until(page, input("load", "randread-4096")));
  await step(() => until(page, input("q", "m123")));
  await step(() => until(page, input("least", "20000")));
  found.push(steps);
  await context.close();
}
await browser.close();
server.close();
const middle = (step, what) => found.map((run) => run[step][what]).sort((a, b) => a - b)[Math.floor(found.length / 2)];
console.log("| step | ms | of these the page's processor time | moved until then, MB |\n|---|---|---|---|");
["first visit, table shown", "a load chosen, shown", "words typed, shown", "IOPS at least, shown"].forEach((text, step) => {
  console.log(`| ${text} | ${middle(step, 0).toFixed(0)} | ${middle(step, 1).toFixed(0)} | ${(middle(step, 2) / 1e6).toFixed(2)} |`);
});
