// SPDX-License-Identifier: Apache-2.0
// What the page says holds no retired word, and counts one thing as one (tests/unit/words.py).
import { readdirSync, readFileSync } from "node:fs";
import { parseAst } from "vite";
import { expect, test } from "vitest";

const SOURCE = new URL(".", import.meta.url).pathname;
/** "1 visits": a count and its noun are written by `counted`. */
const UNCOUNTED = /^(more than )?FILLED (visits|cells|rows|targets|values|findings|runs)\b/;
const RETIRED = retired();

interface Node {
  type: string;
  [key: string]: unknown;
}

/** Words that are retired for sentences. */
function retired(): RegExp {
  const table = readFileSync(new URL("../../scripts/retired-words.csv", import.meta.url), "utf8");
  const words = [...table.matchAll(/^([^,]+),[^,]+,sentences$/gm)].map((row) => row[1]);
  return new RegExp(`\\b(${words.join("|")})(es|s)?\\b`, "i");
}

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value;

/** Every text of a program: strings, templates and what stands in elements; what is filled in is one word. */
function texts(node: Node): string[] {
  const own = textOf(node);
  if (own !== undefined) return [own, ...(node.type.startsWith("JSX") ? within(node) : [])];
  return within(node);
}

function within(node: Node): string[] {
  return Object.values(node).flatMap((value) => {
    const children = Array.isArray(value) ? value : [value];
    return children.filter(isNode).flatMap(texts);
  });
}

function textOf(node: Node): string | undefined {
  if (node.type === "Literal" && typeof node.value === "string") return node.value;
  if (node.type === "TemplateLiteral") {
    const quasis = node.quasis as { value: { cooked: string } }[];
    return quasis.map((one) => one.value.cooked).join("FILLED");
  }
  if (node.type !== "JSXElement" && node.type !== "JSXFragment") return undefined;
  const children = node.children as Node[];
  const paragraphs = children.filter((child) => child.type === "JSXElement" && !isInline(child)).length > 0;
  return paragraphs ? undefined : children.map(inline).join("");
}

function inline(child: Node): string {
  if (child.type === "JSXText") return String(child.value);
  if (child.type === "JSXExpressionContainer")
    return isNode(child.expression) && textOf(child.expression) === " " ? " " : "FILLED";
  return textOf(child) ?? "";
}

function isInline(node: Node): boolean {
  const { name } = (node.openingElement as { name: { name?: string } }).name
    ? (node.openingElement as { name: { name?: string } })
    : { name: {} };
  return ["b", "strong", "em", "i", "code", "a", "kbd"].includes(name.name ?? "");
}

function sentences(text: string): string[] {
  return text.split(/(?<=[.!?:;])["')»]*\s+/);
}

function words(sentence: string): number {
  return sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter(
  (name) => /\.tsx?$/.test(name) && !/\.test\.|\.gen\.|testing|vite-env/.test(name),
);

test("texts are found in strings, templates and elements", () => {
  const code = `const a = <p>One {n} two, <b>three</b></p>; f("four five", \`six \${x} seven\`);`;
  const program = parseAst(code, { lang: "tsx" });
  expect(texts(program as unknown as Node)).toEqual(
    expect.arrayContaining(["One FILLED two, three", "four five", "six FILLED seven"]),
  );
  expect(sentences("One. Two: three; four 3.5").length).toBe(4);
  expect(RETIRED.test("the first pass")).toBe(true);
});

test("sentences hold no retired word", () => {
  const wrong = files.flatMap((name) => {
    const source = readFileSync(SOURCE + name, "utf8");
    const program = parseAst(source, { lang: name.endsWith("x") ? "tsx" : "ts" });
    const found = texts(program as unknown as Node).flatMap(sentences);
    return found
      .filter((one) => UNCOUNTED.test(one) || (words(one) > 2 && RETIRED.test(one)))
      .map((one) => `${name}: ${one}`);
  });
  expect(wrong).toEqual([]);
});
