// Jobs, and one job with its actions by worker.
import { command, el, facts, link, short, svg, table } from "./dom";
import { at, notice, Shown, View } from "./view";

interface Action { kind?: string; target?: string; state?: string; stage?: string; worker?: string; attempt?: number }
interface Job {
  id?: string; state?: string; submitted?: string; ended?: string; toolchainLabel?: string; modelName?: string; actions?: Action[];
  artifacts?: Array<{ target?: string; digest?: string; cached?: boolean; builders?: string[]; check?: string }>;
  error?: { message?: string; exitCode?: number };
}
interface Log { kind?: string; target?: string; attempt?: number; outcome?: string; error?: string; leased?: string; ended?: string; builder?: { worker?: string } }

function word(name: string | undefined): string {
  return (name ?? "").replace(/^(JOB|ACTION)_/, "").toLowerCase().replace(/_/g, " ");
}

const pageOf = 100;

export const jobs: View = async (session, { query }): Promise<Shown> => {
  const before = query.get("before") ?? "";
  const { jobs: list = [] } = await session.farm.call<{ jobs?: Job[] }>(["jobs"], { limit: String(pageOf), before });
  const rows = list.map((job) => [
    link(at("jobs", [job.id ?? ""]), job.id ?? ""), word(job.state), job.modelName ?? "", (job.artifacts ?? []).map((one) => one.target).join(", "),
    job.submitted ?? "", job.ended ?? "",
  ]);
  return { title: "Jobs", content: [
    table("Jobs, newest first", ["Job", "State", "Model", "Targets", "Submitted", "Ended"], rows),
    list.length === pageOf && el("p", {}, link(at("jobs", [], { before: list[list.length - 1].id ?? "" }), "Older")),
    command("kiln", "jobs"),
  ] };
};

const wide = 640;
const lane = 26;

// Leases over time, a lane for each worker.
function timeline(logs: readonly Log[]): Element {
  const spans = logs.flatMap((one) => {
    const [from, to] = [Date.parse(one.leased ?? ""), Date.parse(one.ended ?? "")];
    return Number.isFinite(from) && Number.isFinite(to) ? [{ one, from, to, worker: one.builder?.worker ?? "unknown" }] : [];
  });
  if (spans.length === 0) return el("p", {}, "No attempt has ended yet.");
  const workers = Array.from(new Set(spans.map((span) => span.worker)));
  const begin = Math.min(...spans.map((span) => span.from));
  const length = Math.max(1, ...spans.map((span) => span.to - begin));
  const bars = spans.map(({ one, from, to, worker }) => {
    const x = ((from - begin) / length) * (wide - 160) + 150;
    const label = `${word(one.kind)} ${one.target ?? ""} on ${worker}, attempt ${one.attempt ?? 0}: ${one.outcome ?? ""}, ${((to - from) / 1000).toFixed(1)} s`;
    return svg("rect", { x: x.toFixed(1), y: workers.indexOf(worker) * lane + 4, height: lane - 8, width: Math.max(3, ((to - from) / length) * (wide - 160)).toFixed(1),
      class: one.outcome === "done" ? "bar" : "bar failed", tabindex: 0, role: "img", "aria-label": label }, svg("title", {}, label));
  });
  const names = workers.map((worker, i) => svg("text", { x: 4, y: i * lane + 17 }, worker.slice(0, 20)));
  return el("figure", {}, svg("svg", { viewBox: `0 0 ${wide} ${workers.length * lane}`, class: "timeline", role: "group", "aria-label": "Attempts by worker over time" }, ...names, ...bars),
    el("figcaption", {}, `Attempts by worker over ${(length / 1000).toFixed(1)} s.`));
}

export const job: View = async (session, { parts: [id = ""] }): Promise<Shown> => {
  const [said, { logs = [] }] = await Promise.all([
    session.farm.call<Job>(["jobs", id]), session.farm.call<{ logs?: Log[] }>(["jobs", id, "logs"]),
  ]);
  return { title: `Job ${id}`, content: [
    facts([["State", word(said.state)], ["Model", said.modelName ?? ""], ["Toolchain", said.toolchainLabel ?? ""], ["Submitted", said.submitted ?? ""], ["Ended", said.ended ?? ""]]),
    said.error?.message ? notice("bad", `It failed: ${said.error.message} (exit ${said.error.exitCode ?? 0})`) : null,
    table("Artifacts", ["Target", "Artifact", "From the cache", "Builders", "Check"], (said.artifacts ?? []).map((one) => [
      one.target ?? "", one.digest ? link(at("artifacts", [one.digest]), short(one.digest)) : "", one.cached ? "yes" : "no", (one.builders ?? []).join(", "), one.check ?? "",
    ])),
    table("Actions", ["Kind", "Target", "State", "Stage", "Worker", "Attempt"], (said.actions ?? []).map((one) => [
      word(one.kind), one.target ?? "", one.state ?? "", one.stage ?? "", one.worker ?? "", String(one.attempt ?? 0),
    ])),
    el("h3", {}, "Timeline"), timeline(logs),
    command("kiln", "watch", id), command("kiln", "logs", id),
  ] };
};
