// How two artifacts differ: what is signed of each, held against each other here, and what the farm's index says.
import { Json, Manifest } from "../verify/index";
import { bytesText, Child, command, facts, link, short, table } from "./dom";
import { StatementRef } from "./farm";
import { count, list, object, text } from "./json_view";
import { Session } from "./session";
import { buildersOf } from "./touch";
import { findArtifact, Found, judge } from "./verdict";
import { at, field, leading, mendable, notice, Shown, textOf, trouble, View } from "./view";

interface Answer {
  first?: StatementRef; second?: StatementRef;
  differences?: Array<{ what?: string; name?: string; first?: string; second?: string }>;
  nextPageToken?: string;
}

const mostDifferences = 500;
const mostValues = 100000;

// Every value of a document by its place, such as "spec.numerics.contraction".
function values(json: Json | undefined, place: string, out: Map<string, string>): void {
  if (out.size > mostValues) return;
  if (json instanceof Map) for (const [name, member] of json) values(member, `${place}.${name}`, out);
  else if (Array.isArray(json) && json.some((one) => one instanceof Map)) json.forEach((one, i) => values(one, `${place}[${i}]`, out));
  else if (json !== undefined) out.set(place, text(json));
}
function valuesOf(manifest: Manifest): Map<string, string> {
  const out = new Map<string, string>();
  values(manifest.spec.json, "spec", out);
  for (const [name, stage] of manifest.stages) values(stage, `stages.${name}`, out);
  return out;
}

function differing(first: Manifest, second: Manifest): string[][] {
  const [a, b] = [valuesOf(first), valuesOf(second)];
  return Array.from(new Set([...a.keys(), ...b.keys()])).filter((place) => a.get(place) !== b.get(place)).map((place) => [place, a.get(place) ?? "", b.get(place) ?? ""]);
}

// The figures of each stage beside each other.
function figures(manifest: Manifest): string[] {
  const stage = (name: string) => object(manifest.stages.get(name));
  const peak = list(stage("plan").get("profiles")).map((one) => count(object(one).get("peakBytes")));
  const weights = manifest.weights.reduce((sum, one) => sum + Number(one.digest.size), 0);
  return [manifest.spec.target, text(stage("capture").get("nodes")), String(list(stage("rewrite").get("fusionGroups")).length),
    String(list(stage("partition").get("partitions")).length), String(list(stage("schedule").get("kernels")).length), bytesText(count(stage("codegen").get("codeBytes"))),
    peak.length === 0 ? "" : bytesText(Math.max(...peak)), bytesText(weights)];
}
const figureNames = ["Target", "Nodes", "Fusion groups", "Partitions", "Kernels", "Code", "Peak of the arena", "Weights"];

interface Side { readonly said: HTMLElement; readonly manifest: Manifest | null; readonly builders: string }

async function side(session: Session, which: string, { row, wanted, digest }: Found): Promise<Side> {
  try {
    const { verdict, passed, rows } = await judge(session, row, wanted, false);
    const failed = [...verdict.lines, ...rows].filter((line) => !line.ok).map((line) => line.check).join(", ");
    return { manifest: verdict.manifest, builders: buildersOf(verdict).join(", "), said: passed ? notice("good", `\u2714 The ${which}, ${short(digest)}, is verified. Checked in this page under ${session.files.join(", ")}.`)
      : notice("bad", `\u2718 The ${which} is refused: ${failed} fails.`) };
  } catch (error) {
    return { said: notice("bad", `\u2718 The ${which} is refused: ${trouble(error)}`), manifest: null, builders: "" };
  }
}

async function signed(session: Session, first: Found, second: Found): Promise<Child[]> {
  if (!session.trust) return [notice("plain", "Nothing is verified: ", link(at("trust"), "name the root that you believe"), " to have what is signed of both compared here.")];
  const a = await side(session, "first", first);
  const b = await side(session, "second", second);
  if (!a.manifest || !b.manifest) return [a.said, b.said];
  const [left, right] = [figures(a.manifest), figures(b.manifest)];
  const all = differing(a.manifest, b.manifest);
  return [a.said, b.said,
    table("Figures of both", ["What", "First", "Second"], [...figureNames.map((name, i) => [name, left[i], right[i]]), ["Built by", a.builders, b.builders]]),
    table("What their manifests say otherwise", ["Place", "First", "Second"], all.slice(0, mostDifferences), "The manifests say the same."),
    all.length > mostDifferences && notice("plain", `The first ${mostDifferences} of ${all.length}.`)];
}

async function compared(session: Session, first: string, second: string): Promise<Child[]> {
  const [a, b] = [await findArtifact(session, first), await findArtifact(session, second)];
  const said = await session.farm.call<Answer>(["artifacts", a.digest, "differences", b.digest], { pageSize: "500" });
  return [
    ...(await signed(session, a, b)),
    notice("plain", "What follows is what the farm's index says of the newest provenance of each, signed by nobody."),
    facts([["First", link(at("artifacts", [a.digest]), short(a.digest))], ["Its provenance", short(said.first?.payload ?? "")],
      ["Second", link(at("artifacts", [b.digest]), short(b.digest))], ["Its provenance", short(said.second?.payload ?? "")]]),
    table("Differences", ["What", "Name", "First", "Second"], (said.differences ?? []).map((one) => [one.what ?? "", one.name ?? "", one.first ?? "", one.second ?? ""]),
      "They do not differ."),
    said.nextPageToken ? notice("plain", "There are more than 500; the command has all.") : null,
    command("kiln", "diff", a.digest, b.digest), command("kiln", "provenance", a.digest, "--against", b.digest),
  ];
}

export const compare: View = async (session, { parts: [first = "", second = ""] }): Promise<Shown> => {
  const form = leading([field("first", "First artifact", first), field("second", "Second artifact", second)], "Compare",
    (data) => at("compare", [textOf(data, "first"), textOf(data, "second")]));
  const title = "Compare two artifacts";
  if (first === "" || second === "") return { title, content: [form, command("kiln", "diff", "FIRST", "SECOND")] };
  return { title, content: [form, ...(await compared(session, first, second).catch((error: unknown) => [notice("bad", mendable(error))]))] };
};
