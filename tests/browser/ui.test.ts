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
  await page.getByRole("textbox", { name: "Target" }).fill(join(folder, "nas"));
  await page.getByRole("textbox", { name: "Time budget" }).fill("5m");
  await page.getByRole("textbox", { name: "Name" }).fill("nas1");
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Show the plan" }).click();
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

  await page.goto(new URL("/?q=nas1&state=unfinished", address).href);
  expect(await page.locator("tbody tr").count()).toBe(1);
});

test("on a phone nothing is cut off", async () => {
  const { page } = await open(await browser.newContext({ viewport: { width: 390, height: 800 }, colorScheme: "dark" }));
  await page.goto(address);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(wide).toBe(0);
  expect(await violations(page)).toEqual([]);
});
