// The artifacts of an instance, and a search in them.
import { command, el, link, moment, short, table } from "./dom";
import { ArtifactRow, FarmError } from "./farm";
import { Session } from "./session";
import { at, field, leading, Shown, textOf, View } from "./view";

const pageOf = 1000;
const mostPages = 50; // that a search reads
const shownAtOnce = 500;

function matches(row: ArtifactRow, words: readonly string[]): boolean {
  const text = [row.digest, row.target, row.toolchainLabel, ...(row.models ?? []), ...(row.builders ?? []), ...(row.jobs ?? [])].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

async function pageBehind(session: Session, before: string, limit: number): Promise<ArtifactRow[]> {
  const { artifacts: page = [] } = await session.farm.call<{ artifacts?: ArtifactRow[] }>(["artifacts"], { limit: String(limit), before });
  return page;
}

interface Found { readonly rows: readonly ArtifactRow[]; readonly read: number; readonly ended: boolean }

// All that match, page by page. A farm whose pages do not go on is not asked for ever.
async function search(session: Session, wanted: (row: ArtifactRow) => boolean): Promise<Found> {
  const rows: ArtifactRow[] = [];
  let read = 0;
  let before = "";
  for (let pages = 0; pages < mostPages; ++pages) {
    const page = await pageBehind(session, before, pageOf);
    read += page.length;
    rows.push(...page.filter(wanted));
    const last = page[page.length - 1]?.digest ?? "";
    if (page.length < pageOf || last === before) return { rows, read, ended: true };
    before = last;
  }
  return { rows, read, ended: false };
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

// Without words the newest, a page at a time; with words whatever has all of them.
export const artifacts: View = async (session, { query }): Promise<Shown> => {
  const asked = query.get("q") ?? "";
  const before = query.get("before") ?? "";
  const words = asked.toLowerCase().split(/\s+/).filter((word) => word !== "");
  let found: Found;
  if (words.length === 0) {
    const rows = await pageBehind(session, before, shownAtOnce);
    found = { rows, read: rows.length, ended: rows.length < shownAtOnce };
  } else {
    const sources = await fromSource(session, asked.trim());
    found = await search(session, (row) => matches(row, words) || sources.has(row.digest ?? ""));
  }
  const shown = found.rows.slice(0, shownAtOnce);
  const rows = shown.map((row) => {
    const digest = row.digest ?? "";
    return [
      link(at("artifacts", [digest]), short(digest)), (row.models ?? []).join(", "), row.target ?? "", row.toolchainLabel ?? "",
      (row.builders ?? []).join(", "), moment(row.published),
    ];
  });
  const searched = found.ended ? `All ${found.read} artifacts were searched.` : `The newest ${found.read} artifacts were searched, which is as far as this goes.`;
  return { title: "Artifacts", content: [
    leading([field("q", "Model, digest, source, target, toolchain, builder or job", asked, "search")], "Search", (data) => at("artifacts", [], { q: textOf(data, "q") })),
    el("p", {}, "What something touched is asked under ", link(at("affected"), "Affected"), "."),
    words.length > 0 && el("p", {}, found.rows.length > shown.length ? `${searched} The first ${shown.length} of ${found.rows.length} that match are shown.` : searched),
    table("Artifacts, newest first, as the farm lists them", ["Artifact", "Model", "Target", "Toolchain", "Builders", "Published"], rows, "No artifact matches."),
    words.length === 0 && !found.ended && el("p", {}, link(at("artifacts", [], { before: shown[shown.length - 1]?.digest ?? "" }), "Older")),
    command("kiln", "artifacts", ...words),
  ] };
};
