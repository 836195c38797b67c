// SPDX-License-Identifier: Apache-2.0
import { running } from "../app-state/running";
import { intervalText, limitWords } from "../lib/facts";
import type {
  Count,
  HeadlineData,
  LoadReadingData,
  Pair,
  SmallIoData,
  Trust as TrustLevel,
} from "../lib/report-data.gen";
import { count, counted, duration, grouped, latency, percent, rate, type UnitSystem } from "../lib/units";
import { Card } from "./Card";
import { Copy } from "./Copy";
import { useApp } from "./context";
import { Folded } from "./Folded";
import { ShowCells } from "./ShowCells";
import { Typed } from "./Typed";

/** An interval wider than this to each side says that the runs disagree, and no number helps. */
const DISAGREE = 1;
const MOST_CARDS = 6;
const MOST_DOUBTS = 3;

/** The answer: how fast, whether to believe it, and what to do next. */
export function Summary() {
  const state = useApp();
  const { summary } = state.atlas.data;
  const system = state.units.value;
  const cards = [
    ...summary.headlines.map((one) => <Headline key={one.label} one={one} system={system} />),
    ...summary.small.map((one) => <SmallIo key={`${one.target} ${one.label}`} one={one} />),
    summary.beside.length > 0 ? <Beside key="beside" all={summary.beside} /> : [],
  ].flat();
  // What a campaign lacks that runs tells nothing of it.
  const unfinished = running.value?.running === true;
  return (
    <section class="summary" aria-labelledby="summary-title">
      <h2 id="summary-title" class="unseen">
        Summary
      </h2>
      <Answers />
      {cards.length > 0 ? <ul class="cards">{cards.slice(0, MOST_CARDS)}</ul> : null}
      {cards.length > MOST_CARDS ? (
        <Folded look="cards-more" title={`${cards.length - MOST_CARDS} more`}>
          <ul class="cards">{cards.slice(MOST_CARDS)}</ul>
        </Folded>
      ) : null}
      {unfinished && cards.length === 0 ? <p>Values are filled in as batches of visits are finished.</p> : null}
      {summary.doubts.length > 0 && !unfinished ? (
        <ul class="doubts" aria-label="Reasons for doubt">
          {summary.doubts.slice(0, MOST_DOUBTS).map((doubt) => (
            <li key={doubt.code + doubt.sentence} class={`doubt doubt-${doubt.level}`}>
              <span aria-hidden="true">⚠ </span>
              {doubt.sentence} <ShowCells rows={doubt.rows} of={doubt.sentence} />
            </li>
          ))}
        </ul>
      ) : null}
      {summary.next_step && !unfinished ? <Next text={summary.next_step} /> : null}
    </section>
  );
}

/** What was asked of the target, with the answer and what it rests on. */
function Answers() {
  const told = useApp().atlas.data.findings.filter((one) => one.code === "fit");
  if (told.length === 0) return null;
  return (
    <ul class="answers" aria-label="Does it fit?">
      {told.map((one) => {
        const [, verdict, text] = /^(PASS|FAIL|UNDECIDED): (.*)$/.exec(one.sentence) ?? [];
        const part = /, requirement \d+$/.test(one.title);
        return (
          <li key={one.title} class={part ? "answer-part" : undefined}>
            {verdict ? <b class={`answer-${verdict.toLowerCase()}`}>{verdict}: </b> : null}
            {text ?? one.sentence}
          </li>
        );
      })}
    </ul>
  );
}

/** What limits the cells, below the map that shows them. */
export function Limits() {
  const limits = useApp().atlas.data.summary.bottlenecks.map(bottleneckText).join(" · ");
  return limits ? (
    <p class="limits">
      <b>What limits the cells</b> {limits}
    </p>
  ) : null;
}

/** What was measured beside the map: its first number is the card's. */
function Beside({ all }: { all: readonly Pair[] }) {
  const [first, ...rest] = all;
  const [number = "", more] = (first?.value ?? "").split(" · ");
  return (
    <Card label={first?.name ?? ""} rows={[]}>
      <p class={more ? "card-value" : ""}>{more ? <b>{number}</b> : number}</p>
      {more ? <p>{more}</p> : null}
      {rest.map((one) => (
        <p key={one.name} class="soft aside">
          {one.name}: {one.value}
        </p>
      ))}
    </Card>
  );
}

/** What to do next, with its command to paste. */
function Next({ text }: { text: string }) {
  const command = text.split("`")[1];
  return (
    <p class="summary-end next">
      <span>
        <b>Next</b> <Typed text={text} />{" "}
        {command ? (
          <Copy look="quiet" text={() => command} instead="Select the command to copy it">
            Copy<span class="unseen"> the command</span>
          </Copy>
        ) : null}
      </span>
    </p>
  );
}

