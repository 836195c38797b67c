// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vite";

// One classic script and one style sheet for each part: a page opened from file:// cannot load modules, and ioatlas puts
// both inside the page. `--mode drop` builds what the page that takes fio's files has beside the explorer.
export default defineConfig(({ mode }) => ({
  define: { "process.env.NODE_ENV": '"production"' },
  build: {
    outDir: "../src/ioatlas/report/explorer",
    emptyOutDir: mode !== "drop",
    target: "es2022",
    modulePreload: false,
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
