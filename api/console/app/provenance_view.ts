// Where an artifact comes from: what is signed as a graph, and what the farm alone says apart from it.
import { parseDigest, Provenance, Verdict } from "../verify/index";
import { command, el, link, short, table } from "./dom";
import { ArtifactRow } from "./farm";
import { GraphEdge, GraphNode, graphPicture } from "./graph_picture";
import { judge } from "./verdict";
import { at, notice, Shown, trouble, View } from "./view";

interface Part { kind?: string; name?: string; version?: string; path?: string; digest?: { hash?: string } }
interface ProvenanceRow { parts?: Part[]; toolchainDigest?: string }

// Columns: parts of the toolchain, inputs, who built, the statements, the artifact.
export function graphOf(artifact: string, verdict: Verdict, parts: readonly Part[]): { nodes: GraphNode[]; edges: GraphEdge[] } {
  const nodes = new Map<string, GraphNode>();
  const edges: GraphEdge[] = [];
  const add = (node: GraphNode) => {
    if (!nodes.has(node.id)) nodes.set(node.id, node);
    return node.id;
  };
  const edge = (from: string, to: string) => edges.push({ from, to });
  const top = add({ id: artifact, column: 4, kind: "artifact", label: short(artifact), href: at("artifacts", [artifact]) });
  const addProvenance = (provenance: Provenance, id: string) => {
    for (const input of provenance.resolvedDependencies) {
      const isToolchain = input.name === "toolchain";
      const digest = `sha256:${input.digest.hex}`;
      const query: Readonly<Record<string, string>> = isToolchain ? { toolchain: digest } : { source: digest };
      const from = add({ id: digest, column: 1, kind: isToolchain ? "toolchain" : "input", label: `${input.name} ${short(digest)}`, href: at("affected", [], query) });
      edge(from, id);
      if (!isToolchain) continue;
      for (const part of parts) {
        const label = `${part.name ?? ""}${part.version ? `@${part.version}` : ""}`;
        edge(add({ id: `part ${part.kind} ${label}`, column: 0, kind: "part", label, href: at("affected", [], { component: label }) }), from);
      }
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

export const provenanceView: View = async (session, { parts: [digest = ""] }): Promise<Shown> => {
  const wanted = parseDigest(digest);
  const title = `Provenance of ${short(digest)}`;
  if (!wanted) return { title, content: [notice("bad", "A whole digest is wanted: sha256: and 64 digits.")] };
  const said = [command("kiln", "provenance", digest), el("p", {}, link(at("artifacts", [digest]), "Back to the artifact"))];
  if (!session.trust) {
    return { title, content: [notice("plain", "The graph is drawn from statements that are verified here: ", link(at("trust"), "name the root that you believe"), "."), ...said] };
  }
  const [row, rows] = await Promise.all([
    session.farm.call<ArtifactRow>(["artifacts", digest]), session.farm.call<ProvenanceRow>(["artifacts", digest, "provenance"]),
  ]);
  try {
    const { verdict, passed, rows: lines } = await judge(session, row, wanted, false);
    const { nodes, edges } = graphOf(digest, verdict, rows.parts ?? []);
    const failed = [...verdict.lines, ...lines].filter((line) => !line.ok).map((line) => line.check);
    return { title, content: [
      passed ? notice("good", "\u2714 Every statement in the graph is verified; parts of the toolchain are what the farm says is in it.")
        : notice("bad", `\u2718 Refused: ${failed.join(", ")} fails. Only statements that count are drawn.`),
      graphPicture(title, nodes, edges),
      table("The same as a list", ["From", "To"], edges.map(({ from, to }) => [nodes.find((one) => one.id === from)?.label ?? "", nodes.find((one) => one.id === to)?.label ?? ""])),
      ...said,
    ] };
  } catch (error) {
    return { title, content: [notice("bad", `\u2718 Refused: ${trouble(error)}`), ...said] };
  }
};
