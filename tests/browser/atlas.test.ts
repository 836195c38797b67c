// SPDX-License-Identifier: Apache-2.0
// An atlas as a moderator and an evaluator meet it: a real service, a real bundle, signed in, decided and answered in
// Chromium, which says itself whose form it sends.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { axeSource, launch, python } from "./browser";

const BUNDLE = join(import.meta.dirname, "../unit/bundle/formats/1-of-0.3.0.ioatlas.zip");
const folder = mkdtempSync(join(tmpdir(), "ioatlas-atlas-"));
const place = ["--folder", join(folder, "atlas")];
let browser: Browser;
let server: ChildProcess;
let address: string;

function ioatlas(...words: string[]): string {
  const env = { ...process.env, XDG_CONFIG_HOME: folder };
  return execFileSync(python(), ["-m", "ioatlas", ...words], { env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
}

beforeAll(async () => {
  ioatlas("atlas", "serve", "account", "alice", ...place);
  server = spawn(python(), ["-m", "ioatlas", "atlas", "serve", ...place, "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
  address = await new Promise<string>((found, failed) => {
    let said = "";
    server.stdout?.on("data", (piece) => {
      said += piece;
      const match = said.match(/http:\/\/[\d.:]+\d/);
      if (match) found(match[0]);
    });
    server.on("exit", (status) => failed(new Error(`the service ended with ${status}: ${said}`)));
  });
  browser = await launch();
});

afterAll(async () => {
  await browser?.close();
  server?.kill("SIGINT");
  rmSync(folder, { recursive: true, force: true });
});

async function faults(page: Page): Promise<string[]> {
  await page.locator("h1").first().waitFor(); // a click may still be on its way to the next page
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  const found: string[] = await page.evaluate(`${axeSource()};
    axe.run(document, { resultTypes: ["violations"] }).then((r) =>
      r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.target.join(" "))))`);
  return wide > 0 ? [`${wide} pixels too wide`, ...found] : found;
}

test("what a moderator doubts is hidden, and released it is back with the reason; its evaluator answers beside it", { timeout: 240_000 }, async () => {
  const headers = { Authorization: `Bearer ${ioatlas("atlas", "serve", "token", "alice", ...place)}`, "Content-Type": "application/zip" };
  const sent = await fetch(`${address}/api/v1/results`, { method: "POST", headers, body: readFileSync(BUNDLE) });
  const { id, badge } = (await sent.json()) as { id: string; badge: string };
  expect(badge, "of another version: it is taken, not recomputed").toBe("unchecked");
  ioatlas("atlas", "serve", "account", "carol", "--kind", "moderator", ...place);

  const context = await browser.newContext({ viewport: { width: 390, height: 844 }, colorScheme: "dark" });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  await page.goto(`${address}/sign-in`);
  await page.getByLabel("Token").fill(ioatlas("atlas", "serve", "token", "carol", ...place));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL("**/mine");
  await page.goto(`${address}/r/${id}`);
  expect(await faults(page)).toEqual([]);

  await page.getByRole("link", { name: "Decide on it" }).click();
  await page.getByLabel("Reason").fill("no such drive");
  await page.getByRole("button", { name: "Flag it" }).click();
  await page.waitForURL("**/moderate");
  expect((await fetch(`${address}/r/${id}`)).status).toBe(404);
  const widths = await page.locator(".stack td").evaluateAll((all) => all.map((one) => one.clientWidth));
  expect(Math.min(...widths)).toBeGreaterThan(300); // a cell has the phone's width, so that no word breaks
  expect(await faults(page)).toEqual([]);

  await page.getByRole("link", { name: id, exact: true }).click();
  await page.getByLabel("Reason").waitFor();
  expect(await faults(page)).toEqual([]);
  await page.getByLabel("Reason").fill("the data sheet says so");
  await page.getByRole("button", { name: "Release it" }).click();
  await page.waitForURL("**/moderate");
  expect(await page.getByText("the data sheet says so").count()).toBe(1);
  const shown = await fetch(`${address}/r/${id}`);
  expect([shown.status, (await shown.text()).includes("the data sheet says so")]).toEqual([200, true]);

  await page.goto(`${address}/sign-in`);
  await page.getByLabel("Token").fill(headers.Authorization.replace("Bearer ", ""));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL("**/mine");
  await page.goto(`${address}/r/${id}`);
  await page.getByRole("link", { name: "Answer as its evaluator" }).click();
  await page.getByLabel("Text").fill("The cable was <new>.");
  await page.getByRole("button", { name: "Look at it first" }).click();
  expect(await page.getByRole("status").innerText()).toBe("The cable was <new>.");
  expect(await faults(page)).toEqual([]);
  await page.getByRole("button", { name: "Send it" }).click();
  await page.waitForURL(`**/r/${id}#replies`);
  expect(await page.getByText("The cable was <new>.").count()).toBe(1);
  expect(complaints).toEqual([]);
});
