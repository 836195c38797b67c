// SPDX-License-Identifier: Apache-2.0
// A real Chromium, and real report files for it to open.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

const ROOT = resolve(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "../..");

function chromiumPath(): string {
  const known = [process.env.IOATLAS_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  const found = known.find((path) => path && existsSync(path));
  if (!found) throw new Error("no Chromium: install Debian's package `chromium`, or name one in IOATLAS_CHROMIUM");
  return found;
}

/** The Python that has ioatlas: the one named, the checkout's own, or the system's. */
export function python(): string {
  const own = join(ROOT, ".venv/bin/python");
  return process.env.IOATLAS_PYTHON ?? (existsSync(own) ? own : "python3");
}

export class Reports {
  private readonly folder = mkdtempSync(join(tmpdir(), "ioatlas-browser-"));

  /** Path of the report of one of the kinds that synthetic.py makes: all at once, since its start takes longer than most. */
  write(kind: string): string {
    const path = join(this.folder, `${kind}.html`);
    if (!existsSync(path)) execFileSync(python(), [join(ROOT, "tests/browser/synthetic.py"), "all", this.folder], { stdio: "inherit" });
    return path;
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export async function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath(),
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

export interface Opened {
  page: Page;
  /** Every request other than for the file itself. */
  requests: string[];
  /** Uncaught errors, console errors, and refusals by the page's own security policy. */
  complaints: string[];
}

export async function open(browser: Browser, path: string, options: BrowserContextOptions = {}): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const requests: string[] = [];
  const complaints: string[] = [];
  const url = `file://${path}`;
  page.on("request", (request) => {
    if (request.url().split("#")[0] !== url && !request.url().startsWith("blob:")) requests.push(request.url());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  await page.goto(url);
  // Last: what stands below the first screen is made behind it.
  await page.locator("footer").waitFor();
  return { page, requests, complaints };
}

/** Axes, scale, filters and what is taken along stand behind one button. */
export async function more(page: Page): Promise<void> {
  await page.locator(".more > summary").click();
}

/** axe's own script, to be run inside the page. */
export function axeSource(): string {
  return readFileSync(join(ROOT, "web/node_modules/axe-core/axe.min.js"), "utf8");
}
