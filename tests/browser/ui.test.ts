// SPDX-License-Identifier: Apache-2.0
// `ioatlas ui` as its user meets it: a real server, a real measurement, watched, paused and gone on with in Chromium.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { axeSource, launch, more, python } from "./browser";

const folder = mkdtempSync(join(tmpdir(), "ioatlas-ui-"));
let browser: Browser;
let server: ChildProcess;
let address: string;

beforeAll(async () => {
  mkdirSync(join(folder, "nas"));
  mkdirSync(join(folder, "results"));
  server = spawn(python(), ["-m", "ioatlas", "ui", "--no-open", "--port", "0"], {
    env: { ...process.env, IOATLAS_RESULTS: join(folder, "results"), XDG_CONFIG_HOME: folder },
    stdio: ["ignore", "pipe", "inherit"],
  });
  address = await new Promise<string>((found, failed) => {
    let said = "";
    server.stdout?.on("data", (piece) => {
      said += piece;
      const match = said.match(/http:\S+/);
      if (match) found(match[0]);
    });
    server.on("exit", (status) => failed(new Error(`the server ended with ${status}: ${said}`)));
  });
  browser = await launch();
});

afterAll(async () => {
  await browser?.close();
  server?.kill("SIGINT");
  rmSync(folder, { recursive: true, force: true });
});

async function open(context: BrowserContext): Promise<{ page: Page; complaints: string[] }> {
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  return { page, complaints };
}

async function violations(page: Page): Promise<string[]> {
  return page.evaluate(`${axeSource()};
    axe.run(document, { resultTypes: ["violations"] }).then((r) =>
      r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.target.join(" ") + " " + n.failureSummary)))`);
}

test("without the token nobody is let in", async () => {
  const { page } = await open(await browser.newContext());
  const answer = await page.goto(new URL("/", address).href);
  expect(answer?.status()).toBe(403);
});

test("a measurement is planned, watched, paused, gone on with and found in the library", { timeout: 240_000 }, async () => {
  const { page, complaints } = await open(await browser.newContext({ viewport: { width: 1280, height: 900 } }));
  await page.goto(address);
  expect(new URL(page.url()).search).toBe("");
  expect(await violations(page)).toEqual([]);

  await page.getByRole("link", { name: "Measure something" }).click();
  await page.getByRole("textbox", { name: "What to measure" }).fill(join(folder, "nas"));
  await page.getByRole("textbox", { name: "Time at most" }).fill("5m");
  await page.getByRole("textbox", { name: "Name" }).fill("nas1");
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Show the plan" }).click();
  const will = page.getByRole("region", { name: "It will" });
  for (const fact of [join(folder, "nas"), join(folder, "results", "nas1"), "5 min", "MiB", "GiB"]) {
    expect(await will.textContent()).toContain(fact);
  }
  expect(await page.locator("pre").textContent()).toContain("randread");
  expect(await violations(page)).toEqual([]);

  await page.getByRole("button", { name: "Start" }).click();
  await page.waitForURL("**/c/**");
  const running = page.getByRole("region", { name: "This campaign now" });
  await running.getByText("Measuring").waitFor({ timeout: 30_000 });
  await running.getByText(/ of \d+ visits/).waitFor({ timeout: 60_000 });
  expect(await violations(page)).toEqual([]);
  // The map fills while it runs, in the page that was opened before anything was measured.
  await page.locator(".card-value").first().waitFor({ timeout: 120_000 });
  expect(await running.getByText("Measuring").count()).toBe(1);

  await more(page);
  await page.getByRole("radio", { name: "Log" }).check();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Go on" }).click({ timeout: 60_000 });
  await running.getByText("Measuring").waitFor({ timeout: 60_000 });
  // What the reader chose stays over new data.
  expect(await page.getByRole("radio", { name: "Log" }).isChecked()).toBe(true);
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Go on" }).waitFor({ timeout: 60_000 });
  expect(complaints).toEqual([]);

  // The report has a way back.
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Library" }).click();
  await page.goto(new URL("/?q=nas1&state=unfinished", address).href);
  const row = page.locator("tbody tr");
  expect(await row.count()).toBe(1);
  expect(await violations(page)).toEqual([]);
});