/** The badge, with every reason behind it. */
export function Trust() {
  const { trust, doubts, n_imported, n_measured } = useApp().atlas.data.summary;
  const imported = n_imported > 0 && n_measured === 0 && trust === "fair";
  return (
    <Folded
      look={`trust trust-${trust}${imported ? " as-imported" : ""}`}
      title={
        <>
          Trust: {imported ? "as imported" : trust}
          <span class="soft"> – why?</span>
        </>
      }
    >
      <div class="trust-why">
        {doubts.length === 0 ? (
          <p>Nothing was found that speaks against these values.</p>
        ) : (
          <ul>
            {doubts.map((doubt) => (
              <li key={doubt.code + doubt.sentence}>
                <b>{doubt.level}</b> {doubt.sentence}
                {doubt.advice ? (
                  <span class="soft">
                    {" "}
                    To do: <Typed text={doubt.advice} />.
                  </span>
                ) : null}
              </li>
            ))}
          </ul>
        )}
      </div>
    </Folded>
  );
}

/** "link 12 cells (85%)": how many, and the mean of the probabilities that were stated. */
function bottleneckText(one: Count): string {
  const odds = one.probability === null ? "" : ` (${Math.round(one.probability * 100)}%)`;
  return `${limitWord(one.name)} ${counted(one.count, "cell")}${odds}`;
}

function limitWord(name: string): string {
  return name === "undetermined" ? "unclear" : name;
}

function Headline({ one, system }: { one: HeadlineData; system: UnitSystem }) {
  const format = {
    bw_bytes_per_s: (v: number) => rate(v, system),
    iops: (v: number) => `${count(v)} ${one.unit || "IOPS"}`,
    lat_mean_ns: latency,
    figure: (v: number) => `${grouped(v, 4)} ${one.unit}`,
  }[one.quantity];
  const wide = one.uncertainty;
  const runs = one.n_visits && !one.estimated ? `(${one.n_visits} run${one.n_visits === 1 ? "" : "s"})` : "";
  const vague = one.n_visits > 1 ? "runs disagree" : "one run tells too little";
  const ends = one.lopsided ? `(${intervalText(one.low ?? 0, one.high ?? 0, format)})` : `±${percent(wide ?? 0)}`;
  const about = wide === null ? runs : wide > DISAGREE ? vague : ends;
  return (
    <Card label={one.label} rows={one.row === null ? [] : [one.row, ...one.ties]} grade={one.grade ?? null}>
      <p class="card-value">
        {one.estimated ? "~" : one.lower_bound ? "≥ " : ""}
        <b>{format(one.value)}</b> <span class="soft">{about + heldFor(one)}</span>
      </p>
      <p>{one.where}</p>
      {one.tie ? <p class="soft extra">{one.tie}</p> : null}
      {one.moved !== null && one.first !== null && Math.abs(one.moved) > (wide ?? 0) ? (
        <p class="soft extra">{format(one.first)} before it was measured again</p>
      ) : null}
      {one.limit ? <p class="soft extra">Limit: {limitWords(limitWord(one.limit), one.limit_probability)}</p> : null}
      {one.lower_bound ? <p class="soft extra">A minimum: the target may do more</p> : null}
    </Card>
  );
}

function SmallIo({ one }: { one: SmallIoData }) {
  const { lightest, best } = one;
  const same = lightest.row !== null && lightest.row === best.row;
  return (
    <Card
      label={one.label}
      rows={[...new Set([lightest.row, best.row])].filter((row) => row !== null)}
      grade={GRADES.findLast((one) => one === lightest.grade || one === best.grade) ?? null}
    >
      <p class="card-value">
        {best.estimated ? "~" : ""}
        <b>{count(best.iops)} IOPS</b> <span class="soft">{heldFor(best)}</span>
      </p>
      {same ? null : <Load load={best} extra />}
      <Load load={lightest} />
    </Card>
  );
}

/** " for 1 s", of a number of which nobody knows whether it lasts longer. */
function heldFor(one: HeadlineData | LoadReadingData): string {
  return one.held_seconds ? ` for ${duration(one.held_seconds)}` : "";
}

/** The worst last. */
const GRADES: readonly TrustLevel[] = ["good", "fair", "low"];

/** "16 in flight: 7.98 ms, p99 11.3 ms". */
function Load({ load, extra = false }: { load: LoadReadingData; extra?: boolean }) {
  const times = [
    load.lat_mean_ns === null ? "" : latency(load.lat_mean_ns),
    load.lat_p99_ns === null ? "" : `p99 ${latency(load.lat_p99_ns)}`,
  ].filter(Boolean);
  return (
    <p class={extra ? "extra" : ""}>
      {load.in_flight > 0 ? `${load.in_flight} in flight` : "in flight: not told"}
      <span class="soft">{times.length > 0 ? `: ${times.join(", ")}` : ""}</span>
    </p>
  );
}
