// What workers do now and did lately: open jobs and the newest, with their attempts by worker.
import { command, el, link, table } from "./dom";
import { live, Drawn, sleep } from "./live";
import { Session } from "./session";
import { actionName, endedOf, isOpen, Job, Log, logsOf, Span, spansOf, timeline, word, workersOf } from "./timeline";
import { at, choice, leading, Shown, textOf, unsigned, View } from "./view";

const every = 2000; // milliseconds between two looks: a few calls each, of 200 a second that a caller has
const mostJobs = 40;
const windows: ReadonlyMap<string, number> = new Map([["10 minutes", 600e3], ["1 hour", 3600e3], ["1 day", 86400e3], ["all", Infinity]]);

interface Worker { description?: { name?: string }; lost?: boolean }

class Look {
  private readonly known = new Map<string, { readonly ended: number; readonly logs: readonly Log[] }>(); // by job

  constructor(private readonly session: Session, private readonly window: number) {}

  async draw(): Promise<Drawn> {
    const { farm } = this.session;
    const now = Date.now();
    const [{ jobs = [] }, { workers = [] }] = await Promise.all([
      farm.call<{ jobs?: Job[] }>(["jobs"], { limit: String(mostJobs) }), farm.call<{ workers?: Worker[] }>(["workers"])]);
    const wanted = jobs.filter((job) => isOpen(job) || now - Date.parse(job.submitted ?? "") < this.window);
    const spans: Span[] = [];
    for (const job of wanted) spans.push(...spansOf(job, await this.logs(job), now));
    const open = wanted.filter(isOpen);
    const names = workers.filter((one) => !one.lost).map((one) => one.description?.name ?? "");
    return { over: false, content: [
      ...timeline("Attempts by worker", spans.filter((span) => now - span.to < this.window), names),
      table("Open jobs and what each waits for", ["Job", "State", "Model", "Action", "State of it", "Worker", "Stage"], open.flatMap((job) => (job.actions ?? []).map((action) => [
        link(at("jobs", [job.id ?? ""]), job.id ?? ""), word(job.state), job.modelName ?? "", actionName(action), action.state ?? "", workersOf(action), action.stage ?? "",
      ])), "No job is open."),
    ] };
  }

  // Asked for where an attempt has ended since the last look.
  private async logs(job: Job): Promise<readonly Log[]> {
    const known = this.known.get(job.id ?? "");
    if (known?.ended === endedOf(job)) return known.logs;
    const logs = await logsOf(this.session, job);
    this.known.set(job.id ?? "", { ended: endedOf(job), logs });
    return logs;
  }
}

export const timelineView: View = async (session, { query }): Promise<Shown> => {
  const asked = query.get("last") ?? "1 hour";
  const last = windows.has(asked) ? asked : "1 hour";
  const look = new Look(session, windows.get(last) ?? 0);
  const shown = live(await look.draw(), () => look.draw(), (left) => sleep(every, left));
  return { title: "Timeline of workers", follow: shown.follow, content: [
    leading([choice("last", "Show the last", Array.from(windows.keys()), last)], "Show", (data) => at("timeline", [], { last: textOf(data, "last") })),
    unsigned(`its newest ${mostJobs} jobs`, " An artifact's builders are in its verified statements."),
    shown.element, el("p", {}, link(at("jobs"), "All jobs")), command("kiln", "top"), command("kiln", "workers"),
  ] };
};
