// SPDX-License-Identifier: Apache-2.0
// The page that takes fio's JSON, as its user meets it: real files of fio, dropped in Chromium, against `ioatlas import`.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { axeSource, launch, python } from "./browser";

const HERE = import.meta.dirname ?? new URL(".", import.meta.url).pathname;
const SAMPLES = process.env.IOATLAS_SAMPLES ?? resolve(HERE, "../../../shared/samples");
const folder = mkdtempSync(join(tmpdir(), "ioatlas-drop-"));
const address = join(folder, "drop.html");
let browser: Browser;

const ioatlas = (...words: string[]) => {
  try {
    return execFileSync(python(), ["-m", "ioatlas", ...words], { stdio: ["ignore", "pipe", "ignore"] }).toString();
  } catch (error) {
    return String((error as { stdout: Buffer }).stdout); // 4: something of a file was lost
  }
};

/** A file that fio wrote. */
function fio(name: string, ...options: string[]): string {
  const path = join(folder, name);
  const data = `--filename=${join(folder, "data")}`;
  execFileSync("fio", [data, "--size=1m", "--thread", "--io_size=2m", ...options, `--output=${path}`]);
  return path;
}

beforeAll(async () => {
  ioatlas("export", "--drop-page", address);
  browser = await launch();
});

afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Opened {
  page: Page;
  complaints: string[];
}

async function opened(options = {}): Promise<Opened> {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })).newPage();
  const complaints: string[] = [];
  page.on("request", (one) => one.url().startsWith(`file://${address}`) || complaints.push(one.url()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (one) => ["error", "warning"].includes(one.type()) && complaints.push(one.text()));
  await page.goto(`file://${address}`);
  return { page, complaints };
}

const take = (page: Page, ...files: string[]) => page.getByLabel("Drop fio JSON files").setInputFiles(files);

const NAMES = ["bw_bytes_per_s", "iops", "lat_mean_ns", "lat_p99_ns"] as const;

/** Of which direction and which latency, and the figures; 0 where there is none. */
type Row = readonly [string, ...number[]];

const inOrder = (rows: Row[]) => rows.sort((a, b) => a.reduce<number>((sum, v, i) => sum || (v < (b[i] ?? 0) ? -1 : v > (b[i] ?? 0) ? 1 : 0), 0));

/** The page keeps single precision, and its table seven digits. */
function expectAlike(ours: Row[], theirs: Row[]): void {
  expect(ours.map(([key]) => key)).toEqual(theirs.map(([key]) => key));
  ours.forEach(([key, ...values], row) => {
    values.forEach((value, i) => {
      const other = Number(theirs[row]?.[i + 1]);
      expect(Math.abs(value - other), `${key} ${NAMES[i]}: ${value}, ${other}`).toBeLessThanOrEqual(1e-5 * other);
    });
  });
}

