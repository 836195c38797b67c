// SPDX-License-Identifier: Apache-2.0
// The whole story of a shared result, in a real Chromium over a real PostgreSQL: `node bench/atlas/story.mjs FOLDER`.
//
// FOLDER is new; pictures at 1280 and 390 pixels, light and dark, go there. No row is inserted: a lab target is measured
// live in `ioatlas ui`, bundled, published, searched, answered by its vendor, reproduced by another account, corrected
// and withdrawn. One machine plays both clients: the second one reads another /proc/cpuinfo, in a mount namespace of its
// own, which takes root. A processor that is typed in would not count. The sheet names an array: what a NAS is said to do
// on the client itself is doubted, and not found.
// Ends with 1 where a step, axe or a page's width is not as it should be. About 8 minutes.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "../../web/node_modules/playwright-core/index.mjs";

const ROOT = resolve(import.meta.dirname, "../..");
const OUT = resolve(process.argv[2] ?? "");
if (!process.argv[2] || existsSync(OUT)) throw new Error("usage: node bench/atlas/story.mjs NEW-FOLDER");
const own = join(ROOT, ".venv/bin/python");
const PYTHON = process.env.IOATLAS_PYTHON ?? (existsSync(own) ? own : "python3");
const AXE = readFileSync(join(ROOT, "web/node_modules/axe-core/axe.min.js"), "utf8");
const place = mkdtempSync(join(tmpdir(), "ioatlas-story-"));
const LAB = `story-${process.pid}`;
const ended = [];
const faults = [];
let browser;
let step = 0;

function home(name) {
  const folder = join(place, name);
  mkdirSync(folder, { recursive: true });
  return { ...process.env, HOME: folder, XDG_CONFIG_HOME: join(folder, "config"), IOATLAS_RESULTS: join(folder, "results") };
}

function run(env, ...words) {
  const done = spawnSync(PYTHON, ["-m", "ioatlas", ...words], { env, cwd: env.HOME, encoding: "utf8" });
  const said = words.includes("token") ? "" : done.stdout;
  console.log(`$ ioatlas ${words.join(" ")}\n${said}${done.stderr}`.trimEnd());
  return { status: done.status, text: done.stdout.trim(), all: done.stdout + done.stderr };
}

function must(env, ...words) {
  const done = run(env, ...words);
  if (done.status !== 0) throw new Error(`status ${done.status}: ioatlas ${words[0]}`);
  return done.text;
}

/** A process that prints an address once it is ready. */
async function serving(command, words, env, found) {
  const process_ = spawn(command, words, { env, cwd: ROOT, stdio: ["pipe", "pipe", "inherit"] });
  ended.push(() => new Promise((gone) => { process_.on("exit", gone); process_.stdin.end(); process_.kill("SIGINT"); }));
  return new Promise((ready, failed) => {
    let said = "";
    process_.stdout.on("data", (piece) => {
      said += piece;
      const match = said.match(found);
      if (match) ready(match[0]);
    });
    process_.on("exit", (status) => failed(new Error(`${words.join(" ")} ended with ${status}: ${said}`)));
  });
}

function check(what, good) {
  console.log(`${good ? "✔" : "✘"} ${what}`);
  if (!good) faults.push(what);
}

