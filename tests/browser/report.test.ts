// SPDX-License-Identifier: Apache-2.0
// A report as a reader meets it: opened from file:// in Chromium, used with pointer, keyboard and printer.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { axeSource, launch, more, type Opened, open, Reports } from "./browser";

const reports = new Reports();
let browser: Browser;

beforeAll(async () => {
  reports.write("quick"); // and all the others: in the time of no test
  browser = await launch();
});

afterAll(async () => {
  await browser?.close();
  reports.remove();
});

const looked = new Map<string, Promise<Opened>>();

/** A page that several tests look at, one of each kind: opening it takes longer than most of them. Each leaves axes,
 * view, quantity and size as they were. */
function look(kind: string): Promise<Opened> {
  const page = looked.get(kind) ?? open(browser, reports.write(kind));
  looked.set(kind, page);
  return page;
}

/** Centre of a cell of a tile, in window coordinates: x from the left, y from the bottom. */
async function cellPoint(page: Page, tile: number, nx: number, ny: number, x: number, y: number) {
  const canvas = page.locator(".tile").nth(tile);
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  if (!box) throw new Error("no such tile");
  return { x: box.x + ((x + 0.5) * box.width) / nx, y: box.y + box.height - ((y + 0.5) * box.height) / ny };
}

/** What the canvas shows at a fraction of a tile's width and height. */
async function pixel(page: Page, tile: number, fx: number, fy: number): Promise<number[]> {
  return page.locator(".tile").nth(tile).evaluate((element, [fx, fy]) => {
    const canvas = document.querySelector<HTMLCanvasElement>(".cells canvas");
    const [from, box] = [canvas?.getBoundingClientRect(), element.getBoundingClientRect()];
    if (!canvas || !from) throw new Error("no map");
    const at = (start: number, size: number, share: number) => Math.floor((start + size * share) * (canvas.width / from.width));
    const [x, y] = [at(box.left - from.left, box.width, fx), at(box.top - from.top, box.height, fy)];
    return [...(canvas.getContext("2d")?.getImageData(x, y, 1, 1).data ?? [])];
  }, [fx, fy] as const);
}

async function violations(page: Page): Promise<string[]> {
  // The page's policy forbids foreign scripts; the debugger's evaluation does not pass through it.
  return page.evaluate(`${axeSource()};
    axe.run(document, { resultTypes: ["violations"] }).then((r) =>
      r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.target.join(" ") + " " + n.failureSummary)))`);
}

