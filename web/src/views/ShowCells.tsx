// SPDX-License-Identifier: Apache-2.0
import { showRows } from "../app-state";
import { counted } from "../lib/units";
import { useApp } from "./context";

/** Leads to cells on the map, with an outline around each; nothing where there are none. of: whose cells they are. */
export function ShowCells({ rows, of }: { rows: readonly number[]; of: string }) {
  const state = useApp();
  if (rows.length === 0) return null;
  const show = () => {
    showRows(state, rows);
    document.getElementById("map")?.scrollIntoView({ block: "start" });
  };
  return (
    <button type="button" class="quiet" onClick={show}>
      Show {rows.length > 1 ? counted(rows.length, "cell") : "cell"}
      <span class="unseen"> on the map: {of}</span>
    </button>
  );
}
