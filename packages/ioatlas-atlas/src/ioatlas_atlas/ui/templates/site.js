// SPDX-License-Identifier: Apache-2.0
// The table of a site: filtered, sorted and compared in the browser. Parts are scripts, since a page on a disk fetches nothing.
"use strict";
(async () => {
  /** Columns of a part: see packed.py, which packs them. */
  async function unpacked([size, letters]) {
    const bytes = new Uint8Array(size);
    let [held, bits, at] = [0, 0, 0];
    for (let n = 0; n < size; n += 1) {
      if (bits < 8) {
        held = ((held & 0xff) << 15) | (letters.charCodeAt(at) - 0x3000);
        [at, bits] = [at + 1, bits + 15];
      }
      bits -= 8;
      bytes[n] = held >> bits;
    }
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const data = new Uint8Array(await new Response(stream).arrayBuffer());
    at = data.indexOf(10);
    const { rows, columns, ...more } = JSON.parse(new TextDecoder().decode(data.subarray(0, at)));
    at += 1;
    for (const [name, parts] of Object.entries(columns)) {
      const read = parts.map(([told, width]) => {
        const codes = new Uint32Array(rows);
        for (let low = 0; low < 8 * width; low += 8, at += rows) {
          for (let n = 0; n < rows; n += 1) codes[n] |= data[at + n] << low;
        }
        const value = typeof told === "number" ? numbers(told) : (code) => told[code];
        const found = [];
        for (let n = 0; n < rows; n += 1) found.push(value(codes[n]));
        return found;
      });
      columns[name] = read.length === 1 ? read[0] : read[0].map((_, n) => read.map((part) => part[n]).filter((one) => one !== null).join(", "));
    }
    return { ...more, columns };
  }

  /** Numbers of four digits by their codes: exact, as both factors are. */
  function numbers(least) {
    const power = (n) => Number(`1e${n}`);
    const ten = Array.from({ length: 40 }, (_, n) => least + n);
    const [times, by] = [ten.map((n) => power(Math.max(0, n))), ten.map((n) => power(Math.max(0, -n)))];
    return (code) => {
      if (!code) return null;
      const place = Math.floor((code - 1) / 9000);
      return (((code - 1) % 9000) + 1000) * times[place] / by[place];
    };
  }

  const { columns: results, loads } = await unpacked(window.ioatlasSummary);
  // Sets of one import begin with its name, which tells none apart.
  const first = `${results.title[0].split(", ")[0]}, `;
  if (results.title.every((title, i) => title.startsWith(first) && !results.size_bytes[i] && !results.protocol[i])) {
    results.title = results.title.map((title) => title.slice(first.length));
  }
  const PAGE = 100;
  const form = document.querySelector("form");
  const head = document.querySelector("thead tr");
  const body = document.querySelector("tbody");
  const said = document.getElementById("said");
  const more = document.getElementById("more");
  const chosen = document.getElementById("chosen");
  const count = (value) => (value < 9995 ? digits(value) : scaled(value / 1000, ["k", "M", "G"], 1000));
  const currencies = [...new Set(results.currency.filter(Boolean))].sort();
  /** A column of the table where all prices are of one currency. */
  const PRICE = currencies.length === 1 ? [["price", `Price per TiB, ${currencies[0]}`, count]] : [];
  const line = (i, found, mark) => ({
    i,
    found: PRICE.length ? { ...found, price: results.price_per_tib[i] } : found,
    mark,
    doubted: mark !== "" || results.trust[i] === "low",
  });
  /** Results with their numbers: those of each load that was loaded, and the best of each. */
  const known = new Map();
  const ticked = new Set();
  let names = [];
  const address = (i) => (names.length ? `r/${names[i]}/index.html` : "#");
  let [sort, down, shown, only] = ["created", true, PAGE, false];

  const NUMBER = new Intl.NumberFormat("en");
  const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
  const digits = (value) => (value >= 99.95 ? NUMBER.format(Math.round(value)) : String(Number(value.toPrecision(3))));
  const scaled = (value, units, base) => {
    let place = 0;
    while (value >= 999.5 && place < units.length - 1) {
      value /= base;
      place += 1;
    }
    return `${digits(value)} ${units[place]}`.trim();
  };
  const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  const rate = (value) => `${scaled(value, BINARY, 1024)}/s`;
  const latency = (value) => scaled(value, ["ns", "µs", "ms", "s"], 1000);
  const size = (kind) => scaled(Number(kind.match(/\d+/)[0]), BINARY, 1024);
  const loadName = (kind) => `${size(kind)} ${kind.replace(/-\d+/, " ")}`.trim();
  const date = (text) => (text ? DATE.format(new Date(text)) : "");

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

  const { read, write, read_4k, write_4k } = results;
  const both = (other) => read.filter((value, i) => value && other[i]).length;
  /** What the chart shows first: small reads, where about as many results have them as have writes. */
  const up = 2 * both(read_4k) < both(write) ? "write" : "read_4k";
  known.set("", read.map((_, i) => line(i, { read: read[i], write: write[i], read_4k: read_4k[i], write_4k: write_4k[i] }, "")));
  let texts;

  const LESS = new Set(["p99", "flying"]);
  const price = (currency) => ({
    name: currency,
    text: `Price per TiB, ${currency}`,
    format: count,
    less: true,
    of: ({ i }) => (results.currency[i] === currency ? results.price_per_tib[i] : null),
  });
  const FACTS = [
    { name: "size_bytes", text: "Size", format: (value) => scaled(value, BINARY, 1024), of: ({ i }) => results.size_bytes[i] },
    ...currencies.map(price),
  ];
  const chart = window.ioatlasChart(document.getElementById("chart"), ({ i, mark }) => ({
    name: results.title[i],
    link: address(i),
    doubt: `doubted: ${mark || "low trust"}`,
  }));

  window.ioatlasLoad = async (kind, packed) => {
    const { result, bw_bytes_per_s: bw, iops, lat_p99_ns: p99, in_flight: flying, mark } = (await unpacked(packed)).columns;
    let i = -1;
    known.set(kind, result.map((after, n) => line((i += after), { bw: bw[n], iops: iops[n], p99: p99[n], flying: flying[n] }, mark[n])));
    draw();
  };

  /** What is doubted ranks nowhere: it stands below what is not, in either order. */
  function ordered(found) {
    const numeric = sort in (found[0]?.found ?? {});
    for (const one of found) one.by = (numeric ? one.found[sort] : sort === "created" ? -one.i : results[sort][one.i]) ?? null;
    return found.sort((a, b) => {
      const [x, y] = [a.by, b.by];
      if (numeric && a.doubted !== b.doubted) return a.doubted ? 1 : -1;
      if ((x === null) !== (y === null)) return x === null ? 1 : -1;
      return (x < y ? -1 : x > y ? 1 : a.i - b.i) * (down ? -1 : 1);
    });
  }

  function matching() {
    const words = form.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    texts ??= words.length ? results.title.map((title, i) => `${title} ${results.target[i]}`.toLowerCase()) : undefined;
    const least = Number(form.least.value) || 0;
    const { protocol, trust } = Object.fromEntries(new FormData(form));
    return known.get(form.load.value).filter(({ i, found, doubted }) => {
      if (only) return ticked.has(i);
      if ((protocol && results.protocol[i] !== protocol) || (trust && results.trust[i] !== trust)) return false;
      if (least && (doubted || (found.iops ?? found.read_4k ?? 0) < least)) return false;
      return words.every((word) => texts[i].includes(word));
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

  function drawn({ i, found, mark, doubted }, numbers, most) {
    const made = element("tr", "", doubted ? "doubted" : "");
    const tick = element("input");
    Object.assign(tick, { type: "checkbox", checked: ticked.has(i), ariaLabel: `Choose ${results.title[i]}` });
    tick.addEventListener("change", () => {
      tick.checked ? ticked.add(i) : ticked.delete(i);
      draw();
      body.querySelector(`[data-i="${i}"]`)?.focus();
    });
    tick.dataset.i = String(i);
    const link = element("a", results.title[i]);
    link.href = address(i);
    const [first, second, target, trust, when] = ["td", "td", "td", "td", "td"].map((name) => element(name));
    first.append(tick);
    second.append(link);
    target.textContent = results.target[i] === results.title[i] ? "" : results.target[i];
    trust.append(element("span", results.trust[i], results.trust[i]));
    trust.className = "place";
    trust.dataset.name = "Trust";
    when.className = "place number";
    when.textContent = date(results.created[i]);
    const cells = numbers.map(([name, text, format]) => {
      const cell = element("td", found[name] === null ? "" : format(found[name]), "number");
      if (found[name] !== null) cell.dataset.name = text;
      if (only && found[name] && !doubted) {
        const bar = element("span", "", "shared");
        bar.style.width = `${(100 * found[name]) / most(name)}%`;
        cell.append(bar);
      }
      return cell;
    });
    if (mark) cells[0]?.append(` ${mark}`);
    made.append(first, second, target, ...cells, trust, when);
    return made;
  }

  function fetched(name) {
    const script = element("script");
    script.src = name;
    script.onerror = () => {
      said.textContent = `${name} is missing: copy the whole folder.`;
    };
    document.head.append(script);
  }

  function draw() {
    const load = form.load.value;
    if (load && !known.has(load)) {
      said.textContent = "Loading …";
      fetched(`loads/${load}.js`);
      known.set(load, undefined);
      return;
    }
    if (load && !known.get(load)) return;
    const values = load ? OF_LOAD : OVERALL;
    const numbers = [...values, ...PRICE].filter(([name]) => known.get(load).some(({ found }) => (found[name] ?? null) !== null));
    if (![...numbers.map(([name]) => name), "created", "title", "target", "trust"].includes(sort)) {
      [sort, down] = [numbers[0]?.[0] ?? "created", true];
    }
    const found = ordered(matching());
    // Before the table: it asks for its width, which would lay out a new table at once.
    const axes = [...values.map(([name, text, format]) => ({ name, text, format, less: LESS.has(name), of: (one) => one.found[name] })), ...FACTS];
    chart(found, axes.filter(({ name }) => results[name]?.some(Boolean) ?? true), [
      FACTS[1] && !load ? FACTS[1].name : load ? "p99" : "read",
      load ? (Number(load.match(/\d+/)[0]) < 65_536 ? "iops" : "bw") : up,
    ]);
    const most = (name) => Math.max(...found.map((one) => (one.doubted ? 0 : (one.found[name] ?? 0))));
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
    body.replaceChildren(...found.slice(0, shown).map((one) => drawn(one, numbers, most)));
    const of = load ? `, ${loadName(load)}` : "";
    said.textContent = `${NUMBER.format(found.length)} of ${NUMBER.format(results.title.length)} results${of}`;
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

  const counted = (name) => (value) => `${value} (${results[name].filter((one) => one === value).length})`;
  for (const name of ["protocol", "trust"]) {
    const values = [...new Set(results[name].filter(Boolean))].sort();
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
  window.ioatlasNames = async (packed) => {
    names = (await unpacked(packed)).columns.id;
    for (const tick of body.querySelectorAll("input")) tick.closest("tr").querySelector("a").href = address(tick.dataset.i);
  };
  requestAnimationFrame(() => setTimeout(() => fetched("names.js")));
})();
