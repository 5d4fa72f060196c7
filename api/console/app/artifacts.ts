// The artifacts of an instance, and a search in them.
import { command, el, link, short, table } from "./dom";
import { ArtifactRow, FarmError } from "./farm";
import { Session } from "./session";
import { at, field, leading, Shown, textOf, View } from "./view";

const shownAtOnce = 500;

function matches(row: ArtifactRow, names: readonly string[], words: readonly string[]): boolean {
  const text = [row.digest, row.target, row.toolchainLabel, ...(row.builders ?? []), ...(row.jobs ?? []), ...names].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

// How submitters called the model, by job: the farm's newest jobs know it.
async function modelNames(session: Session): Promise<Map<string, string>> {
  const { jobs = [] } = await session.farm.call<{ jobs?: Array<{ id?: string; modelName?: string }> }>(["jobs"], { limit: "200" });
  return new Map(jobs.map((one) => [one.id ?? "", one.modelName ?? ""]));
}

// What was built from a source: a digest of an input, a repository's URL or a commit. Nothing where it is none of these.
async function fromSource(session: Session, asked: string): Promise<Set<string>> {
  if (!/^(sha256:[0-9a-f]{12,64}|[0-9a-f]{40}|(git\+)?(https|ssh):\/\/\S+)$/.test(asked)) return new Set();
  try {
    const { affected = [] } = await session.farm.call<{ affected?: Array<{ artifact?: string }> }>(["affected"], { source: asked, pageSize: "500" });
    return new Set(affected.map((one) => one.artifact ?? ""));
  } catch (error) {
    if (error instanceof FarmError && error.status !== 401 && error.status !== 403) return new Set(); // the farm has never seen it
    throw error;
  }
}

export const artifacts: View = async (session, { query }): Promise<Shown> => {
  const asked = query.get("q") ?? "";
  const words = asked.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const [{ artifacts: all = [] }, models, sources] = await Promise.all([
    session.farm.call<{ artifacts?: ArtifactRow[] }>(["artifacts"], { limit: "1000" }), modelNames(session), fromSource(session, asked.trim())]);
  const namesOf = (row: ArtifactRow) => Array.from(new Set((row.jobs ?? []).map((id) => models.get(id) ?? "").filter((one) => one !== "")));
  const found = all.filter((row) => matches(row, namesOf(row), words) || sources.has(row.digest ?? ""));
  const rows = found.slice(0, shownAtOnce).map((row) => {
    const digest = row.digest ?? "";
    return [
      link(at("artifacts", [digest]), short(digest)), namesOf(row).join(", "), row.target ?? "", row.toolchainLabel ?? "",
      (row.builders ?? []).join(", "), row.published ?? "",
    ];
  });
  return { title: "Artifacts", content: [
    leading([field("q", "Model, digest, source, target, toolchain, builder or job", asked, "search")], "Search", (data) => at("artifacts", [], { q: textOf(data, "q") })),
    el("p", {}, "What something touched is asked under ", link(at("affected"), "Affected"), "."),
    found.length > shownAtOnce && el("p", {}, `The first ${shownAtOnce} of ${found.length} are shown; search for fewer.`),
    table("Artifacts, newest first, as the farm lists them", ["Artifact", "Model", "Target", "Toolchain", "Builders", "Published"], rows, "No artifact matches."),
    command("kiln", "show", "sha256:DIGEST"),
  ] };
};
