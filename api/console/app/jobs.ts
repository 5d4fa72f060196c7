// Jobs, and one job, live, with its actions by worker.
import { command, el, facts, link, moment, short, table } from "./dom";
import { Drawn, live, sleep } from "./live";
import { Session } from "./session";
import { isOpen, Job, logsOf, spansOf, timeline, word, workersOf } from "./timeline";
import { at, notice, Shown, unsigned, View } from "./view";

const pageOf = 100;

export const jobs: View = async (session, { query }): Promise<Shown> => {
  const before = query.get("before") ?? "";
  const { jobs: list = [] } = await session.farm.call<{ jobs?: Job[] }>(["jobs"], { limit: String(pageOf), before });
  const rows = list.map((job) => [
    link(at("jobs", [job.id ?? ""]), job.id ?? ""), word(job.state), job.modelName ?? "", (job.artifacts ?? []).map((one) => one.target).join(", "),
    moment(job.submitted), moment(job.ended),
  ]);
  return { title: "Jobs", content: [
    unsigned("its jobs"),
    table("Jobs, newest first", ["Job", "State", "Model", "Targets", "Submitted", "Ended"], rows),
    list.length === pageOf && el("p", {}, link(at("jobs", [], { before: list[list.length - 1].id ?? "" }), "Older")),
    command("kiln", "jobs"),
  ] };
};

async function draw(session: Session, id: string): Promise<Drawn> {
  const said = { ...await session.farm.call<Job>(["jobs", id]), id };
  const logs = await logsOf(session, said);
  return { over: !isOpen(said), content: [
    facts([["State", word(said.state)], ["Model", said.modelName ?? ""], ["Toolchain", said.toolchainLabel ?? ""], ["Submitted", moment(said.submitted)], ["Ended", moment(said.ended)]]),
    said.error?.message ? notice("bad", `It failed: ${said.error.message} (exit ${said.error.exitCode ?? 0})`) : null,
    table("Artifacts", ["Target", "Artifact", "From the cache", "Builders", "Check"], (said.artifacts ?? []).map((one) => [
      one.target ?? "", one.digest ? link(at("artifacts", [one.digest]), short(one.digest)) : "", one.cached ? "yes" : "no", (one.builders ?? []).join(", "), one.check ?? "",
    ])),
    table("Actions", ["Kind", "Target", "State", "Stage", "Worker", "Attempt"], (said.actions ?? []).map((one) => [
      word(one.kind), one.target ?? "", one.state ?? "", one.stage ?? "", workersOf(one), String(one.attempt ?? 0),
    ])),
    el("h2", {}, "Timeline"), ...timeline("Attempts by worker over time", spansOf(said, logs, Date.now())),
  ] };
}

export const job: View = async (session, { parts: [id = ""] }): Promise<Shown> => {
  const first = await draw(session, id);
  // What the stream tells is drawn at once; between its events what runs grows. Without a stream the farm is asked.
  let news = false;
  let wake = () => {};
  const wait = async (left: AbortSignal) => {
    if (!news) await Promise.race([sleep(3000, left), new Promise<void>((resolve) => { wake = resolve; })]);
    news = false;
  };
  const shown = live(first, () => draw(session, id), wait);
  const changed = async () => {
    news = true;
    wake();
  };
  const follow = (left: AbortSignal) => {
    if (!first.over) session.farm.watchJob(id, changed).catch(() => {}); // it is asked then
    shown.follow(left);
  };
  return { title: `Job ${id}`, follow, content: [unsigned("the job", " An artifact's builders are in its verified statements."), shown.element, command("kiln", "watch", id), command("kiln", "logs", id)] };
};
