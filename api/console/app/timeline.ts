// Attempts over time, a lane for each worker: from when a worker leased an action until it ended. Whatever runs has no
// end yet.
import { Child, cut, el, scrolling, svg, table } from "./dom";
import { FarmError } from "./farm";
import { Session } from "./session";
import { at } from "./view";

export interface Run { worker?: string; stage?: string; attempt?: number; leased?: string } // what a worker has now
export interface Action { kind?: string; target?: string; state?: string; stage?: string; worker?: string; attempt?: number; running?: Run[]; endedAttempts?: number }
export interface Job {
  id?: string; state?: string; submitted?: string; ended?: string; toolchainLabel?: string; modelName?: string; actions?: Action[];
  artifacts?: Array<{ target?: string; digest?: string; cached?: boolean; builders?: string[]; check?: string }>;
  error?: { message?: string; exitCode?: number };
}
export interface Log { kind?: string; target?: string; attempt?: number; outcome?: string; error?: string; leased?: string; ended?: string; builder?: { worker?: string } }

export interface Span {
  readonly job: string;
  readonly worker: string;
  readonly what: string; // "compile cpu:x86-64-v3, attempt 1"
  readonly from: number; // milliseconds since the epoch
  readonly to: number;
  readonly outcome: string; // "running" while it does
}

export function word(name: string | undefined): string {
  return (name ?? "").replace(/^(JOB|ACTION)_/, "").toLowerCase().replace(/_/g, " ");
}
export function isOpen(job: Job): boolean {
  return ["JOB_QUEUED", "JOB_RUNNING", "JOB_PUBLISHING"].includes(job.state ?? "");
}
export function clock(time: number): string {
  return Number.isFinite(time) ? new Date(time).toISOString().slice(11, 19) : "some time";
}

// "compile cpu:x86-64-v3"; a reference and a fetch are for no target.
export function actionName(one: Action | Log): string {
  return [word(one.kind), one.target ?? ""].filter((part) => part !== "").join(" ");
}
function whatOf(one: Action | Log, attempt: number | undefined): string {
  return `${actionName(one)}, attempt ${attempt ?? 0}`;
}

// Attempts that have ended, and what each worker has now of a job's actions.
export function spansOf(job: Job, logs: readonly Log[], now: number): Span[] {
  const id = job.id ?? "";
  const ended = logs.flatMap((one): Span[] => {
    const [from, to] = [Date.parse(one.leased ?? ""), Date.parse(one.ended ?? "")];
    return Number.isFinite(from) && Number.isFinite(to) && to >= from
      ? [{ job: id, worker: one.builder?.worker ?? "unknown", what: whatOf(one, one.attempt), from, to, outcome: one.outcome ?? "" }] : [];
  });
  const running = (job.actions ?? []).flatMap((action) => (action.running ?? []).flatMap((run): Span[] => {
    const from = Date.parse(run.leased ?? "");
    // The clocks of the farm and of this browser may differ.
    return Number.isFinite(from)
      ? [{ job: id, worker: run.worker ?? "unknown", what: `${whatOf(action, run.attempt)}${run.stage ? `, ${run.stage}` : ""}`, from, to: Math.max(from, now), outcome: "running" }] : [];
  }));
  return [...ended, ...running];
}

// How often something of a job has ended here or, where the cache answered, elsewhere: its logs are the same while this is.
export function endedOf(job: Job): number {
  return (job.actions ?? []).reduce((sum, action) => sum + (action.endedAttempts ?? 0) + (action.state === "cached" ? 1 : 0), 0);
}

// The logs of a job. A farm has none where nothing has ended, or where the cache answered by what is gone.
export async function logsOf(session: Session, job: Job): Promise<readonly Log[]> {
  if (endedOf(job) === 0) return [];
  try {
    const { logs = [] } = await session.farm.call<{ logs?: Log[] }>(["jobs", job.id ?? "", "logs"]);
    return logs;
  } catch (error) {
    if (error instanceof FarmError && error.status === 404) return [];
    throw error;
  }
}

// Who has the action now; who had it last, once nobody has.
export function workersOf(action: Action): string {
  const running = (action.running ?? []).map((run) => `${run.worker ?? ""} since ${clock(Date.parse(run.leased ?? ""))}`);
  return running.length > 0 ? running.join(", ") : action.worker ?? "";
}

const wide = 720;
const lane = 28;
const left = 150;
const shownAtOnce = 600;

export function timeline(name: string, spans: readonly Span[], workers: readonly string[] = []): Child[] {
  if (spans.length === 0) return [el("p", {}, "Nothing ran in this time.")];
  const shown = [...spans].sort((a, b) => b.from - a.from).slice(0, shownAtOnce).reverse();
  const lanes = Array.from(new Set([...workers, ...shown.map((span) => span.worker)])).sort();
  const begin = shown.reduce((least, span) => Math.min(least, span.from), Infinity);
  const end = shown.reduce((most, span) => Math.max(most, span.to), begin + 1);
  const place = (time: number) => left + ((time - begin) / (end - begin)) * (wide - left - 10);
  const bars = shown.map((span) => {
    const seconds = ((span.to - span.from) / 1000).toFixed(1);
    const label = `${span.what} on ${span.worker}: ${span.outcome === "running" ? `running for ${seconds} s` : `${span.outcome}, ${seconds} s`}`;
    const kind = span.outcome === "running" ? "bar running" : span.outcome === "done" ? "bar" : "bar failed";
    return svg("a", { href: at("jobs", [span.job]), "aria-label": label, "data-key": `${span.job} ${span.what} ${span.worker}` }, svg("title", {}, label),
      svg("rect", { x: Math.min(place(span.from), wide - 26).toFixed(1), y: lanes.indexOf(span.worker) * lane + 2, height: lane - 4, width: Math.max(24, place(span.to) - place(span.from)).toFixed(1), class: kind }));
  });
  const names = lanes.map((worker, i) => svg("text", { x: 4, y: i * lane + 18 }, svg("title", {}, worker), cut(worker, 20)));
  const bottom = lanes.length * lane;
  const marks = [0, 0.5, 1].map((part) => svg("text", { x: left + part * (wide - left - 10), y: bottom + 16, "text-anchor": ["start", "middle", "end"][part * 2] }, clock(begin + part * (end - begin))));
  return [
    el("figure", {}, scrolling(`${name}, drawn`, svg("svg", { viewBox: `0 0 ${wide} ${bottom + 22}`, class: "timeline", role: "group", "aria-label": name }, ...names, ...bars, ...marks)),
      el("figcaption", {}, `${name}, from ${clock(begin)} to ${clock(end)} UTC. Failed attempts have a thick edge, running ones a broken one.`)),
    table("The same as a list", ["Worker", "Attempt", "From", "Until", "Outcome", "Job"], shown.map((span) =>
      [span.worker, span.what, clock(span.from), span.outcome === "running" ? "" : clock(span.to), span.outcome, span.job])),
  ];
}
