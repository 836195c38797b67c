// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { defineConfig } from "vite";

// What the explorer holds of others goes with its terms: it is copied into every report.
const others = ["preact", "@preact/signals"].map((name) => {
  const [title, owner, ...text] = readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim().split("\n\n");
  return { owner: `${name}: ${owner}`, text: [title, ...text].join("\n\n").replace(/(\S)\s(?=\S)/g, "$1 ") };
});
const terms = [...others.map((one) => one.owner), ...new Set(others.map((one) => one.text))].join("\n\n");

// One classic script and one style sheet for each part: a page opened from file:// cannot load modules, and ioatlas puts
// both inside the page. `--mode drop` builds what the page that takes fio's files has beside the explorer.
export default defineConfig(({ mode }) => ({
  define: { "process.env.NODE_ENV": '"production"' },
  build: {
    outDir: "../src/ioatlas/report/explorer",
    emptyOutDir: mode !== "drop",
    target: "es2022",
    modulePreload: false,
    rolldownOptions: { output: { postBanner: mode === "drop" ? "" : `/*!\n${terms}\n*/` } },
    cssCodeSplit: false,
    lib: {
      entry: mode === "drop" ? "src/drop/main.ts" : "src/main.tsx",
      name: mode === "drop" ? "ioatlasDrop" : "ioatlasExplorer",
      formats: ["iife"],
      fileName: () => (mode === "drop" ? "drop.js" : "explorer.js"),
      cssFileName: mode === "drop" ? "drop" : "explorer",
    },
  },
  test: { include: ["src/**/*.test.ts", "src/**/*.test.tsx"], environment: "node" },
}));