/** Every row of the page. */
async function shown(page: Page): Promise<Row[]> {
  await page.getByRole("radio", { name: "Table" }).check();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download CSV" }).click();
  const [head = [], ...rows] = readFileSync(await (await download).path(), "utf8")
    .trim()
    .split(/\r?\n/)
    .map((row) => [...row.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map((cell) => cell[1]));
  const at = (row: unknown[], name: string) => row[head.indexOf(name)];
  const figures = (row: unknown[]) => NAMES.map((name) => Number(at(row, name) ?? 0));
  return inOrder(rows.map((row): Row => [`${at(row, "direction")} ${at(row, "lat_kind")}`, ...figures(row)]));
}

/** The same of what `ioatlas import` reads; mean and p99 are of one kind, as `model/imported_reading.py` has them. */
function imported(...files: string[]): Row[] {
  const readings = ioatlas("import", "--json", ...files).trim().split("\n").map((text) => JSON.parse(text));
  const told = readings.filter((one) => NAMES.some((name) => one[name] !== null));
  return inOrder(
    told.map((one): Row => {
      const alike = one.lat_p99_ns === null || one.lat_mean_ns === null || one.lat_kind === one.lat_p99_kind;
      const kind = alike ? (one.lat_kind ?? one.lat_p99_kind) : one.lat_p99_kind;
      const mean = alike ? one.lat_mean_ns : one.details.clat_mean_ns;
      const figures = [one.bw_bytes_per_s, one.iops, mean, one.lat_p99_ns];
      return [`${one.direction} ${kind ?? "unknown"}`, ...figures.map((figure) => figure ?? 0)];
    }),
  );
}

test("runs of fio are read as `ioatlas import` reads them", async () => {
  const files = [
    fio("plus.json", "--output-format=json+", "--name=a", "--rw=randread", "--bs=4k", "--numjobs=2", "--group_reporting"),
    fio("jobs.json", "--output-format=json", "--bs=16k", "--name=one", "--rw=read", "--name=two", "--stonewall", "--rw=randrw", "--lat_percentiles=1"),
    fio("apart.json", "--output-format=json+", "--name=b", "--rw=write", "--bs=64k", "--numjobs=2", "--clat_percentiles=0"),
    fio("both.json", "--output-format=normal,json", "--name=c", "--rw=randwrite", "--bs=8k", "--iodepth=4"),
  ];
  const { page, complaints } = await opened();
  await take(page, ...files);
  await page.getByRole("heading", { name: "4 fio files" }).waitFor();
  expect(await page.getByRole("alert").textContent()).toBe("");
  expectAlike(await shown(page), imported(...files));
  await page.getByRole("radio", { name: "Latency", exact: true }).check();
  expect(await page.getByText("has no latency percentiles").count()).toBe(0);
  expect(complaints).toEqual([]);
});

test.skipIf(!existsSync(SAMPLES))("files of fio 2.1 to 3.40 are read as `ioatlas import` reads them", async () => {
  const place = join(SAMPLES, "fio/json");
  const files = readdirSync(place).filter((name) => !/truncated|all-jobs-failed/.test(name)).map((name) => join(place, name));
  const { page } = await opened();
  await take(page, ...files);
  await page.locator(".explorer").waitFor();
  expectAlike(await shown(page), imported(...files));
});

test("a file that is none is told in one sentence, and the others are shown", async () => {
  const good = fio("good.json", "--output-format=json", "--name=a", "--rw=read", "--bs=64k");
  const whole = readFileSync(good, "utf8");
  writeFileSync(join(folder, "cut.json"), whole.slice(0, whole.length / 2));
  writeFileSync(join(folder, "other.json"), '{"a": 1}');
  writeFileSync(join(folder, "empty.json"), "");
  const { page, complaints } = await opened();
  await take(page, ...["cut.json", "other.json", "empty.json"].map((name) => join(folder, name)));
  await page.getByText("cut.json").waitFor();
  const said = (await page.getByRole("alert").textContent())?.split("\n") ?? [];
  expect(said.map((line) => line.split(":")[0])).toEqual(["cut.json", "other.json", "empty.json"]);
  expect(await page.locator(".explorer").count()).toBe(0);
  await take(page, good);
  await page.getByRole("heading", { name: "good.json" }).waitFor();
  expect(await page.getByRole("alert").textContent()).toBe("");
  expect(complaints).toEqual([]);
});

test.each([
  ["a desktop", { viewport: { width: 1440, height: 900 }, colorScheme: "light" }],
  ["a phone", { viewport: { width: 390, height: 844 }, colorScheme: "dark" }],
])("on %s it can be used by everybody, and reaches no network", async (_, options) => {
  const { page } = await opened(options);
  const axe = `${axeSource()};
    axe.run(document, { resultTypes: ["violations"] }).then((r) =>
      r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.target.join(" ") + " " + n.failureSummary)))`;
  expect(await page.evaluate(axe)).toEqual([]);
  await take(page, fio("one.json", "--output-format=json", "--name=a", "--rw=read", "--bs=64k"));
  await page.locator(".explorer").waitFor();
  expect(await page.evaluate(axe)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
  const reached = page.evaluate(() => fetch("http://127.0.0.1:9/").then(() => "reached").catch((e: Error) => e.name));
  expect(await reached).toBe("TypeError");
  const policy = await page.locator("meta[http-equiv]").getAttribute("content");
  expect(policy).toContain("connect-src 'none'");
});
