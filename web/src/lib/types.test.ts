// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
// @ts-expect-error a script without types
import { typesText } from "../../scripts/generate-types.mjs";

test("the types are those of the checked-in schema", async () => {
  const checkedIn = readFileSync(new URL("./report-data.gen.ts", import.meta.url), "utf8");
  expect(checkedIn).toBe(await typesText());
});
