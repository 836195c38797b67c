// SPDX-License-Identifier: Apache-2.0
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

// The tests stand beside the other suites in tests/browser; their packages are this folder's.
export default defineConfig({
  root: at(".."),
  resolve: {
    alias: {
      "playwright-core": at("./node_modules/playwright-core/index.mjs"),
      vitest: at("./node_modules/vitest/dist/index.js"),
    },
  },
  server: { fs: { strict: false } },
  test: {
    include: ["tests/browser/**/*.test.ts"],
    environment: "node",
    testTimeout: 60_000,
    hookTimeout: 120_000,
    fileParallelism: false,
  },
});
