// SPDX-License-Identifier: Apache-2.0
import { useMemo, useState } from "preact/hooks";
import { pin } from "../app-state";
import { isRowSeen } from "../app-state/filters";
import { placed } from "../lib/arrange";
import { type Atlas, pointOfRow } from "../lib/atlas";
import { csv, fieldAt, fieldsOf, isText, OPTION_OF } from "../lib/csv";
import { save } from "../lib/files";
import { axisLabel } from "../lib/labels";
import { type Sorting, sortedRows } from "../lib/order";
import { count, counted, latency, rate, size, type UnitSystem, whole } from "../lib/units";
import { useApp } from "./context";
import { Table } from "./Table";

const PAGE = 50;

/** Columns that are no axis, in words; the CSV has the names of every export. */
const WORDS: Record<string, string> = {
  kind: "Kind",
  n_visits: "Visits",
  bw_bytes_per_s: "Throughput",
  bw_low: "at least",
  bw_high: "at most",
  iops: "IOPS",
  lat_mean_ns: "Mean latency",
  lat_p99_ns: "p99 latency",
  lat_kind: "Latency covers",
  verdict: "Verdict",
  method: "Method",
};

/** A column in words: an axis has the name that it has on the map. */
export function columnText(atlas: Atlas, field: string): string {
  const name = OPTION_OF[field] ?? field;
  const axis = atlas.axes.find((each) => each.name === name);
  return WORDS[field] ?? axisLabel(axis ?? { name, label: "" });
}

function shown(field: string, value: string | number | null, system: UnitSystem): string {
  if (value === null) return "–";
  if (typeof value === "string") return value;
  if (field === "bs_bytes" || field === "size_bytes") return size(value, system);
  if (field.startsWith("bw_")) return rate(value, system);
  if (field.endsWith("_ns")) return latency(value);
  if (field === "iops") return count(value);
  return String(value);
}

/** Every row as a sortable, paged table. */
export function TableView() {
  const state = useApp();
  const { atlas } = state;
  const [sorting, setSorting] = useState<Sorting | null>(null);
  const [onMapOnly, setOnMapOnly] = useState(false);
  const [page, setPage] = useState(0);
  const fields = useMemo(() => fieldsOf(atlas), [atlas]);
  const numbers = useMemo(() => [...fields.keys()].filter((at) => !isText(atlas, fields[at] ?? "")), [atlas, fields]);
  const fixed = state.fixed.value;
  const hidden = state.hidden.value;
  const onMap = new Set(placed(state.arrangement.value));
  const sliders = state.live.filter((a) => !onMap.has(a));
  const rows = useMemo(() => {
    const all = Array.from({ length: atlas.nRows }, (_, row) => row).filter((row) => isRowSeen(atlas, hidden, row));
    return onMapOnly ? all.filter((row) => sliders.every((a) => atlas.levels[a]?.[row] === fixed[a])) : all;
  }, [atlas, onMapOnly, fixed, hidden, sliders.join()]);
  const sorted = useMemo(() => sortedRows(atlas, rows, sorting), [atlas, rows, sorting]);
  const pages = Math.max(1, Math.ceil(sorted.length / PAGE));
  const current = Math.min(page, pages - 1);
  const system = state.units.value;
  const orderOf = (field: string) => (sorting?.field !== field ? "none" : sorting.down ? "descending" : "ascending");
  const sortBy = (field: string) => {
    setPage(0);
    setSorting((old) => (old?.field !== field ? { field, down: false } : old.down ? null : { field, down: true }));
  };
  const download = () => save(atlas, new Blob([csv(atlas, sorted)], { type: "text/csv" }), ".csv");
  return (
    <div class="table-view">
      <div class="table-tools">
        <span>{counted(sorted.length, "row")}</span>
        {sliders.length > 0 ? (
          <label class="check">
            <input
              type="checkbox"
              checked={onMapOnly}
              onChange={(e) => {
                setOnMapOnly(e.currentTarget.checked);
                setPage(0);
              }}
            />{" "}
            Only what the map shows
          </label>
        ) : null}
        <span class="pager">
          <Turn to={current - 1} pages={pages} onTurn={setPage} name="Previous page" sign="‹" />
          <span>
            {whole(current + 1)} of {whole(pages)}
          </span>
          <Turn to={current + 1} pages={pages} onTurn={setPage} name="Next page" sign="›" />
        </span>
        <button type="button" onClick={download}>
          Download CSV
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable */}
      <div class="table-scroll" tabIndex={0} role="region" aria-label="All cells as a table">
        <Table
          look="data"
          named={false}
          numbers={numbers}
          sorted={fields.map(orderOf)}
          head={[
            ...fields.map((field) => (
              <button type="button" title={`${field} in CSV`} onClick={() => sortBy(field)}>
                {columnText(atlas, field)}
                <span aria-hidden="true">{{ ascending: " ↑", descending: " ↓", none: "" }[orderOf(field)]}</span>
              </button>
            )),
            <span class="unseen">Details</span>,
          ]}
          rows={sorted.slice(current * PAGE, (current + 1) * PAGE).map((row) => [
            ...fields.map((field) => shown(field, fieldAt(atlas, row, field), system)),
            <button type="button" class="quiet" onClick={() => pin(state, pointOfRow(atlas, row))}>
              Show<span class="unseen"> details of row {row + 1}</span>
            </button>,
          ])}
        />
      </div>
    </div>
  );
}

function Turn(props: { to: number; pages: number; onTurn: (page: number) => void; name: string; sign: string }) {
  const { to, pages, onTurn } = props;
  return (
    <button type="button" onClick={() => onTurn(to)} disabled={to < 0 || to >= pages} aria-label={props.name}>
      {props.sign}
    </button>
  );
}
