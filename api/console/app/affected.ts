// What something touched: the farm's answer, with the statement that proves each.
import { command, el, link, short, table } from "./dom";
import { StatementRef } from "./farm";
import { at, choice, field, leading, notice, Shown, textOf, View } from "./view";

const kinds = ["component", "toolchain", "source", "worker", "operator", "key", "artifact", "target", "submitter", "device"] as const;

interface Answer {
  affected?: Array<{ artifact?: string; target?: string; statement?: StatementRef }>;
  admissions?: Array<{ label?: string }>;
  nextPageToken?: string;
  unread?: string;
}

export const affected: View = async (session, { query }): Promise<Shown> => {
  const kind = kinds.find((one) => (query.get(one) ?? "") !== "") ?? "component";
  const name = query.get(kind) ?? "";
  const form = leading([choice("kind", "Touched by", kinds, kind), field("name", "Name or digest", name, "search")], "Ask",
    (data) => at("affected", [], { [textOf(data, "kind")]: textOf(data, "name") }));
  if (name === "") return { title: "Affected", content: [form, el("p", {}, "A component is a part of a toolchain, such as ptxas.")] };
  const page = query.get("page") ?? "";
  const said = await session.farm.call<Answer>(["affected"], { [kind]: name, pageSize: "200", pageToken: page });
  const rows = (said.affected ?? []).map((one) => [
    link(at("artifacts", [one.artifact ?? ""]), short(one.artifact ?? "")), one.target ?? "", one.statement?.predicateType ?? "",
    short(one.statement?.payload ?? ""), one.statement?.recorded ?? "",
  ]);
  return { title: `Affected by ${kind} ${name}`, content: [
    form,
    notice("plain", "This is what the farm's index says. Open an artifact to have its statements verified here."),
    Number(said.unread ?? 0) > 0 && notice("bad", `${said.unread} statements are not read by the index yet and may be missing.`),
    table("Statements that name it, newest first", ["Artifact", "Target", "Statement", "Payload", "Recorded"], rows, "Nothing names it."),
    said.nextPageToken && el("p", {}, link(at("affected", [], { [kind]: name, page: said.nextPageToken }), "More")),
    table("Toolchains that hold it", ["Label"], (said.admissions ?? []).map((one) => [one.label ?? ""]), "None."),
    command("kiln", "affected", `--${kind}`, name),
  ] };
};
