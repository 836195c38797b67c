// SPDX-License-Identifier: Apache-2.0
// Results as points against two of their values, and the front that none beats in both. Logarithmic; drawn at the width it has.
"use strict";
(() => {
  const NS = "http://www.w3.org/2000/svg";
  const NEAR = 24;
  const LONGEST = 30;
  const MANY = 500;
  /** Between ticks at least, in pixels. */
  const APART = { x: 96, y: 44 };

  function drawn(parent, name, attributes, text) {
    const made = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  }

  /** Round numbers between two: of each power of 1000, or of 1024 for bytes, or even steps where the range is narrow. */
  function ticks(low, high, base, most) {
    const power = (value) => base ** Math.floor(Math.log(value) / Math.log(base));
    let found = [];
    if (high / low < 4) {
      const unit = power(low);
      const step = 10 ** Math.floor(Math.log10((high - low) / unit));
      for (const wide of [5, 2, 1, 0.5, 0.2]) {
        const by = step * wide;
        found = [];
        for (let n = Math.ceil(low / unit / by); n * by * unit <= high; n += 1) found.push(Number((n * by).toPrecision(12)) * unit);
        if (found.length > 2) break;
      }
    } else {
      for (const digits of [[1], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 8]]) {
        found = [];
        for (let unit = power(low); unit <= high; unit *= base)
          for (const ten of [1, 10, 100]) found.push(...digits.map((digit) => digit * ten * unit));
        found = found.filter((value) => value >= low && value <= high && value < base * power(value));
        if (found.length > 2) break;
      }
    }
    const every = Math.ceil(found.length / Math.max(2, most));
    return found.filter((_, n) => n % every === 0);
  }

  /** What is told in KiB, MiB and so on. */
  const base = (axis) => (axis.format(1024).startsWith("1 K") ? 1024 : 1000);

  function scale(points, name, base, from, to) {
    let [low, high] = [Infinity, 0];
    for (const one of points) {
      low = Math.min(low, one[name]);
      high = Math.max(high, one[name]);
    }
    const room = Math.max(0.02, Math.log10(high / low) * 0.06);
    [low, high] = [low / 10 ** room, high * 10 ** room];
    const place = (value) => from + (Math.log(value / low) / Math.log(high / low)) * (to - from);
    return { place, ticks: ticks(low, high, base, Math.floor(Math.abs(to - from) / APART[name])) };
  }

  /** Sound points of which no other is as good in both and better in one, from left to right. */
  function front(points, x, y) {
    const found = [];
    const [right, up] = [x.less ? -1 : 1, y.less ? -1 : 1];
    // Most are beaten by one that is good in both: the rest is soon sorted.
    const good = (one) => (one.doubted ? -Infinity : right * Math.log(one.x) + up * Math.log(one.y));
    let [middle, most] = [null, -Infinity];
    for (const one of points) {
      const much = good(one);
      if (much > most) [middle, most] = [one, much];
    }
    const sound = points.filter((one) => !one.doubted && (right * (one.x - middle.x) >= 0 || up * (one.y - middle.y) >= 0));
    sound.sort((a, b) => (x.less ? a.x - b.x : b.x - a.x) || (y.less ? a.y - b.y : b.y - a.y));
    for (const one of sound) {
      const last = found.at(-1);
      if (!last || (y.less ? one.y < last.y : one.y > last.y) || (one.x === last.x && one.y === last.y)) found.push(one);
    }
    return found.sort((a, b) => a.x - b.x || a.y - b.y);
  }

  /** The front as a stair, to the edges of what it beats. */
  function stair(found, x, y, box) {
    const [first, last] = [found[0], found.at(-1)];
    const worse = y.less ? box.top : box.bottom;
    const steps = [x.less ? [first.px, worse] : [box.left, first.py], [first.px, first.py]];
    found.slice(1).forEach((one, n) => {
      const before = found[n];
      steps.push(x.less ? [one.px, before.py] : [before.px, one.py], [one.px, one.py]);
    });
    steps.push(x.less ? [box.right, last.py] : [last.px, worse]);
    return steps.map((one) => one.map((value) => value.toFixed(1)).join(",")).join(" ");
  }

  /** Each name beside its point, where it hides no other name and no point of the front; without a name elsewhere. */
  function label(svg, found, box, name) {
    const taken = found.map((one) => [one.px - 6, one.py - 6, one.px + 6, one.py + 6]);
    const free = (a) =>
      a[0] >= box.left && a[2] <= box.right && a[1] >= box.top && a[3] <= box.bottom &&
      !taken.some((b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]);
    const short = (name) => (name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name);
    const texts = found.map((one) => drawn(svg, "text", { class: "name" }, short(name(one.line))));
    const widths = texts.map((text) => text.getComputedTextLength());
    found.forEach((one, n) => {
      const [text, wide] = [texts[n], widths[n]];
      const spots = [-1, 1, 0].flatMap((across) => [-14, 14, 0].filter((down) => across || down).map((down) => [across, down]));
      const fit = spots
        .map(([across, down]) => [one.px + across * (wide / 2 + 10) - wide / 2, one.py + down - 8 + (across ? 0 : Math.sign(down) * 4)])
        .map(([left, top]) => [left, top, left + wide, top + 16])
        .find(free);
      if (!fit) {
        text.remove();
        return;
      }
      taken.push(fit);
      text.setAttribute("x", fit[0].toFixed(1));
      text.setAttribute("y", (fit[1] + 12).toFixed(1));
    });
  }

  /** root: the figure. Gives a function that draws: lines, of which told(line) gives
   *  {name, link, doubt}, axes {name, text, format, less, of(line)}, and the names of the first two. */
  window.ioatlasChart = (root, told) => {
    const [plot, canvas, svg, tip, note] = [".plot", "canvas", "svg", ".tip", "small"].map((name) => root.querySelector(name));
    const chosen = { x: root.querySelector('[name="x"]'), y: root.querySelector('[name="y"]') };
    let [lines, axes, points, current, ring, wide] = [[], [], [], null, null, 0];

    /** Dots, pixel by pixel: as shapes, tens of thousands take a browser's painter a second. */
    function scatter(found, width, height) {
      const ratio = window.devicePixelRatio || 1;
      const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
      Object.assign(canvas, { width: wide, height: high });
      canvas.classList.toggle("crowded", found.length > MANY);
      const radius = (found.length > MANY ? 2.5 : 3.5) * ratio;
      const ink = (within) => ((255 * Math.min(1, Math.max(0, within + 0.5))) << 24) >>> 0;
      const [places, full, hollow] = [[], [], []];
      const reach = Math.ceil(radius + ratio);
      for (let y = -reach; y <= reach; y += 1) {
        for (let x = -reach; x <= reach; x += 1) {
          const far = Math.hypot(x, y) - radius;
          if (far >= 0.5 + 0.75 * ratio) continue;
          places.push(y * wide + x);
          full.push(ink(-far));
          hollow.push(ink(0.75 * ratio - Math.abs(far)));
        }
      }
      const pen = canvas.getContext("2d");
      const drawn = pen.createImageData(wide, high);
      const pixels = new Uint32Array(drawn.data.buffer);
      for (const one of found) {
        const middle = Math.round(one.py * ratio) * wide + Math.round(one.px * ratio);
        const inks = one.doubted ? hollow : full;
        for (let n = 0; n < places.length; n += 1) {
          const at = middle + places[n];
          if (pixels[at] < inks[n]) pixels[at] = inks[n];
        }
      }
      pen.putImageData(drawn, 0, 0);
      pen.globalCompositeOperation = "source-in";
      pen.fillStyle = getComputedStyle(canvas).color;
      pen.fillRect(0, 0, wide, high);
    }

    function show(one) {
      current = one;
      tip.hidden = !one;
      ring?.remove();
      if (!one) return;
      ring = drawn(svg, "circle", { class: "ring", cx: one.px, cy: one.py, r: 9 });
      const link = document.createElement("a");
      [link.href, link.textContent] = [told(one.line).link, told(one.line).name];
      const texts = ["y", "x"].map((side) => `${axis(side).text}: ${axis(side).format(one[side])}`);
      if (one.doubted) texts.push(told(one.line).doubt);
      else if (one.best) texts.push("on the front");
      tip.replaceChildren(link, ...texts.flatMap((text) => [document.createElement("br"), text]));
      const right = one.px + 14 + tip.offsetWidth < plot.clientWidth;
      tip.style.left = `${Math.max(0, right ? one.px + 14 : one.px - 14 - tip.offsetWidth)}px`;
      const above = one.py - 14 - tip.offsetHeight;
      tip.style.top = `${above < 0 ? one.py + 14 : above}px`;
    }

    const axis = (side) => axes.find((one) => one.name === chosen[side].value);

    function choices(first) {
      const known = axes.map((one) => one.name).join();
      if (chosen.x.dataset.known === known) return;
      chosen.x.dataset.known = known;
      for (const [side, otherwise] of [["x", first[0]], ["y", first[1]]]) {
        const before = chosen[side].value;
        chosen[side].replaceChildren(...axes.map((one) => new Option(one.text, one.name)));
        const there = [before, otherwise].find((name) => axes.some((one) => one.name === name));
        chosen[side].value = there ?? axes.at(side === "x" ? 0 : -1)?.name ?? "";
      }
    }

    function draw() {
      const [x, y] = [axis("x"), axis("y")];
      points = [];
      svg.replaceChildren();
      show(null);
      root.hidden = lines.length < 2 || !x || !y;
      if (root.hidden) return;
      for (const line of lines) {
        const point = { line, doubted: line.doubted, best: false, x: x.of(line), y: y.of(line), px: 0, py: 0 };
        if (point.x > 0 && point.y > 0) points.push(point);
      }
      note.textContent = `${points.length.toLocaleString("en")} of ${lines.length.toLocaleString("en")} results have both values.`;
      if (!points.length) return;
      const [width, height] = [plot.clientWidth, plot.clientHeight];
      wide = width;
      const box = { left: 84, right: width - 12, top: 26, bottom: height - 40 };
      const across = scale(points, "x", base(x), box.left, box.right);
      const up = scale(points, "y", base(y), box.bottom, box.top);
      for (const one of points) [one.px, one.py] = [across.place(one.x), up.place(one.y)];
      for (const value of across.ticks) {
        const at = across.place(value);
        drawn(svg, "line", { class: "grid", x1: at, x2: at, y1: box.top, y2: box.bottom });
        drawn(svg, "text", { class: "tick", x: at, y: box.bottom + 16, "text-anchor": "middle" }, x.format(value));
      }
      for (const value of up.ticks) {
        const at = up.place(value);
        drawn(svg, "line", { class: "grid", x1: box.left, x2: box.right, y1: at, y2: at });
        drawn(svg, "text", { class: "tick", x: box.left - 6, y: at + 4, "text-anchor": "end" }, y.format(value));
      }
      const named = (one) => `${one.text}${one.less ? ", less is better" : ""}`;
      drawn(svg, "text", { x: box.right, y: height - 6, "text-anchor": "end" }, named(x));
      drawn(svg, "text", { x: 4, y: 14 }, named(y));
      const best = front(points, x, y);
      for (const one of best) one.best = true;
      scatter(points.filter((one) => !one.best), width, height);
      if (best.length) drawn(svg, "polyline", { class: "front", points: stair(best, x, y, box) });
      for (const one of best) drawn(svg, "circle", { class: "best", cx: one.px.toFixed(1), cy: one.py.toFixed(1), r: 5 });
      label(svg, best, box, (line) => told(line).name);
      if (best.length) note.textContent += " Line: no undoubted result is better on both axes.";
      if (points.some((one) => one.doubted)) note.textContent += " Hollow: doubted.";
    }

    function nearest(event) {
      const { left, top } = plot.getBoundingClientRect();
      let [found, least] = [null, NEAR ** 2];
      for (const one of points) {
        const far = (one.px - event.clientX + left) ** 2 + (one.py - event.clientY + top) ** 2;
        if (far < least) [found, least] = [one, far];
      }
      return found;
    }

    const STEPS = { ArrowRight: ["x", 1], ArrowLeft: ["x", -1], ArrowUp: ["y", 1], ArrowDown: ["y", -1], Home: ["x", 0], End: ["x", 0] };
    plot.addEventListener("keydown", (event) => {
      if (event.target !== plot || !points.length) return;
      if (event.key === "Enter" && current) location.href = told(current.line).link;
      if (event.key === "Escape") show(null);
      const step = STEPS[event.key];
      if (!step) return;
      event.preventDefault();
      const [side, by] = step;
      const order = [...points].sort((a, b) => a[side] - b[side]);
      const at = event.key === "End" ? order.length - 1 : by ? order.indexOf(current) + by : 0;
      show(order[Math.min(order.length - 1, Math.max(0, at))]);
    });
    plot.addEventListener("focus", () => current ?? show(points.find((one) => one.best) ?? points[0] ?? null));
    plot.addEventListener("pointermove", (event) => !tip.contains(event.target) && show(nearest(event)));
    plot.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && show(null));
    plot.addEventListener("click", (event) => {
      if (tip.contains(event.target)) return;
      const found = nearest(event);
      if (found && found === current && event.pointerType === "mouse") location.href = told(found.line).link;
      else show(found);
    });
    for (const one of Object.values(chosen)) one.addEventListener("change", draw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    new ResizeObserver(() => wide !== plot.clientWidth && draw()).observe(plot);
    return (found, known, first) => {
      [lines, axes] = [found, known];
      choices(first);
      draw();
    };
  };
})();
