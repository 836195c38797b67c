// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import type { Trust } from "../lib/report-data.gen";
import { ShowCells } from "./ShowCells";

/** A number that matters; a button where cells of the map stand behind it. grade: how far it is to be believed. */
export function Card(props: {
  label: string;
  rows: readonly number[];
  grade?: Trust | null;
  children: ComponentChildren;
}) {
  return (
    <li class="card">
      <h3>
        {props.label}
        {props.grade ? <span class={`grade trust-${props.grade}`}>{props.grade}</span> : null}
      </h3>
      {props.children}
      <ShowCells rows={props.rows} of={props.label} />
    </li>
  );
}
