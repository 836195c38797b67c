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
const charted = join(folder, "charted");
let browser: Browser;
let server: Server;
let address: string;

/** Name, IOPS, whether it is doubted, p99 in nanoseconds. */
type Point = [string, number, boolean, number];
const TABLE: Point[] = [
  ["slow", 1000, false, 1e7],
  ["fast", 4000, false, 2.5e6],
  ["fake", 90_000, true, 1e5],
];
const CHART: Point[] = [
  ["swift", 1000, false, 1e5],
  ["near-swift", 1100, false, 1.02e5],
  ["between", 3000, false, 3e6],
  ["beaten", 900, false, 4e6],
  ["wide", 4000, false, 9e6],
  ["wide-too", 4000, false, 9e6],
  ["also-beaten", 2900, false, 3e6],
  ["false", 90_000, true, 5e4],
];

/** Commands, one after another in one process: its start takes longer than most. */
const COMMANDS = `
import json, sys
from ioatlas.cli import main
for words in json.loads(sys.argv[1]):
    sys.argv = ["ioatlas", *words]
    try:
        main()
    except SystemExit as end:
        assert not end.code, words
`;
const ioatlas = (commands: string[][]) =>
  execFileSync(python(), ["-c", COMMANDS, JSON.stringify(commands)], { encoding: "utf8", stdio: ["ignore", "ignore", "inherit"] });

/** An import of one reading of 4 KiB random reads; its own latency contradicts it where it is doubted. */
function imported([name, iops, doubted, p99]: Point): string[] {
  const lat = { mean: doubted ? 9e9 / iops : 9e8 / iops, N: 1000, min: 1, max: 1e10, percentile: { "99.000000": p99 } };
  const read = { io_bytes: iops * 40960, bw_bytes: iops * 4096, iops, runtime: 10_000, total_ios: iops * 10, lat_ns: lat };
  const options = { rw: "randread", bs: "4k", iodepth: "1", numjobs: "1" };
  const output = { "fio version": "fio-3.33", jobs: [{ jobname: "a", error: 0, "job options": options, read }] };
  const place = join(folder, name);
  writeFileSync(`${place}.json`, JSON.stringify(output));
  return ["import", `${place}.json`, "-o", place];
}

