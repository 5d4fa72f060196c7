// One artifact: the verdict line by line, its statements, the compiler's evidence.
import { CountedStatement, Digest, Verdict, VerdictLine } from "../verify/index";
import { command, el, facts, link, moment, short, table } from "./dom";
import { evidence } from "./evidence";
import { ArtifactRow } from "./farm";
import { Session } from "./session";
import { findArtifact, judge, Judged, recalledOn } from "./verdict";
import { at, mark, notice, Shown, trouble, View } from "./view";

export function lineTable(caption: string, lines: readonly VerdictLine[]): HTMLElement {
  return table(caption, ["Verdict", "Check", "What was found"], lines.map((line) =>
    [line.ok && line.detail.startsWith("not counted: ") ? el("span", { class: "mark" }, "\u2013 noted") : mark(line.ok), line.check, line.detail]));
}

function whoChecked(session: Session): string {
  return `Checked in this page under ${session.files.join(", ")}.`;
}

function statementRow({ said, evidence: { keyId, logged, log, logIndex, witnesses, payload } }: CountedStatement): string[] {
  const [what, by] = said.is === "provenance" ? ["provenance", said.provenance.builders.map((one) => `${one.worker} (${one.operator})`).join(", ")]
    : said.is === "check" ? [said.check.passed ? "check, passed" : "check, failed", said.check.worker]
      : said.is === "reproduction" ? ["reproduction", `${said.reproduction.worker} (${said.reproduction.operator})`]
        : said.is === "tombstone" ? ["tombstone", said.tombstone.builderId]
          : [said.attestation.predicateType, said.attestation.evidence.ids.join(", ")];
  return [what, by, keyId, logged ? `entry ${logIndex} of ${log}` : "not in a log of the root", witnesses.join(", ") || "nobody", short(`sha256:${payload}`)];
}

function statements(verdict: Verdict): HTMLElement {
  return table("Statements that count", ["What", "By", "Signed by key", "Log", "Cosigned by", "Statement"], verdict.statements.map(statementRow));
}

function verdictOf(session: Session, judged: Judged): HTMLElement[] {
  const { verdict, rows, passed, leftOut } = judged;
  return [
    passed ? notice("good", `\u2714 Verified: everything holds. ${whoChecked(session)}`)
      : notice("bad", `\u2718 Refused: ${[...verdict.lines, ...rows].filter((line) => !line.ok).map((line) => line.check).join(", ")} fails. ${whoChecked(session)}`),
    leftOut > BigInt(0) ? notice("plain", `The files of ${leftOut} bytes were not read here; `, link(`${location.hash.split("?")[0]}?files=every`, "read and hash every file"), ".") : el("span"),
    lineTable("Verdict, rule by rule", verdict.lines),
    lineTable("What the farm's index says, held against what is signed", rows),
    statements(verdict),
  ];
}

async function judged(session: Session, row: ArtifactRow, wanted: Digest, everyFile: boolean): Promise<HTMLElement[]> {
  if (!session.trust) {
    return [notice("plain", "Nothing is verified: ", link(at("trust"), "name the root that you believe"), " first. Until then no mark is green.")];
  }
  try {
    const found = await judge(session, row, wanted, everyFile);
    const { manifest } = found.verdict;
    return [...verdictOf(session, found), ...(manifest ? [el("h2", {}, "How it was compiled"),
      notice("plain", "From manifest.json, whose digest the artifact's hash covers."), ...evidence(manifest, `sha256:${wanted.hex}`)] : [])];
  } catch (error) {
    const recalled = recalledOn(session, wanted);
    return [notice("bad", `\u2718 Refused: ${trouble(error)}.${recalled === "" ? "" : ` It was ${recalled}.`} ${whoChecked(session)}`)];
  }
}

export const artifact: View = async (session, { parts: [name = ""], query }): Promise<Shown> => {
  const { row, wanted, digest } = await findArtifact(session, name);
  return { title: `Artifact ${short(digest)}`, content: [
    facts([["Digest", el("code", {}, digest)], ["Target, says the farm", row.target ?? ""], ["Toolchain, says the farm", row.toolchainLabel ?? ""],
      ["Published, says the farm", moment(row.published)], ["Jobs", el("span", {}, ...(row.jobs ?? []).flatMap((id) => [link(at("jobs", [id]), id), " "]))]]),
    el("p", {}, link(at("provenance", [digest]), "Provenance graph"), ", ", link(at("partition", [digest]), "partition map"), ", ", link(at("compare", [digest]), "compare with another"), ", ",
      link(at("affected", [], { artifact: digest }), "who names it")),
    ...(await judged(session, row, wanted, query.get("files") === "every")),
    command("kiln", "verify", digest, "--trust-root", "ROOT.json"),
    command("kiln", "show", digest),
  ] };
};
