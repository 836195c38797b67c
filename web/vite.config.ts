// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vite";

// One classic script and one style sheet: a page opened from file:// cannot load modules, and ioatlas puts both inside the page.
export default defineConfig({
  define: { "process.env.NODE_ENV": '"production"' },
  build: {
    outDir: "../src/ioatlas/report/explorer",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    lib: {
      entry: "src/main.tsx",
      name: "ioatlasExplorer",
      formats: ["iife"],
      fileName: () => "explorer.js",
      cssFileName: "explorer",
    },
  },
  test: { include: ["src/**/*.test.ts", "src/**/*.test.tsx"], environment: "node" },
} as Parameters<typeof defineConfig>[0]);
