// How two artifacts differ: what was asked for, what went in, who built.
import { command, facts, link, short, table } from "./dom";
import { StatementRef } from "./farm";
import { at, field, leading, notice, Shown, textOf, View } from "./view";

interface Answer {
  first?: StatementRef; second?: StatementRef;
  differences?: Array<{ what?: string; name?: string; first?: string; second?: string }>;
  nextPageToken?: string;
}

export const compare: View = async (session, { parts: [first = "", second = ""] }): Promise<Shown> => {
  const form = leading([field("first", "First artifact", first), field("second", "Second artifact", second)], "Compare",
    (data) => at("compare", [textOf(data, "first"), textOf(data, "second")]));
  if (first === "" || second === "") return { title: "Compare two artifacts", content: [form] };
  const said = await session.farm.call<Answer>(["artifacts", first, "differences", second], { pageSize: "500" });
  return { title: "Compare two artifacts", content: [
    form,
    notice("plain", "This is what the farm's index says of the newest provenance of each. Open an artifact to have it verified here."),
    facts([["First", link(at("artifacts", [first]), short(first))], ["Its provenance", short(said.first?.payload ?? "")],
      ["Second", link(at("artifacts", [second]), short(second))], ["Its provenance", short(said.second?.payload ?? "")]]),
    table("Differences", ["What", "Name", "First", "Second"], (said.differences ?? []).map((one) => [one.what ?? "", one.name ?? "", one.first ?? "", one.second ?? ""]),
      "They do not differ."),
    said.nextPageToken ? notice("plain", "There are more than 500; the command has all.") : null,
    command("kiln", "provenance", first, "--against", second),
  ] };
};
