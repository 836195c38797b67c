// SPDX-License-Identifier: Apache-2.0

/** A text whose commands stand between backticks, with these as code. */
export function Typed({ text }: { text: string }) {
  return <>{text.split("`").map((part, i) => (i % 2 === 1 ? <code key={part}>{part}</code> : part))}</>;
}
