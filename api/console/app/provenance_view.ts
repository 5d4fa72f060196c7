// Where an artifact comes from: what is signed as a graph, and what the farm alone says apart from it.
import { Digest, digestText, Provenance, Verdict, VerifyError } from "../verify/index";
import { Child, command, el, link, short, table } from "./dom";
import { Farm, FarmError } from "./farm";
import { GraphEdge, GraphNode, graphPicture } from "./graph_picture";
import { Part, partsOf } from "./touch";
import { findArtifact, judge } from "./verdict";
import { at, notice, Shown, trouble, View } from "./view";

// What the farm says is in the toolchain. Its components are in the signed tree; of a lock's packages no statement speaks.
interface Claimed { kind?: string; name?: string; version?: string }
interface ProvenanceRow { parts?: Claimed[] }

const mostNodes = 4000; // that are drawn

function labelOf(part: { readonly name?: string; readonly version?: string }): string {
  return `${part.name ?? ""}${part.version ? `@${part.version}` : ""}`;
}

// Columns: parts of the toolchain, inputs, who built, the statements, the artifact. `parts` by the digest of a tree; `claimed`: what
// the farm alone says to be in it.
export function graphOf(artifact: string, verdict: Verdict, parts: ReadonlyMap<string, readonly Part[]>, claimed: readonly Claimed[]): { nodes: GraphNode[]; edges: GraphEdge[] } {
  const nodes = new Map<string, GraphNode>();
  const edges: GraphEdge[] = [];
  const add = (node: GraphNode) => {
    if (!nodes.has(node.id) && nodes.size < mostNodes) nodes.set(node.id, node);
    return node.id;
  };
  const edge = (from: string, to: string) => {
    if (nodes.has(from) && nodes.has(to)) edges.push({ from, to });
  };
  const top = add({ id: artifact, column: 4, kind: "artifact", label: short(artifact), href: at("artifacts", [artifact]) });
  const addPart = (kind: string, label: string, tree: string) =>
    edge(add({ id: `${kind} ${label}`, column: 0, kind, label, href: at("affected", [], { component: label }) }), tree);
  const addProvenance = (provenance: Provenance, id: string) => {
    for (const input of provenance.resolvedDependencies) {
      const isToolchain = input.name === "toolchain";
      const digest = `sha256:${input.digest.hex}`;
      const query: Readonly<Record<string, string>> = isToolchain ? { toolchain: digest } : { source: digest };
      const from = add({ id: digest, column: 1, kind: isToolchain ? "toolchain" : "input", label: `${input.name} ${short(digest)}`, href: at("affected", [], query) });
      edge(from, id);
      if (!isToolchain) continue;
      for (const part of parts.get(digest) ?? []) addPart("part", labelOf(part), from);
      for (const part of claimed) addPart("part claimed", labelOf(part), from);
    }
    for (const one of provenance.builders) {
      edge(add({ id: `worker ${one.worker}`, column: 2, kind: "worker", label: `${one.worker} (${one.operator})`, href: at("affected", [], { worker: one.worker }) }), id);
    }
  };
  for (const { said, evidence } of verdict.statements) {
    const id = `statement ${evidence.payload}`;
    const label = said.is === "attestation" ? said.attestation.predicateType.replace(/^(urn:kiln:predicate:|https:\/\/(slsa\.dev|in-toto\.io)\/)/, "").replace(/[:/]v[0-9.]+$/, "").replace(/_/g, " ") : said.is;
    add({ id, column: 3, kind: "statement", label, href: at("affected", [], { key: evidence.keyId }) });
    edge(id, top);
    if (said.is === "provenance") addProvenance(said.provenance, id);
    const who = said.is === "check" ? said.check : said.is === "reproduction" ? said.reproduction : null;
    if (who) edge(add({ id: `worker ${who.worker}`, column: 2, kind: "worker", label: `${who.worker} (${who.operator})`, href: at("affected", [], { worker: who.worker }) }), id);
  }
  return { nodes: Array.from(nodes.values()), edges };
}

