// SPDX-License-Identifier: Apache-2.0
// The map as it is seen, as a PNG or SVG picture: its canvases as pictures, its words as words.

interface Word {
  text: string;
  left: number;
  middle: number;
  font: string;
  colour: string;
}

const MARGIN = 16;

/** Everything that can be seen within some elements, placed as on the screen. */
function look(parts: readonly Element[]) {
  const boxes = parts.map((part) => part.getBoundingClientRect());
  const left = Math.min(...boxes.map((box) => box.left)) - MARGIN;
  const top = Math.min(...boxes.map((box) => box.top)) - MARGIN;
  const canvases = parts
    .flatMap((part) => [...part.querySelectorAll("canvas")])
    .map((canvas) => {
      const { x, y, width, height } = canvas.getBoundingClientRect();
      return { canvas, x: x - left, y: y - top, width, height };
    });
  return {
    width: Math.max(...boxes.map((box) => box.right)) - left + MARGIN,
    height: Math.max(...boxes.map((box) => box.bottom)) - top + MARGIN,
    paper: getComputedStyle(document.querySelector(".explorer") ?? document.body).backgroundColor,
    canvases,
    words: parts.flatMap(textsIn).flatMap((text) => wordsOf(text, left, top)),
  };
}

function textsIn(part: Element): Text[] {
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  const found: Text[] = [];
  while (walker.nextNode()) found.push(walker.currentNode as Text);
  return found;
}

/** A text node, line by line; nothing when it is hidden. */
function wordsOf(node: Text, left: number, top: number): Word[] {
  const parent = node.parentElement;
  if (!node.data.trim() || !parent || parent.closest(".unseen, .on-paper, .tip, [role=grid], [role=gridcell]"))
    return [];
  const style = getComputedStyle(parent);
  const range = document.createRange();
  const found: Word[] = [];
  for (const piece of node.data.matchAll(/\S+\s*/g)) {
    range.setStart(node, piece.index);
    range.setEnd(node, piece.index + piece[0].length);
    const box = range.getClientRects()[0];
    if (!box || box.width === 0) continue;
    const before = found.at(-1);
    const middle = box.top + box.height / 2 - top;
    if (before && Math.abs(before.middle - middle) < 2) before.text += piece[0];
    else {
      const font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
      found.push({ text: piece[0], left: box.left - left, middle, font, colour: style.color });
    }
  }
  return found;
}

export async function pngOf(parts: readonly Element[]): Promise<Blob> {
  const picture = look(parts);
  const ratio = Math.max(2, window.devicePixelRatio || 1);
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(picture.width * ratio);
  canvas.height = Math.ceil(picture.height * ratio);
  const c = canvas.getContext("2d");
  if (!c) throw new Error("this browser cannot draw the picture");
  c.scale(ratio, ratio);
  c.fillStyle = picture.paper;
  c.fillRect(0, 0, picture.width, picture.height);
  c.imageSmoothingEnabled = false;
  for (const each of picture.canvases) c.drawImage(each.canvas, each.x, each.y, each.width, each.height);
  c.textBaseline = "middle";
  for (const word of picture.words) {
    c.font = word.font;
    c.fillStyle = word.colour;
    c.fillText(word.text.trimEnd(), word.left, word.middle);
  }
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (!blob) throw new Error("this browser cannot write the picture");
  return blob;
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text: string) => text.replace(/[&<>"]/g, (letter) => ENTITIES[letter] ?? letter);

/** Written as text: elements in the page would be bound by its policy, which forbids pictures and styles of their own. */
export function svgOf(parts: readonly Element[]): Blob {
  const { width, height, paper, canvases, words } = look(parts);
  const element = (kind: string, facts: Record<string, string | number>, text = "") => {
    const attributes = Object.entries(facts).map(([name, value]) => ` ${name}="${escaped(String(value))}"`);
    return `<${kind}${attributes.join("")}>${escaped(text)}</${kind}>`;
  };
  const pieces = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    element("rect", { width, height, fill: paper }),
    ...canvases.map(({ canvas, ...box }) => {
      const href = canvas.toDataURL("image/png");
      return element("image", { ...box, preserveAspectRatio: "none", href, style: "image-rendering:pixelated" });
    }),
    ...words.map(({ text, left: x, middle: y, font, colour: fill }) =>
      element("text", { x, y, "dominant-baseline": "central", fill, style: `font:${font}` }, text.trimEnd()),
    ),
    "</svg>",
  ];
  return new Blob([pieces.join("\n")], { type: "image/svg+xml" });
}

/** A chart that is SVG already, with its looks written into it. */
export function svgOfChart(chart: SVGSVGElement): Blob {
  const copy = chart.cloneNode(true) as SVGSVGElement;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const looks = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-family"];
  const [from, to] = [chart.querySelectorAll("*"), copy.querySelectorAll("*")];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const look of looks) to[i]?.setAttribute(look, style.getPropertyValue(look));
  });
  return new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
}
