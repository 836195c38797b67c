// SPDX-License-Identifier: Apache-2.0
// The table of a site: filtered, sorted and compared in the browser. Parts are scripts, since a page on a disk fetches nothing.
"use strict";
(() => {
  const { columns, results, loads } = window.ioatlasSummary;
  const at = (name) => columns.indexOf(name);
  const PAGE = 100;
  const form = document.querySelector("form");
  const head = document.querySelector("thead tr");
  const body = document.querySelector("tbody");
  const said = document.getElementById("said");
  const more = document.getElementById("more");
  const chosen = document.getElementById("chosen");
  const known = new Map();
  const ticked = new Set();
  let [sort, down, shown, only] = ["created", true, PAGE, false];

  const digits = (value) => (value >= 99.95 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3))));
  const scaled = (value, units, base) => {
    let place = 0;
    while (value >= 999.5 && place < units.length - 1) {
      value /= base;
      place += 1;
    }
    return `${digits(value)} ${units[place]}`.trim();
  };
  const rate = (value) => scaled(value, ["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s"], 1024);
  const count = (value) => (value < 9995 ? digits(value) : scaled(value / 1000, ["k", "M", "G"], 1000));
  const latency = (value) => scaled(value, ["ns", "µs", "ms", "s"], 1000);
  const size = (kind) => scaled(Number(kind.match(/\d+/)[0]), ["B", "KiB", "MiB", "GiB"], 1024);
  const loadName = (kind) => `${size(kind)} ${kind.replace(/-\d+/, " ")}`.trim();
  const date = (text) =>
    text ? new Date(text).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" }) : "";

  const OVERALL = [
    ["read", "Best read", rate],
    ["write", "Best write", rate],
    ["read_4k", "4 KiB read IOPS", count],
    ["write_4k", "4 KiB write IOPS", count],
  ];
  const OF_LOAD = [
    ["bw", "Throughput", rate],
    ["iops", "IOPS", count],
    ["p99", "p99 latency", latency],
    ["flying", "In flight", digits],
  ];

  window.ioatlasLoad = (kind, rows) => {
    known.set(kind, new Map(rows.map(([result, bw, iops, p99, flying, mark]) => [result, { bw, iops, p99, flying, mark }])));
    draw();
  };

  /** A line with its numbers: those of the load that was chosen, or the best of each. */
  function lines() {
    const load = form.load.value;
    const values = load ? known.get(load) : null;
    return results.flatMap((row, i) => {
      const found = load ? values?.get(i) : Object.fromEntries(OVERALL.map(([name]) => [name, row[at(name)]]));
      const mark = load ? (found?.mark ?? "") : "";
      return found ? [{ i, row, found, mark, doubted: mark !== "" || row[at("trust")] === "low" }] : [];
    });
  }

  /** What is doubted ranks nowhere: it stands below what is not, in either order. */
  function ordered(found) {
    const value = (line) => line.found[sort] ?? line.row[at(sort)] ?? null;
    const numeric = sort in (found[0]?.found ?? {});
    return found.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (numeric && a.doubted !== b.doubted) return a.doubted ? 1 : -1;
      if ((x === null) !== (y === null)) return x === null ? 1 : -1;
      return (x < y ? -1 : x > y ? 1 : a.i - b.i) * (down ? -1 : 1);
    });
  }

  function matching() {
    const words = form.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    const least = Number(form.least.value) || 0;
    return lines().filter(({ i, row, found, doubted }) => {
      if (only) return ticked.has(i);
      const text = `${row[at("title")]} ${row[at("target")]}`.toLowerCase();
      const fits = ["protocol", "trust"].every((name) => ["", row[at(name)]].includes(form[name].value));
      const enough = !least || (!doubted && ((found.iops ?? found.read_4k ?? 0) >= least));
      return fits && enough && words.every((word) => text.includes(word));
    });
  }

  function element(name, text, className) {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  function heading(name, text, number) {
    const cell = element("th", "", number ? "number" : "");
    cell.scope = "col";
    cell.setAttribute("aria-sort", sort === name ? (down ? "descending" : "ascending") : "none");
    const button = element("button", `${text}${sort === name ? (down ? " ↓" : " ↑") : ""}`);
    button.type = "button";
    button.addEventListener("click", () => {
      [down, sort] = [sort === name ? !down : number, name];
      draw();
      head.querySelector(`[aria-sort="${down ? "descending" : "ascending"}"] button`)?.focus();
    });
    cell.append(button);
    return cell;
  }

  function line({ i, row, found, mark, doubted }, numbers, most) {
    const made = element("tr", "", doubted ? "doubted" : "");
    const tick = element("input");
    Object.assign(tick, { type: "checkbox", checked: ticked.has(i), ariaLabel: `Choose ${row[at("title")]}` });
    tick.addEventListener("change", () => {
      tick.checked ? ticked.add(i) : ticked.delete(i);
      draw();
      body.querySelector(`[data-i="${i}"]`)?.focus();
    });
    tick.dataset.i = String(i);
    const link = element("a", row[at("title")]);
    link.href = `r/${row[at("id")]}/index.html`;
    const [first, second, target, trust, when] = ["td", "td", "td", "td", "td"].map((name) => element(name));
    first.append(tick);
    second.append(link);
    target.textContent = row[at("target")];
    trust.append(element("span", row[at("trust")], row[at("trust")]));
    trust.dataset.name = "Trust";
    when.className = "place number";
    when.textContent = date(row[at("created")]);
    const cells = numbers.map(([name, text, format]) => {
      const cell = element("td", found[name] === null ? "" : format(found[name]), "number");
      if (found[name] !== null) cell.dataset.name = text;
      if (only && found[name] && !doubted) {
        const bar = element("span", "", "shared");
        bar.style.width = `${(100 * found[name]) / most[name]}%`;
        cell.append(bar);
      }
      return cell;
    });
    if (mark) cells[0]?.append(` ${mark}`);
    made.append(first, second, target, ...cells, trust, when);
    return made;
  }

  function draw() {
    const load = form.load.value;
    if (load && !known.has(load)) {
      said.textContent = "Loading …";
      const script = element("script");
      script.src = `loads/${load}.js`;
      script.onerror = () => {
        said.textContent = `loads/${load}.js is missing: copy the whole folder.`;
      };
      document.head.append(script);
      known.set(load, undefined);
      return;
    }
    if (load && !known.get(load)) return;
    const numbers = load ? OF_LOAD : OVERALL;
    if (![...numbers.map(([name]) => name), "created", "title", "target", "trust"].includes(sort)) {
      [sort, down] = [numbers[0][0], true];
    }
    const found = ordered(matching());
    const most = Object.fromEntries(numbers.map(([name]) => [name, Math.max(...found.map((one) => (one.doubted ? 0 : (one.found[name] ?? 0))))]));
    const plain = element("th");
    plain.append(element("span", "Choose", "hidden"));
    head.replaceChildren(
      plain,
      heading("title", "Result", false),
      heading("target", "Target", false),
      ...numbers.map(([name, text]) => heading(name, text, true)),
      heading("trust", "Trust", false),
      heading("created", "Measured", true),
    );
    body.replaceChildren(...found.slice(0, shown).map((one) => line(one, numbers, most)));
    const of = load ? `, ${loadName(load)}` : "";
    said.textContent = `${found.length.toLocaleString("en")} of ${results.length.toLocaleString("en")} results${of}`;
    more.hidden = found.length <= shown;
    chosen.hidden = ticked.size < 2 && !only;
    chosen.textContent = only ? "Show all" : "Compare those ticked";
  }

  function fill(select, values, text) {
    for (const value of values) {
      const option = element("option", text(value));
      option.value = value;
      select.append(option);
    }
  }

  const counted = (name) => (value) => `${value} (${results.filter((row) => row[at(name)] === value).length})`;
  for (const name of ["protocol", "trust"]) {
    const values = [...new Set(results.map((row) => row[at(name)]).filter(Boolean))].sort();
    fill(form[name], values, counted(name));
    form[name].closest("label").hidden = values.length < 2;
  }
  fill(form.load, loads, loadName);
  form.addEventListener("input", (event) => {
    [shown, only] = [PAGE, false];
    if (event.target === form.load) [sort, down] = [form.load.value ? "iops" : "created", true];
    draw();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  more.addEventListener("click", () => {
    shown += PAGE;
    draw();
  });
  chosen.addEventListener("click", () => {
    only = !only;
    draw();
  });
  draw();
})();