interface Parts {
  readonly byTree: ReadonlyMap<string, readonly Part[]>;
  readonly said: Child[]; // what is wrong, or missing
  readonly ok: boolean;
}

// The parts of every toolchain that a statement names, from its tree, and whether the farm says the same.
async function readParts(farm: Farm, verdict: Verdict, claimed: readonly Claimed[]): Promise<Parts> {
  const trees = new Map<string, Digest>();
  for (const { said } of verdict.statements) {
    if (said.is !== "provenance") continue;
    for (const { name, digest } of said.provenance.resolvedDependencies) if (name === "toolchain") trees.set(digestText(digest), digest);
  }
  const byTree = new Map<string, readonly Part[]>();
  for (const [name, tree] of trees) {
    try {
      byTree.set(name, await partsOf(farm, tree));
    } catch (error) {
      if (error instanceof FarmError) return { byTree, ok: true, said: [notice("plain", `The parts are what the farm says: ${short(name)} cannot be read here, ${error.message}`)] };
      if (error instanceof VerifyError) return { byTree, ok: false, said: [notice("bad", `\u2718 The parts of ${short(name)} are refused: ${error.message}`)] };
      throw error;
    }
  }
  const signed = new Set(Array.from(byTree.values()).flat().map(labelOf));
  const told = new Set(claimed.filter(({ kind }) => kind === "component").map(labelOf));
  const wrong = [...Array.from(told).filter((one) => !signed.has(one)).map((one) => `names ${one}, which is in no toolchain of these statements`),
    ...Array.from(signed).filter((one) => !told.has(one)).map((one) => `leaves out ${one}`)];
  if (wrong.length === 0) return { byTree, ok: true, said: [] };
  return { byTree, ok: false, said: [notice("bad", `\u2718 The farm's index is wrong about the parts: it ${wrong.slice(0, 10).join(", ")}${wrong.length > 10 ? `, and ${wrong.length - 10} more` : ""}.`)] };
}

export const provenanceView: View = async (session, { parts: [name = ""] }): Promise<Shown> => {
  const { row, wanted, digest } = await findArtifact(session, name);
  const title = `Provenance of ${short(digest)}`;
  const said = [command("kiln", "provenance", digest), el("p", {}, link(at("artifacts", [digest]), "Back to the artifact"))];
  if (!session.trust) {
    return { title, content: [notice("plain", "The graph is drawn from statements that are verified here: ", link(at("trust"), "name the root that you believe"), "."), ...said] };
  }
  const rows = await session.farm.call<ProvenanceRow>(["artifacts", digest, "provenance"]);
  try {
    const { verdict, passed, rows: lines } = await judge(session, row, wanted, false);
    const claimed = rows.parts ?? [];
    const parts = await readParts(session.farm, verdict, claimed);
    const unread = parts.byTree.size === 0;
    const { nodes, edges } = graphOf(digest, verdict, parts.byTree, claimed.filter(({ kind }) => unread || kind !== "component"));
    const labels = new Map(nodes.map((one) => [one.id, one.label]));
    const failed = [...verdict.lines, ...lines].filter((line) => !line.ok).map((line) => line.check);
    return { title, content: [
      passed && parts.ok ? notice("good", `\u2714 Every statement in the graph is verified, and parts with a whole edge are in the tree that they name; a broken edge is what the farm says. Checked in this page under ${session.files.join(", ")}.`)
        : passed ? null : notice("bad", `\u2718 Refused: ${failed.join(", ")} fails. Only statements that count are drawn.`),
      ...parts.said, nodes.length >= mostNodes && notice("plain", `The first ${mostNodes} nodes are drawn.`),
      graphPicture(title, nodes, edges),
      table("The same as a list", ["From", "To"], edges.map(({ from, to }) => [labels.get(from) ?? "", labels.get(to) ?? ""])),
      ...said,
    ] };
  } catch (error) {
    return { title, content: [notice("bad", `\u2718 Refused: ${trouble(error)}`), ...said] };
  }
};