/** Pictures of a page in both widths and schemes; axe, and that nothing is wider than the window. */
async function look(name, address, context = {}) {
  step += 1;
  for (const [width, height, colorScheme] of [[1280, 900, "light"], [1280, 900, "dark"], [390, 844, "light"], [390, 844, "dark"]]) {
    const made = await browser.newContext({ viewport: { width, height }, colorScheme, ...context });
    const page = await made.newPage();
    const complaints = [];
    page.on("console", (message) => message.type() === "error" && !message.text().includes("410 (Gone)") && complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    await page.goto(address);
    await page.locator("h1").first().waitFor();
    const at = `${name}, ${width} ${colorScheme}`;
    const found = await page.evaluate(`${AXE}; axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations.map((v) => v.id + " " + v.nodes[0].target))`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    check(`${at}: axe ${found.join("; ") || "clean"}; ${wide} pixels too wide; ${complaints.join("; ") || "no complaints"}`, !found.length && wide <= 0 && !complaints.length);
    await page.screenshot({ path: join(OUT, `${String(step).padStart(2, "0")}-${name}-${width}-${colorScheme}.png`), fullPage: true });
    await made.close();
  }
}

/** Signs in, writes beside a result, looks at it, and sends it. `name`: of the pictures; none without. */
async function says(atlas, token, id, text, name = "") {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${atlas}/sign-in`);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).first().click();
  await page.waitForURL("**/mine");
  await page.goto(`${atlas}/r/${id}`);
  await page.getByRole("link", { name: /^(Reply|Answer) as its/ }).click();
  await page.getByLabel("Text").fill(text);
  await page.getByRole("button", { name: "Look at it first" }).click();
  check(`what is to stand there is shown first: ${text}`, (await page.getByRole("status").innerText()) === text);
  if (name) await look(name, page.url(), { storageState: await context.storageState() });
  await page.getByRole("button", { name: "Send it" }).click();
  await page.waitForURL("**#replies");
  await context.close();
}

async function measured(alice) {
  const ui = await serving(PYTHON, ["-m", "ioatlas", "ui", "--no-open", "--port", "0"], alice, /http:\S+/);
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.goto(ui);
  await page.getByRole("link", { name: "Measure something" }).click();
  const target = JSON.parse(must(alice, "lab", "up", "throttled", "--id", LAB, "--json")).location;
  ended.push(async () => void run(alice, "lab", "down", LAB));
  await page.getByRole("textbox", { name: "What to measure" }).fill(target);
  await page.getByRole("checkbox", { name: "Read only" }).check();
  await page.getByRole("textbox", { name: "Time at most" }).fill("3m");
  await page.getByRole("textbox", { name: "Product sheet" }).fill(join(alice.HOME, "box.toml"));
  await page.getByRole("textbox", { name: "Name" }).fill("box1");
  await page.getByRole("button", { name: "Show the plan" }).click();
  await page.getByRole("button", { name: "Start" }).click();
  await page.waitForURL("**/c/**");
  await page.locator(".card-value").first().waitFor({ timeout: 300_000 });
  await page.screenshot({ path: join(OUT, "00-live.png") });
  check("the map fills while it is measured", (await page.getByText("Measuring").count()) > 0);
  await page.getByText("Measuring").waitFor({ state: "detached", timeout: 600_000 });
  const session = await context.storageState();
  await look("measured", page.url(), { storageState: session });
  await context.close();
  return target;
}

async function main() {
  mkdirSync(OUT, { recursive: true });
  browser = await chromium.launch({ executablePath: process.env.IOATLAS_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
  const code = "import sys\nsys.path.insert(0, 'packages/ioatlas-atlas/tests/real')\nfrom postgresql import cluster\nwith cluster() as made:\n  print(made.new_database(), flush=True)\n  sys.stdin.read()";
  const database = await serving(PYTHON, ["-c", `import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n${code}`], process.env, /postgresql:\S+/);
  const operator = { ...home("operator"), IOATLAS_DATABASE: database };
  const blobs = ["--blobs", join(operator.HOME, "blobs")];
  must(operator, "atlas", "serve", "migrate");
  const kinds = { alice: [], bert: [], contoso: ["--kind", "vendor", "--vendor", "Contoso"], carol: ["--kind", "moderator"] };
  const tokens = {};
  for (const [name, kind] of Object.entries(kinds)) {
    must(operator, "atlas", "serve", "account", name, ...kind);
    tokens[name] = must(operator, "atlas", "serve", "token", name);
  }
  const atlas = (await serving(PYTHON, ["-m", "ioatlas", "atlas", "serve", ...blobs, "--listen", "127.0.0.1:0"], operator, /http:\/\/[\d.:]+/));
  const alice = { ...home("alice"), IOATLAS_TOKEN: tokens.alice };
  const bert = { ...home("bert"), IOATLAS_TOKEN: tokens.bert };
  writeFileSync(join(alice.HOME, "box.toml"), `format = 1
[source]
name = "the box itself"
date = "2026-11-01"
[product]
vendor = "Contoso"
model = "N100"
kind = "array"
[[drives]]
count = 4
kind = "NVMe"
capacity = "2 TB"
[layout]
type = "raid10"
[[price]]
what = "as tested"
each = 420
currency = "USD"
[publishing]
licence = "yes"
`);
  run(alice, "product", "check", join(alice.HOME, "box.toml"));
  const target = await measured(alice);
  for (const env of [alice, bert]) must(env, "atlas", "key", "new");
  const bundle = join(alice.HOME, "box1.ioatlas.zip");
  must(alice, "bundle", join(alice.IOATLAS_RESULTS, "box1"), "-o", bundle, "--license", "CC-BY-4.0");
  must(alice, "verify", bundle);
  const declared = ["--to", atlas, "--sponsor", "none", "--conflict", "none", "--yes"];
  const address = must(alice, "atlas", "publish", bundle, ...declared).split(" ")[0];
  const id = address.split("/").at(-1);
  const wanted = `${atlas}/?rw=randread&bs=4k&iops=100&p99=100ms`;
  const session = await browser.newContext();
  const page = await session.newPage();
  await page.goto(wanted);
  check("found by what it can do", (await page.locator(`.shopped a[href^="/products/"]`).count()) === 1);
  await page.goto(`${atlas}/?rw=randread&bs=4k&iops=1m`);
  check("not found by what it cannot do", (await page.locator(`.shopped a[href^="/products/"]`).count()) === 0);
  await look("search", wanted);
  await page.goto(address);
  check("badge: recomputed", (await page.locator("main .badge").first().innerText()) === "recomputed");

  await says(atlas, tokens.contoso, id, "Firmware 7.3 halves this latency. It is out since October.", "reply");
  must({ ...home("contoso"), IOATLAS_TOKEN: tokens.contoso }, "atlas", "reply", address, "Firmware 7.3 halves this latency. It is out since 4 October 2026.", "--yes");
  await says(atlas, tokens.alice, id, "I will measure 7.3 when the box has it.", "answer");
  await page.goto(address);
  check("both stand beside the result, the older version too", (await page.locator(".said").count()) === 2 && (await page.locator("details").filter({ hasText: "since October." }).count()) === 1);

  const mine = join(bert.HOME, "mine");
  must(bert, "atlas", "fetch", address, "-o", join(bert.HOME, "theirs.zip"));
  const other = join(bert.HOME, "cpuinfo");
  writeFileSync(other, readFileSync("/proc/cpuinfo", "utf8").replace(/^(model name\s*:).*$/gm, "$1 Played by this machine"));
  const words = ["-m", "ioatlas", "reproduce", join(bert.HOME, "theirs.zip"), target, "--read-only", "--out", mine, "--yes"];
  const mounted = ["-m", "sh", "-c", 'mount --bind "$0" /proc/cpuinfo && exec "$@"', other, PYTHON, ...words];
  const again = spawnSync("unshare", mounted, { env: bert, cwd: bert.HOME, encoding: "utf8" });
  console.log(again.stdout + again.stderr);
  check(`reproduced (status ${again.status})`, again.status === 0);
  must(bert, "bundle", mine, "-o", join(bert.HOME, "mine.ioatlas.zip"), "--license", "CC-BY-4.0");
  const by = must(bert, "atlas", "publish", join(bert.HOME, "mine.ioatlas.zip"), ...declared, "--reproduces", id).split(" ")[0].split("/").at(-1);
  const copied = run(bert, "atlas", "publish", join(bert.HOME, "theirs.zip"), ...declared);
  check("another's campaign is not published again", copied.status === 2 && copied.all.includes("another account published this campaign"));
  await page.goto(address);
  check("reproduced by 1", (await page.locator("main .badge.reproduced").first().innerText()).startsWith("reproduced by 1 "));
  await look("result", address);

  const corrected = join(alice.HOME, "corrected.ioatlas.zip");
  must(alice, "bundle", join(alice.IOATLAS_RESULTS, "box1"), "-o", corrected, "--license", "CC0-1.0");
  const newer = must(alice, "atlas", "publish", corrected, ...declared, "--replaces", id).split(" ")[0];
  await page.goto(address);
  check("the old one names its correction", (await page.getByRole("link", { name: "the newer version" }).getAttribute("href")) === new URL(newer).pathname);
  must(alice, "atlas", "change", newer, "--withdraw", "a bad cable", "--yes");
  const gone = await page.goto(newer);
  check("withdrawn: told with its reason, without data", gone.status() === 410 && (await page.getByText("a bad cable").count()) > 0);
  await look("withdrawn", newer).catch((error) => check(String(error), false));

  await page.goto(`${atlas}/sign-in`);
  await page.getByLabel("Token").fill(tokens.carol);
  await page.getByRole("button", { name: "Sign in" }).first().click();
  await page.waitForURL("**/mine");
  await page.goto(`${atlas}/moderate/${by}`);
  await page.getByLabel("Reason").fill("the testbed is told wrong");
  await page.getByRole("button", { name: "Flag it" }).click();
  await page.waitForURL("**/moderate");
  check("a moderator's decision stands in the trail", (await page.getByRole("region", { name: "Decisions" }).getByText("the testbed is told wrong").count()) === 1);
  const signed = await session.storageState();
  await look("moderate", `${atlas}/moderate`, { storageState: signed });
  await look("decide", `${atlas}/moderate/${by}`, { storageState: signed });
  await look("products", `${atlas}/`);
  must(operator, "atlas", "serve", "audit");
}

try {
  await main();
} catch (error) {
  faults.push(String(error));
  console.log(error);
} finally {
  await browser?.close();
  for (const end of ended.reverse()) await end();
  rmSync(place, { recursive: true, force: true });
}
console.log(faults.length ? `✘ ${faults.length} faults:\n${faults.join("\n")}` : "✔ the whole story");
process.exit(faults.length ? 1 : 0);