describe("a crossed sweep", () => {
  test("opens from a file without asking for anything, and complains about nothing", async () => {
    const { page, requests, complaints } = await open(browser, reports.write("seed2021"));
    await expect(page.locator("h1").textContent()).resolves.toBe("made-up array, 2021 sweep");
    expect(await page.locator(".tile").count()).toBe(16);
    expect(requests).toEqual([]);
    expect(complaints).toEqual([]);
    const policy = await page.locator("meta[http-equiv]").getAttribute("content");
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain("unsafe");
    // The policy really bites: the page itself cannot reach out.
    const refused = await page.evaluate(() =>
      fetch("http://127.0.0.1:9/").then(() => "reached").catch((e: Error) => e.name));
    expect(refused).toBe("TypeError");
    expect(complaints.join(" ")).toContain("Content Security Policy");
    await page.context().close();
  });

  test("opens with the answer, and the map in the first screen", async () => {
    const { page } = await look("quick");
    await page.setViewportSize({ width: 1280, height: 900 });
    const cards = await page.locator(".card h3").allTextContents();
    expect(cards.slice(0, 2)).toEqual(["Best read", "Best write"]);
    expect(await page.locator(".card-value b").first().textContent()).toMatch(/^[\d.]+ [KMG]iB\/s$/);
    const map = await page.locator(".tile").first().boundingBox();
    expect((map?.y ?? 0) + (map?.height ?? 0)).toBeLessThan(900);
    const badge = page.locator(".trust > summary");
    expect(await badge.textContent()).toMatch(/^Trust: (good|fair|low)/);
    await badge.click();
    expect(await page.locator(".trust-why").isVisible()).toBe(true);
    await badge.click();
    const before = await page.locator(".detail .cell-name").textContent();
    await page.getByRole("button", { name: "Show cell on the map: Best write" }).click();
    expect(await page.locator(".detail .cell-name").textContent()).not.toBe(before);
  });

  test("tells the findings below the map, each leading to its cells", async () => {
    const { page } = await look("seed2021");
    expect(await page.locator(".finding-text").first().isVisible()).toBe(false);
    await page.locator(".findings > details > summary").click();
    const sentences = await page.locator(".finding-text").allTextContents();
    expect(sentences[0]).toMatch(/^Reaching 90% of the best read takes/);
    const before = await page.locator(".detail .cell-name").textContent();
    await page.getByRole("button", { name: /^Show cell on the map: Reaching 90%/ }).click();
    const after = await page.locator(".detail .cell-name").textContent();
    expect(after).not.toBe(before);
    const wanted = /(\d+ [KM]iB) blocks/.exec(sentences[0] ?? "")?.[1];
    expect(after).toContain(`Block size${wanted}`);
  });

  test("the pointer reads every number of a cell", async () => {
    const { page } = await look("seed2021");
    const at = await cellPoint(page, 3, 12, 10, 4, 2);
    await page.mouse.move(at.x, at.y);
    const tip = (await page.locator(".tip").innerText()).replace(/\s+/g, " ");
    expect(tip).toMatch(/Operation read Block size 16 KiB File size 16 MiB Jobs 8/);
    for (const part of [/Throughput [\d.]+ [KMG]iB\/s [\d.]+( [KMG]iB\/s)? to [\d.]+ [KMG]iB\/s/, /IOPS/, /Mean latency [\d.]+ [µm]s/, /p99 latency/, /\d visits/, /measured, steady/]) {
      expect(tip).toMatch(part);
    }
    await page.mouse.click(at.x, at.y);
    expect(await page.locator(".detail .cell-name").innerText()).toMatch(/Jobs\s+8/);
    const how = page.locator(".detail .readout details").first();
    expect(await how.locator("dl").isVisible()).toBe(false);
    await how.locator("summary").click();
    expect(await how.innerText()).toMatch(/t-log-pooled\/1/);
    await page.mouse.move(2, 2);
    await expect(page.locator(".tip").count()).resolves.toBe(0);
  });

  test("the keyboard reaches every cell, across tiles", async () => {
    const { page } = await open(browser, reports.write("seed2021"));
    const cell = page.locator('[role="gridcell"]');
    await cell.focus();
    const label = () => cell.getAttribute("aria-label");
    await page.keyboard.press("Home");
    expect(await label()).toContain("File size 1 MiB");
    const jobs = Number(/Jobs (\d+)/.exec((await label()) ?? "")?.[1]);
    await page.keyboard.press("ArrowLeft");
    expect(await label()).toContain(`Jobs ${jobs / 2},`.replace(",", ""));
    expect(await label()).toContain("File size 2 GiB");
    expect(await cell.evaluate((e) => e === document.activeElement)).toBe(true);
    const column = Number(await cell.getAttribute("aria-colindex"));
    await page.keyboard.press("ArrowRight");
    expect(Number(await cell.getAttribute("aria-colindex"))).toBe(column + 1);
    await page.keyboard.press("ArrowDown");
    expect(await label()).toMatch(/Throughput [\d.]+ .*\(.* to .*\).*visits; .*; measured by t-log-pooled\/1/);
    expect(await page.locator(".tip").isVisible()).toBe(true);
    const name = /Block size (\S+ \S+?),/.exec((await label()) ?? "")?.[1] ?? "none";
    await page.keyboard.press("Enter");
    expect(await page.locator(".detail .cell-name").innerText()).toContain(name);
    expect(await cell.getAttribute("aria-selected")).toBe("true");
    // From the bottom row of the upper tiles down into the lower ones: another operation.
    for (let i = 0; i < 10; i++) await page.keyboard.press("ArrowDown");
    expect(await label()).toContain("Operation write");
    await page.keyboard.press("Control+ArrowUp");
    expect(await label()).toContain("Operation read");
    await page.context().close();
  });

  test("a cell that cannot exist says so", async () => {
    const { page } = await look("seed2021");
    const at = await cellPoint(page, 0, 12, 10, 0, 9);
    await page.mouse.move(at.x, at.y);
    expect(await page.locator(".tip").innerText()).toContain("not admissible: the block is larger than the file");
    await page.mouse.click(at.x, at.y);
    expect(await page.locator(".job pre").innerText()).toContain("; not measured: not admissible");
  });

  test("any axis goes anywhere", async () => {
    const { page, complaints } = await open(browser, reports.write("seed2021"));
    const selected = (label: string) =>
      page.getByLabel(label, { exact: true }).evaluate((e) => (e as HTMLSelectElement).selectedOptions[0]?.textContent);
    await more(page);
    await page.getByRole("button", { name: "Swap the axes across and up" }).click();
    expect(await selected("Across")).toBe("Block size (bs)");
    expect(await selected("Up")).toBe("File size (size)");
    // An axis put where another stands: that one takes its old place.
    await page.getByLabel("Across", { exact: true }).selectOption({ label: "Jobs (numjobs)" });
    expect(await selected("Tile columns")).toBe("Block size (bs)");
    expect(await page.locator(".tile").count()).toBe(20);
    // None: the axis becomes a slider.
    await page.getByLabel("Tile columns", { exact: true }).selectOption({ label: "none" });
    expect(await page.locator(".tile").count()).toBe(2);
    expect(await page.getByRole("slider", { name: /Block size/ }).count()).toBe(1);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("a slider moves the map and the pinned cell with it", async () => {
    const { page } = await open(browser, reports.write("seed2021"));
    await more(page);
    await page.getByLabel("Tile columns", { exact: true }).selectOption({ label: "none" });
    const slider = page.getByRole("slider", { name: /Jobs/ });
    await slider.focus();
    await page.keyboard.press("Home");
    const before = await pixel(page, 0, 0.52, 0.55);
    expect(await page.locator(".detail .cell-name").innerText()).toMatch(/Jobs\s+1\b/);
    await page.keyboard.press("End");
    expect(await page.locator(".detail .cell-name").innerText()).toMatch(/Jobs\s+128/);
    expect(await pixel(page, 0, 0.52, 0.55)).not.toEqual(before);
    expect(await slider.getAttribute("aria-valuetext")).toBe("128");
    await page.context().close();
  });

  test("quantity and scale change the picture, on one shared scale", async () => {
    const { page } = await open(browser, reports.write("seed2021"));
    const seen = new Set<string>();
    const look = async () => {
      seen.add((await pixel(page, 5, 0.46, 0.65)).join());
    };
    await look();
    await more(page);
    await page.getByRole("radio", { name: "Log" }).check();
    await look();
    expect(seen.size).toBe(2);
    const captions = new Set<string>();
    for (const name of ["IOPS", "Mean latency", "p99 latency", "Throughput per job", "Interval width"]) {
      await page.getByRole("radio", { name, exact: true }).check();
      captions.add(await page.locator(".bar figcaption").innerText());
      expect(await page.locator(".bar").count()).toBe(1);
      expect(await page.locator(".bar-ticks span").count()).toBeGreaterThan(1);
    }
    expect(captions.size).toBe(5);
    await page.locator(".display > summary").click();
    await page.getByRole("radio", { name: "kB" }).check();
    await page.getByRole("radio", { name: "Throughput", exact: true }).check();
    expect(await page.locator(".detail .readout").innerText()).toMatch(/ GB\/s/);
    await page.context().close();
  });

  test("slices run along any axis, through the pinned cell, with thin lines beside them when asked for", async () => {
    const { page, complaints } = await open(browser, reports.write("seed2021"));
    const picture = () => page.locator(".slice > svg").innerHTML();
    const along = page.getByLabel("Axis of the slice");
    const [size, pinned] = [await picture(), await page.locator(".plot-told").innerText()];
    await along.selectOption({ label: "Block size (bs)" });
    const bs = await picture();
    expect(bs).not.toBe(size);
    await page.getByLabel("thin lines for").selectOption({ label: "each of: Jobs (numjobs)" });
    expect(await picture()).not.toBe(bs);
    await page.getByText("Numbers of this line").click();
    const rows = await page.locator(".slice tbody tr").allInnerTexts();
    expect(rows).toHaveLength(10);
    expect(rows.join("\n")).toContain(/: ([\d.]+ \S+)/.exec(pinned)?.[1]);
    const plot = await page.locator(".slice .chart-hit").first().boundingBox();
    await page.mouse.click((plot?.x ?? 0) + 8, (plot?.y ?? 0) + 40);
    expect(await page.locator(".detail .cell-name").innerText()).toMatch(/Block size\s+4 KiB/);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("the table sorts, pages, and its CSV is the result", async () => {
    const { page } = await open(browser, reports.write("seed2021"));
    await page.getByRole("radio", { name: "Table" }).check();
    const first = () => page.locator(".data tbody tr").first().innerText();
    await page.getByRole("button", { name: "Throughput" }).click();
    expect(await page.locator('th[aria-sort="ascending"]').innerText()).toContain("Throughput");
    const low = await first();
    await page.getByRole("button", { name: "Throughput" }).click();
    expect(await first()).not.toBe(low);
    expect(await first()).toContain("GiB/s");
    await page.getByRole("button", { name: "Next page" }).click();
    expect(await page.locator(".pager").innerText()).toContain("2 of 39");
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download CSV" }).click()]);
    const lines = readFileSync(await download.path(), "utf8").trim().split("\r\n");
    expect(lines[0]).toBe(
      "target,rw,bs_bytes,size_bytes,numjobs,iodepth,direction,kind,n_visits,bw_bytes_per_s,bw_low,bw_high,iops,lat_mean_ns,lat_p99_ns,lat_kind,verdict,method",
    );
    expect(lines).toHaveLength(1905);
    const [row = []] = lines.slice(1).map((line) => line.split(","));
    const at = (column: number) => Number(row[column]);
    const [bs, bw, low95, high95, iops] = [at(2), at(9), at(10), at(11), at(12)];
    expect(bw / bs / iops).toBeCloseTo(1, 4);
    expect(low95).toBeLessThan(bw);
    expect(high95).toBeGreaterThan(bw);
    await page.context().close();
  });

  test("latency: percentiles of the cell and its neighbours, and their growth with load", async () => {
    const { page, complaints } = await open(browser, reports.write("quick"));
    await page.getByRole("radio", { name: "Latency", exact: true }).check();
    expect(await page.getByRole("img", { name: /^Latency over Percentile of the I\/Os, 1, 4, 16/ }).count()).toBe(1);
    expect(await page.getByRole("img", { name: /^Latency over Jobs: I\/Os per second, mean, p99/ }).count()).toBe(1);
    await page.locator(".latency").getByText("Numbers of this chart").first().click();
    const table = page.locator(".latency table").first();
    const row = await table.locator("tbody tr").first().innerText();
    expect(row).toMatch(/\d [µm]s/);
    const before = await table.locator("tbody").innerText();
    await page.locator(".cell-chooser").getByLabel("Block size").selectOption({ index: 0 });
    expect(await table.locator("tbody").innerText()).not.toBe(before);
    await page.getByLabel("Compare along").selectOption({ label: "nothing: this cell alone" });
    expect(await table.locator("thead th").allInnerTexts()).toEqual(["Percentile of the I/Os", "this cell"]);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("time: a strip for each visit, with what was cut, what stalled and what does not count", async () => {
    const { page, complaints } = await look("quick");
    await page.getByRole("radio", { name: "Time", exact: true }).check();
    await page.locator(".cell-chooser select").first().selectOption({ index: 0 });
    for (const chooser of await page.locator(".cell-chooser select").all()) await chooser.selectOption({ index: 0 });
    const told = await page.locator(".strip figcaption").allInnerTexts();
    expect(told).toHaveLength(2);
    expect(told[0]).toContain("80 ms of warm-up cut");
    expect(told[1]).toContain("does not count: ran longer than asked");
    expect(told[1]).toContain("stalled for 160 ms");
    expect(await page.locator(".strip-stall").count()).toBe(4);
    expect(complaints).toEqual([]);
    await page.getByRole("radio", { name: "Map", exact: true }).check();
  });

  test("a link opens the page on what somebody else saw", async () => {
    const file = reports.write("quick");
    const { page } = await open(browser, file);
    expect(new URL(page.url()).hash).toBe("");
    await page.getByRole("radio", { name: "IOPS" }).check();
    const at = await cellPoint(page, 1, 2, 2, 1, 0);
    await page.mouse.click(at.x, at.y);
    const pinned = await page.locator(".detail .cell-name").innerText();
    await expect.poll(() => page.url()).toMatch(/#view=map&quantity=iops.*&cell\.rw=randwrite&cell\.bs=4096/);
    const link = page.url();
    const other = await page.context().newPage();
    await other.goto(link);
    expect(await other.getByRole("radio", { name: "IOPS" }).isChecked()).toBe(true);
    expect(await other.locator(".detail .cell-name").innerText()).toBe(pinned);
    await page.context().close();
  });

  test("values of an axis are hidden with the keyboard, the address keeps that, and one button shows all", async () => {
    const file = reports.write("quick");
    const { page, complaints } = await open(browser, file);
    const tile = page.locator(".tile").first();
    await page.locator(".more > summary").focus();
    await page.keyboard.press("Enter");
    const axis = page.locator(".filters fieldset", { hasText: "Jobs" });
    const before = await page.locator(".focus-grid").getAttribute("aria-colcount");
    await axis.getByRole("checkbox").first().focus();
    await page.keyboard.press("Space");
    expect(await axis.getByRole("checkbox").first().isChecked()).toBe(false);
    expect(await page.locator(".more > summary").textContent()).toBe("Axes and more: 1 value hidden");
    expect(await page.locator(".focus-grid").getAttribute("aria-colcount")).not.toBe(before);
    await expect.poll(() => page.url()).toContain("hide.numjobs=1");
    const again = await open(browser, file);
    await again.page.goto(page.url());
    await again.page.reload();
    await again.page.locator(".more > summary").waitFor();
    expect(await again.page.locator(".more > summary").textContent()).toBe("Axes and more: 1 value hidden");
    await page.getByRole("button", { name: "Show all values" }).click();
    expect(await page.locator(".focus-grid").getAttribute("aria-colcount")).toBe(before);
    expect(await tile.isVisible()).toBe(true);
    expect(complaints).toEqual([]);
    await again.page.context().close();
    await page.context().close();
  });

  test("a click gives the keyboard to the cell", async () => {
    const { page } = await look("seed2021");
    const at = await cellPoint(page, 0, 8, 10, 3, 3);
    await page.mouse.click(at.x, at.y);
    await page.waitForFunction(() => document.activeElement?.getAttribute("role") === "gridcell");
    const before = await page.locator("[role=gridcell]").getAttribute("aria-label");
    await page.keyboard.press("ArrowRight");
    expect(await page.locator("[role=gridcell]").getAttribute("aria-label")).not.toBe(before);
  });

  test("the map is saved as a picture, with its words as words in SVG", async () => {
    const { page, complaints } = await look("quick");
    await more(page);
    const saved = async (name: RegExp) => {
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name }).click()]);
      return readFileSync(await download.path());
    };
    const png = await saved(/^PNG/);
    expect(png.subarray(1, 4).toString()).toBe("PNG");
    expect(png.readUInt32BE(16)).toBeGreaterThan(1500);
    const svg = (await saved(/^SVG/)).toString();
    const words = [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map((m) => m[1]);
    expect(words).toContain("4 KiB");
    expect(words.join(" ")).toContain("Throughput");
    expect(svg.match(/<image/g)?.length).toBeGreaterThan(2);
    expect(complaints).toEqual([]);
    await more(page);
  });

  test("two campaigns stand side by side, and their ratios are one map", async () => {
    const { page, complaints } = await look("comparison");
    expect(await page.locator(".comparison li").allTextContents()).toEqual(["Made up: -33%."]);
    expect(await page.locator(".pin.twin").count()).toBe(1);
    const tiles = await page.locator(".tile").count();
    await page.getByRole("button", { name: "Show the map of changes" }).click();
    expect(await page.locator(".tile").count()).toBe(tiles / 2);
    expect(await page.locator(".detail .readout .on").textContent()).toMatch(/^Change([+\u2212]\d+%|)/);
    expect(await page.locator(".bar-ticks").textContent()).toContain("±0");
    await page.getByRole("radio", { name: "Throughput", exact: true }).check();
    expect(await page.locator(".tile").count()).toBe(tiles);
    expect(complaints).toEqual([]);
  });

  test("of several sides each has a map of ratios, with what is said of them as marks", async () => {
    const { page, complaints } = await open(browser, reports.write("several"));
    const tiles = await page.locator(".tile").count();
    expect(await page.locator(".pin.twin").count()).toBe(2);
    await page.getByRole("button", { name: "Show the maps of changes against a" }).click();
    expect(await page.locator(".tile").count()).toBe(tiles);
    const legend = await page.locator(".legend").textContent();
    expect(legend).toContain("a difference");
    expect(legend).toContain("no difference shown");
    expect(legend).toContain("the same within the tolerance");
    await page.getByRole("radio", { name: "Throughput", exact: true }).check();
    expect(await page.locator(".legend").textContent()).not.toContain("a difference");
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("dark mode follows the system, and the switch overrules it", async () => {
    const { page } = await open(browser, reports.write("seed2021"), { colorScheme: "dark" });
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await background();
    expect(dark).toBe("rgb(13, 16, 18)");
    await page.locator(".display > summary").click();
    await page.getByRole("radio", { name: "Light" }).check();
    expect(await background()).toBe("rgb(245, 246, 246)");
    await page.getByRole("radio", { name: "Auto" }).check();
    await page.emulateMedia({ colorScheme: "light" });
    expect(await background()).toBe("rgb(245, 246, 246)");
    await page.context().close();
  });

  test("prints on light paper, with the map repainted and no controls", async () => {
    const { page } = await open(browser, reports.write("few cells"), { colorScheme: "dark" });
    const inadmissible = () => pixel(page, 0, 0.01, 0.01);
    const dark = await inadmissible();
    await page.emulateMedia({ media: "print" });
    expect(await page.locator(".controls").isVisible()).toBe(false);
    expect(await page.locator(".findings").isVisible()).toBe(true);
    expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe("rgb(255, 255, 255)");
    expect(await inadmissible()).not.toEqual(dark);
    const width = await page.locator(".board").evaluate((e) => (e as HTMLElement).offsetWidth);
    expect(width).toBeLessThanOrEqual(720);
    await page.emulateMedia({ media: "screen" });
    expect(await page.locator(".controls").isVisible()).toBe(true);
    const pdf = await page.pdf({ format: "A4" });
    expect(pdf.subarray(0, 5).toString()).toBe("%PDF-");
    await page.context().close();
  });

  test("cells of different standing look different in grey", async () => {
    const { page } = await look("few cells");
    const words = await page.locator(".legend li").allInnerTexts();
    expect(words.map((w) => w.trim())).toEqual([
      "measured, steady", "estimated", "measured, not steady", "measured, suspect", "not measured", "not admissible",
    ]);
    // The swatches share one colour; what sets them apart are the marks: compare their brightness patterns.
    const patterns = await page.locator(".legend canvas").evaluateAll((all) =>
      all.map((canvas) => {
        const c = canvas as HTMLCanvasElement;
        const { data } = c.getContext("2d")?.getImageData(0, 0, c.width, c.height) ?? { data: [] as unknown as Uint8ClampedArray };
        const grey: number[] = [];
        const at = (i: number) => data[i] ?? 0;
        for (let i = 0; i < data.length; i += 4) grey.push(Math.round((at(i) * 0.3 + at(i + 1) * 0.59 + at(i + 2) * 0.11) / 32));
        return grey.join();
      }),
    );
    expect(new Set(patterns).size).toBe(patterns.length);
  });

  test("fits a telephone", async () => {
    const { page } = await open(browser, reports.write("seed2021"), { viewport: { width: 390, height: 844 }, hasTouch: true });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    expect(wide).toBeLessThanOrEqual(0);
    const canvas = await page.locator(".tile").first().boundingBox();
    expect((canvas?.width ?? 0) / 12).toBeGreaterThanOrEqual(6);
    const at = await cellPoint(page, 1, 12, 10, 3, 3);
    await page.touchscreen.tap(at.x, at.y);
    expect(await page.locator(".detail .cell-name").innerText()).toMatch(/Jobs\s+2/);
    await page.context().close();
  });
});

test("the answer, what to do next and the map begin on a telephone's first screen", async () => {
  for (const kind of ["quick", "few cells"]) {
    const { page } = await open(browser, reports.write(kind), { viewport: { width: 390, height: 844 } });
    for (const part of [".card-value", ".next", ".tile"]) {
      const box = await page.locator(part).first().boundingBox();
      expect((box?.y ?? 9999) + 40, `${kind} ${part}`).toBeLessThan(844);
    }
    await page.close();
  }
});

test("the next step's command is copied, and said so", async () => {
  const { page } = await look("quick");
  const next = page.locator(".next");
  const command = await next.locator("code").first().textContent();
  expect(command).toMatch(/^ioatlas /);
  await next.getByRole("button").click();
  await expect.poll(() => next.getByRole("status").textContent()).toMatch(/Copied|Select/);
});

test("no fact's name runs into its value, however long it is", async () => {
  const { page } = await look("seed2021");
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    const over = await page.locator("#method dt").evaluateAll((names) =>
      names.filter((name) => {
        const range = document.createRange();
        range.selectNodeContents(name);
        const value = name.nextElementSibling?.getBoundingClientRect();
        return value !== undefined && range.getBoundingClientRect().right > value.left + 1;
      }).map((name) => name.textContent),
    );
    expect(await page.locator(".testbed dt").count()).toBeGreaterThan(5);
    expect(over).toEqual([]);
  }
});

describe("a search for the best setting", () => {
  test("the curve says what to size by, and the trials are a map with jobs of their own", async () => {
    const { page, complaints } = await look("tuned");
    const section = page.locator("#charts");
    const told = (await section.textContent()) ?? "";
    expect(told).toContain("safe to 31 k IOPS, borderline 49.6 k, overloaded at 62 k. Size applications for 31 k IOPS.");
    expect(told).not.toContain("Power");
    expect(told).not.toContain("Streams at");
    expect(told).not.toContain("Behind");
    const verdicts = await section.locator(".chart-table tbody tr td:last-child").allTextContents();
    expect(verdicts).toEqual(["steady", "safe", "borderline", "overloaded"]);
    expect(await section.locator(".chart > svg").count()).toBe(1);
    const cards = await page.locator(".card h3").allTextContents();
    expect(cards.slice(0, 2)).toEqual(["Best setting", "Safe fixed rate"]);
    expect(await page.locator(".job pre").textContent()).toContain("iodepth=");
    expect(complaints).toEqual([]);
  });
});

describe("several streams at once", () => {
  test("the curve has a chart, its numbers as a table, and the streams of each load", async () => {
    const { page, complaints } = await look("streams");
    const section = page.locator("#charts");
    expect(await section.locator(".chart > svg").count()).toBe(1);
    expect(await section.locator(".chart .chart-hollow").count()).toBe(3);
    expect(await section.locator(".chart-table").first().locator("tbody tr").count()).toBe(5);
    expect(await section.textContent()).toContain("lower bound");
    expect(await section.textContent()).toContain("overloaded");
    await section.getByText("Streams at each load").click();
    const streams = section.locator(".chart-table").last().locator("tbody tr");
    expect(await streams.count()).toBe(10);
    expect(await streams.nth(6).textContent()).toContain("10%oltp");
    expect(await streams.nth(6).textContent()).toContain("1400");
    expect(complaints).toEqual([]);
  });
});

describe("accessibility", () => {
  for (const [kind, scheme, view] of [
    ["seed2021", "light", "Map"],
    ["few cells", "dark", "Map"],
    ["mixed", "light", "Table"],
    ["nosize", "dark", "Table"],
    ["comparison", "dark", "Map"],
    ["quick", "light", "Latency"],
    ["quick", "dark", "Time"],
    ["single", "light", "Map"],
    ["rounds", "light", "Map"],
    ["rounds", "dark", "Map"],
    ["streams", "light", "Map"],
    ["streams", "dark", "Map"],
    ["tuned", "dark", "Map"],
    ["fitted", "light", "Map"],
    ["fitted", "dark", "Map"],
  ] as const) {
    test(`axe finds nothing: ${kind}, ${scheme}, ${view.toLowerCase()}`, async () => {
      const { page } = await look(kind);
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      await page.getByRole("radio", { name: view, exact: true }).check();
      expect(await violations(page)).toEqual([]);
      await page.getByRole("radio", { name: "Map", exact: true }).check();
      await page.emulateMedia({ colorScheme: null, reducedMotion: null });
    });
  }

  test("motion is left out when the reader asks for that", async () => {
    const { page } = await open(browser, reports.write("quick"), { reducedMotion: "reduce" });
    expect(await page.locator(".pin").evaluate((e) => getComputedStyle(e).transitionDuration)).toBe("0s");
    await page.emulateMedia({ reducedMotion: "no-preference" });
    expect(await page.locator(".pin").evaluate((e) => getComputedStyle(e).transitionDuration)).not.toBe("0s");
    await page.context().close();
  });
});

describe("other shapes", () => {
  for (const [kind, tiles] of [
    ["line", 1],
    ["single", 1],
    ["nosize", 4],
    ["quick", 2],
    ["mixed", 9],
    ["paths", 1],
    ["imported", 2],
    ["long", 30],
  ] as const) {
    test(`${kind} draws ${tiles} tile${tiles > 1 ? "s" : ""} and says nothing is wrong`, async () => {
      const { page, requests, complaints } = await look(kind);
      expect(await page.locator(".tile").count()).toBe(tiles);
      expect(await page.locator(".detail .readout").first().innerText()).toMatch(/[KMG]iB\/s/);
      expect([...requests, ...complaints]).toEqual([]);
    });
  }

  test("whether a target fits stands before all else", async () => {
    const { page, complaints } = await look("fitted");
    const said = page.locator(".summary > ul").first();
    expect(await said.locator("li > b").allTextContents()).toEqual(["PASS: ", "PASS: ", "FAIL: "]);
    expect(await page.locator(".summary .card").count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test("what a product costs stands in cards, each leading to its cell", async () => {
    const { page, complaints } = await look("quick");
    const section = page.locator("#cost");
    expect(await section.locator(".card h3").allTextContents()).toEqual(["Per usable TiB", "Per MB/s read"]);
    expect(await section.innerText()).toContain("4,288 USD · 2017-03 · 43.7 TiB (48 TB) usable");
    await section.getByRole("button", { name: /^Show cell on the map: Per MB\/s read/ }).click();
    expect(await page.locator(".detail .cell-name").textContent()).toContain("Jobs16");
    expect(complaints).toEqual([]);
  });

  test("imported sets are drawn as lines beside each other, with how they were measured", async () => {
    const { page } = await look("imported");
    const table = page.locator("section", { has: page.locator("#imported-title") });
    expect(await table.locator("tbody tr").allInnerTexts()).toEqual(["old\tiozone 3.489\tbuffered\tnot told"]);
    expect(await page.locator(".slice select").nth(1).locator("option:checked").innerText()).toBe("each of: Target");
  });

  test("a hostile name is text", async () => {
    const { page } = await look("paths");
    expect(await page.locator("h1").innerText()).toBe("</script><b>&amp; hostile name");
    expect(await page.locator("h1 b").count()).toBe(0);
  });

  test("directions of a mixed load are an axis of their own", async () => {
    const { page } = await look("mixed");
    const select = page.getByLabel("Direction", { exact: true });
    await select.selectOption({ label: "read" });
    const at = await cellPoint(page, 3, 3, 3, 1, 1);
    await page.mouse.click(at.x, at.y);
    const name = await page.locator(".detail .cell-name").innerText();
    expect(name).toMatch(/Operation\s+randrw/);
    expect(name).toMatch(/Direction\s+read/);
  });
});

function fioVersion(): string {
  try {
    return execFileSync("fio", ["--version"]).toString();
  } catch {
    return "";
  }
}

describe("the fio job of a cell", () => {
  test("is copied to the clipboard", async () => {
    const { page } = await look("seed2021");
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy job" }).click();
    await expect.poll(() => page.locator(".job-head [role=status]").innerText()).toBe("Copied");
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toBe(await page.locator(".job pre").textContent());
    expect(copied).not.toMatch(/\d+ ?[kKmMgG]i?[bB]?$/m);
    expect(copied).not.toContain("made-up");
  });

  test.skipIf(!fioVersion())("runs by hand with the target's place filled in", async () => {
    const { page } = await look("seed2021");
    const at = await cellPoint(page, 3, 12, 10, 1, 2);
    await page.mouse.click(at.x, at.y);
    const text = (await page.locator(".job pre").textContent()) ?? "";
    const folder = mkdtempSync(join(tmpdir(), "ioatlas-job-"));
    try {
      const file = join(folder, "cell.fio");
      writeFileSync(file, text.replaceAll("/path/to/a/directory/on/the/target", folder));
      const out = execFileSync("fio", ["--output-format=json", file]).toString();
      const result = JSON.parse(out.slice(out.indexOf("{")));
      const options = { ...result["global options"], ...result.jobs[0]["job options"] };
      expect(options).toMatchObject({ rw: "read", bs: "16384", size: "2097152", numjobs: "8", direct: "1", thread: "1" });
      expect(result.jobs[0].error).toBe(0);
      expect(result.jobs[0].read.total_ios).toBeGreaterThan(0);
      expect(existsSync(join(folder, "ioatlas-by-hand"))).toBe(true);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe("a damaged page", () => {
  test("says what is wrong instead of staying empty", async () => {
    const path = reports.file("other-version.html");
    writeFileSync(path, readFileSync(reports.write("line"), "utf8").replace('"version":1', '"version":99'));
    const page = await browser.newPage();
    await page.goto(`file://${path}`);
    expect(await page.locator(".broken").innerText()).toContain("which this explorer does not know");
    await page.close();
  });
});