beforeAll(async () => {
  mkdirSync(site);
  const places = (points: Point[]) => points.map(([name]) => join(folder, name));
  const sites = [["site", site, BUNDLE, ...places(TABLE)], ["site", charted, ...places(CHART)]];
  ioatlas([...[...TABLE, ...CHART].map(imported), ...sites]);
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
  await expect.poll(() => page.locator("tbody tr").count()).toBe(4);
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

test.each([1280, 390])("the chart holds what the table holds, and its front is that of the sound, at %i pixels", async (width) => {
  const page = await (await browser.newContext({ viewport: { width, height: 900 } })).newPage();
  await page.goto(`file://${charted}/index.html`);
  await page.getByLabel("Load").selectOption("randread-4096");
  await page.getByText("4 KiB randread").last().waitFor();
  const rows = await page.locator("tbody tr").evaluateAll((all) =>
    all.map((row) => [row.querySelector("a")?.textContent ?? "", ...["IOPS", "p99 latency"].map((name) => row.querySelector(`[data-name="${name}"]`)?.firstChild?.textContent)]),
  );
  expect(rows.length).toBe(CHART.length);
  await page.getByLabel("Across").selectOption("p99");
  await page.locator('[name="y"]').selectOption("iops");
  expect(await faults(page)).toEqual([]);

  // The keyboard comes to each, from left to right.
  const tip = page.locator(".tip");
  const told = async () => (await tip.evaluate((one) => [...one.childNodes].map((each) => each.textContent))).filter(Boolean);
  await page.locator(".plot").focus();
  await page.keyboard.press("Home");
  const seen = [await told()];
  for (let n = 1; n < CHART.length; n += 1) {
    await page.keyboard.press("ArrowRight");
    seen.push(await told());
  }
  const sortedRows = (some: unknown[][]) => some.map((one) => one.slice(0, 3).join(" ")).sort();
  expect(sortedRows(seen.map(([name, iops, p99]) => [name, iops?.replace("IOPS: ", ""), p99?.replace("p99 latency: ", "")]))).toEqual(sortedRows(rows));

  // The front, from the numbers alone.
  const better = (one: Point, other: Point) =>
    one[1] >= other[1] && one[3] <= other[3] && (one[1] > other[1] || one[3] < other[3]);
  const sound = CHART.filter((one) => !one[2]);
  const best = sound.filter((one) => !sound.some((other) => better(other, one))).map((one) => one[0]);
  expect(seen.filter((one) => one.includes("on the front")).map((one) => one[0]).sort()).toEqual([...best].sort());
  expect(seen.find((one) => one[0] === "false")?.join()).toContain("doubted");

  // Each at its place: logarithms lie on a line, and the pointer finds who is there.
  await page.keyboard.press("Escape");
  const circles = await page.locator("circle.best").evaluateAll((all) => all.map((one) => [Number(one.getAttribute("cx")), Number(one.getAttribute("cy"))]));
  expect(circles.length).toBe(best.length);
  const along = sound.filter((one) => best.includes(one[0])).sort((a, b) => a[3] - b[3]);
  const share = (values: number[], n: number) => ((values[n] ?? 0) - (values[0] ?? 0)) / ((values.at(-1) ?? 0) - (values[0] ?? 0));
  for (const [side, value] of [[0, (one: Point) => Math.log(one[3])], [1, (one: Point) => Math.log(one[1])]] as const)
    along.forEach((_, n) => expect(share(circles.map((one) => one[side] ?? 0), n)).toBeCloseTo(share(along.map(value), n), 2));
  const box = await page.locator(".plot").boundingBox();
  const [x, y] = circles[2] ?? [];
  await page.mouse.move((box?.x ?? 0) + (x ?? 0), (box?.y ?? 0) + (y ?? 0));
  expect((await told())[0]).toBe("between");

  // Names hide neither each other nor a point of the front.
  const names = await page.locator("text.name").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));
  expect(names.length).toBeGreaterThan(0);
  const dots = circles.map(([cx, cy]) => ({ left: (box?.x ?? 0) + (cx ?? 0) - 4, right: (box?.x ?? 0) + (cx ?? 0) + 4, top: (box?.y ?? 0) + (cy ?? 0) - 4, bottom: (box?.y ?? 0) + (cy ?? 0) + 4 }));
  const apart = (a: (typeof dots)[0], b: (typeof dots)[0]) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
  names.forEach((one, n) => expect([...names.slice(n + 1), ...dots].every((other) => apart(one, other))).toBe(true));

  // The filters of the table are the chart's.
  await page.getByLabel("Search").fill("beaten");
  await expect.poll(() => page.locator("tbody tr").count()).toBe(2);
  await page.locator(".plot").focus();
  await page.keyboard.press("End");
  expect((await told())[0]).toBe("beaten");
  expect(await page.locator("figure small").textContent()).toContain("2 of 2");
  // At equal p99 more IOPS alone are better; more in flight are not.
  await page.getByLabel("Across").selectOption("flying");
  expect(await page.locator("circle.best").count()).toBe(1);

  // Where results lack what is shown first, it is what they have; where they have nothing, there is no chart.
  const sides = await page.evaluate(() => {
    const root = document.getElementById("chart") as HTMLElement;
    const made = (window as unknown as { ioatlasChart: (...given: unknown[]) => (...drawn: unknown[]) => void }).ioatlasChart;
    const draw = made(root, () => ({ name: "n", link: "#", doubt: "" }));
    const axis = { name: "only", text: "Only", format: String, of: (line: number) => line };
    draw([1, 2], [axis], ["gone", "gone"]);
    const shown = [root.hidden, ...[...root.querySelectorAll("select")].map((one) => one.value)];
    draw([1, 2], [], ["gone", "gone"]);
    return [shown, root.hidden];
  });
  expect(sides).toEqual([[false, "only", "only"], true]);
});
