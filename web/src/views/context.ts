// SPDX-License-Identifier: Apache-2.0
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { AppState } from "../app-state";

export const AppContext = createContext<AppState | null>(null);

export function useApp(): AppState {
  const state = useContext(AppContext);
  if (!state) throw new Error("no state around this view");
  return state;
}
