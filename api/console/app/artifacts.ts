// The artifacts of an instance, and a search in them.
import { command, el, link, short, table } from "./dom";
import { ArtifactRow } from "./farm";
import { at, field, leading, Shown, textOf, View } from "./view";

const shownAtOnce = 500;

function matches(row: ArtifactRow, words: readonly string[]): boolean {
  const text = [row.digest, row.target, row.toolchainLabel, ...(row.builders ?? []), ...(row.jobs ?? [])].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

export const artifacts: View = async (session, { query }): Promise<Shown> => {
  const asked = query.get("q") ?? "";
  const words = asked.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const { artifacts: all = [] } = await session.farm.call<{ artifacts?: ArtifactRow[] }>(["artifacts"], { limit: "1000" });
  const found = all.filter((row) => matches(row, words));
  const rows = found.slice(0, shownAtOnce).map((row) => {
    const digest = row.digest ?? "";
    return [
      link(at("artifacts", [digest]), short(digest)), row.target ?? "", row.toolchainLabel ?? "",
      (row.builders ?? []).join(", "), row.published ?? "",
    ];
  });
  return { title: "Artifacts", content: [
    leading([field("q", "Digest, target, toolchain, builder or job", asked, "search")], "Search", (data) => at("artifacts", [], { q: textOf(data, "q") })),
    el("p", {}, "What something touched is asked under ", link(at("affected"), "Affected"), "."),
    found.length > shownAtOnce && el("p", {}, `The first ${shownAtOnce} of ${found.length} are shown; search for fewer.`),
    table("Artifacts, newest first, as the farm lists them", ["Artifact", "Target", "Toolchain", "Builders", "Published"], rows, "No artifact matches."),
    command("kiln", "show", "sha256:DIGEST"),
  ] };
};