test("a fio JSON that is dropped opens as its map; what is none is one error", { timeout: 120_000 }, async () => {
  const { page, complaints } = await open(await browser.newContext({ viewport: { width: 1280, height: 900 } }));
  await page.goto(address);
  const job = (kib: number, depth: number, iops: number) => ({
    jobname: `depth${depth}`,
    error: 0,
    "job options": { rw: "randread", bs: `${kib}k`, iodepth: `${depth}`, numjobs: "1", size: "1g", direct: "1" },
    read: { io_bytes: iops * kib * 1024, bw_bytes: iops * kib * 1024, bw: iops * kib, iops, runtime: 1000 },
  });
  const jobs = [job(4, 1, 7000), job(4, 8, 50000), job(4, 32, 90000), job(64, 1, 1000), job(64, 8, 4000)];
  const text = JSON.stringify({ "fio version": "fio-3.33", jobs });
  // As a drag from a file manager: the field itself takes what is dropped on it.
  const data = await page.evaluateHandle((said) => {
    const carried = new DataTransfer();
    carried.items.add(new File([said], "dropped.json", { type: "application/json" }));
    return carried;
  }, text);
  await page.locator('input[type="file"]').evaluate((field: HTMLInputElement, carried) => {
    field.files = carried.files;
  }, data);
  await page.getByRole("button", { name: "Show what they say" }).click();
  await page.waitForURL("**/c/**", { timeout: 60_000 });
  await page.getByText("Trust: as imported").waitFor();
  expect(await page.locator(".card").first().textContent()).toContain("352 MiB/s");
  expect(await page.locator("#map").count()).toBe(1);

  await page.goto(new URL("/?q=dropped", address).href);
  const row = page.locator("tbody tr");
  const map = row.getByRole("img", { name: "Map: 5 cells with a value" });
  expect((await map.boundingBox())?.height).toBe(36);
  expect(await map.locator("path[fill]").count()).toBe(5);
  expect(await map.locator("path.nothing").count()).toBe(1);
  expect(await row.locator('[data-name="read"]').textContent()).toBe("352 MiB/s");
  expect(await violations(page)).toEqual([]);

  await page.goto(new URL("/", address).href);
  await page.locator('input[type="file"]').setInputFiles({ name: "junk.json", mimeType: "", buffer: Buffer.from("no") });
  await page.getByRole("button", { name: "Show what they say" }).click();
  expect(await page.locator("pre").textContent()).toContain("junk.json: no known result format");
  expect(await violations(page)).toEqual([]);
  expect(complaints.filter((one) => !one.includes("409"))).toEqual([]);
});

test("what is ticked by keyboard alone is compared", async () => {
  const { page } = await open(await browser.newContext({ viewport: { width: 1280, height: 900 } }));
  await page.goto(address);
  const boxes = page.getByRole("checkbox");
  expect(await boxes.count()).toBe(2);
  const tray = page.locator(".actions");
  expect(await tray.evaluate((it) => getComputedStyle(it).position)).toBe("static");
  await boxes.first().focus();
  await page.keyboard.press("Space");
  await page.keyboard.press("Tab"); // the name, which leads to the report
  await page.keyboard.press("Tab");
  await page.keyboard.press("Space");
  expect(await page.locator("tr:has(:checked)").count()).toBe(2);
  expect(await tray.evaluate((it) => getComputedStyle(it).position)).toBe("sticky");
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Compare" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL("**/set?*side=*side=*");
});

test("on a phone nothing is cut off", async () => {
  const { page } = await open(await browser.newContext({ viewport: { width: 390, height: 800 }, colorScheme: "dark" }));
  for (const path of ["/", "/new"]) {
    await page.goto(address);
    await page.goto(new URL(path, address).href);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    expect(wide).toBe(0);
    expect(await violations(page)).toEqual([]);
  }
});
