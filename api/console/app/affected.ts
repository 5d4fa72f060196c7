// What something touched: the farm's answer, and for whoever asks the proof of each, made here from what is signed.
import { condemning, describeRecall, parseDigest, VerdictLine } from "../verify/index";
import { Child, command, el, link, moment, short, table } from "./dom";
import { ArtifactRow, StatementRef } from "./farm";
import { Session } from "./session";
import { buildersOf, Part, proofOf } from "./touch";
import { judge, recalledOn } from "./verdict";
import { at, choice, field, leading, mark, mendable, notice, Shown, textOf, trouble, View } from "./view";

const kinds = ["component", "toolchain", "source", "worker", "operator", "key", "artifact", "target", "submitter", "device"] as const;
const provenAtOnce = 25;

interface Answer {
  affected?: Array<{ artifact?: string; target?: string; statement?: StatementRef }>;
  admissions?: Array<{ label?: string }>;
  nextPageToken?: string;
  unread?: string;
}

function unmarked(text: string): HTMLElement {
  return el("span", { class: "mark" }, `\u2013 ${text}`);
}

function recallOf(session: Session, digest: string): Child {
  const wanted = parseDigest(digest);
  const recalls = session.trust?.recalls;
  if (!wanted || !recalls || session.recallsTrouble !== "") return unmarked("no recalls known");
  const entry = condemning(recalls, wanted);
  return entry ? el("span", { class: "mark bad" }, `\u2718 ${describeRecall(entry)}`) : `no, by recalls.json version ${recalls.version}`;
}

async function proofRow(session: Session, digest: string, kind: string, name: string, known: Map<string, Promise<Part[]>>): Promise<Child[]> {
  const shown = link(at("artifacts", [digest]), short(digest));
  const wanted = parseDigest(digest);
  if (!wanted) return [shown, mark(false), "", "", "the farm names no digest"];
  try {
    const { verdict, passed, rows } = await judge(session, await session.farm.call<ArtifactRow>(["artifacts", digest]), wanted, false);
    const failed = [...verdict.lines, ...rows].filter((line: VerdictLine) => !line.ok).map((line) => line.check).join(", ");
    const proof = await proofOf(session.farm, verdict, kind, name, known);
    return [shown, el("span", {}, mark(passed), failed === "" ? "" : ` ${failed}`), buildersOf(verdict).join(", "), recallOf(session, digest),
      el("span", {}, proof.holds === null ? unmarked("not proven") : mark(proof.holds && passed), ` ${proof.why}`)];
  } catch (error) {
    const recalled = recalledOn(session, wanted);
    return [shown, mark(false), "", recallOf(session, digest), `${trouble(error)}${recalled === "" ? "" : `; ${recalled}`}`];
  }
}

async function proofs(session: Session, digests: readonly string[], kind: string, name: string): Promise<Child[]> {
  if (!session.trust) return [notice("plain", "Nothing is verified: ", link(at("trust"), "name the root that you believe"), " first.")];
  const known = new Map<string, Promise<Part[]>>();
  const rows: Child[][] = [];
  for (const digest of digests.slice(0, provenAtOnce)) rows.push(await proofRow(session, digest, kind, name, known));
  return [
    table(`What ${kind} ${name} touched, proven in this page under ${session.files.join(", ")}`, ["Artifact", "Verified", "Built by", "Recalled", "Proof"], rows, "Nothing names it."),
    digests.length > provenAtOnce && el("p", {}, `The newest ${provenAtOnce} of ${digests.length} are proven here; open the others by themselves.`),
    el("p", {}, "A farm may leave something out of its answer: kiln audit computes the index again from the log."),
  ];
}

export const affected: View = async (session, { query }): Promise<Shown> => {
  const kind = kinds.find((one) => (query.get(one) ?? "") !== "") ?? "component";
  const name = query.get(kind) ?? "";
  const form = leading([choice("kind", "Touched by", kinds, kind), field("name", "Name or digest", name, "search")], "Ask",
    (data) => at("affected", [], { [textOf(data, "kind")]: textOf(data, "name") }));
  const hint = el("p", {}, "A component is a part of a toolchain, such as ptxas: ", link(at("toolchains"), "what parts there are"), ".");
  if (name === "") return { title: "Affected", content: [form, hint, command("kiln", "affected", `--${kind}`, "NAME")] };
  const page = query.get("page") ?? "";
  let said: Answer;
  try {
    said = await session.farm.call<Answer>(["affected"], { [kind]: name, pageSize: "200", pageToken: page });
  } catch (error) {
    return { title: `Affected by ${kind} ${name}`, content: [form, notice("bad", mendable(error)), hint, command("kiln", "affected", `--${kind}`, name)] };
  }
  const list = said.affected ?? [];
  const digests = Array.from(new Set(list.map((one) => one.artifact ?? "")));
  const rows = list.map((one) => [
    link(at("artifacts", [one.artifact ?? ""]), short(one.artifact ?? "")), one.target ?? "", one.statement?.predicateType ?? "",
    short(one.statement?.payload ?? ""), moment(one.statement?.recorded),
  ]);
  const prove = query.get("prove") === "yes";
  return { title: `Affected by ${kind} ${name}`, content: [
    form,
    ...(prove ? await proofs(session, digests, kind, name)
      : [digests.length > 0 && el("p", {}, link(at("affected", [], { [kind]: name, page, prove: "yes" }), "Prove it here"), ": verify each, say who built it and whether it is recalled.")]),
    notice("plain", "What follows is what the farm's index says, signed by nobody."),
    Number(said.unread ?? 0) > 0 && notice("bad", `${said.unread} statements are not read by the index yet and may be missing.`),
    table("Statements that name it, newest first", ["Artifact", "Target", "Statement", "Payload", "Recorded"], rows, "Nothing names it."),
    said.nextPageToken && el("p", {}, link(at("affected", [], { [kind]: name, page: said.nextPageToken, prove: prove ? "yes" : "" }), "More")),
    table("Toolchains that hold it", ["Label"], (said.admissions ?? []).map((one) => [one.label ?? ""]), "None."),
    command("kiln", "affected", `--${kind}`, name),
  ] };
};
