// What runs where: the partitions of an artifact in the order of execution, their kernels, and what moves between them.
// From manifest.json (manifest/FORMAT.md, stages.partition), whose digest the artifact's hash covers.
import { Manifest } from "../verify/index";
import { bytesText, command, el, link, short, table } from "./dom";
import { GraphEdge, GraphNode, graphPicture } from "./graph_picture";
import { count, list, object, text } from "./json_view";
import { findArtifact, judge } from "./verdict";
import { at, notice, Shown, trouble, View } from "./view";

const mostNodes = 4000; // that are drawn

interface Part { readonly id: string; readonly target: string; readonly nodes: ReadonlySet<string> }

// The part that transfers of a node leave or reach; "host" is the caller, who stands at both ends.
function partOf(parts: readonly Part[], target: string, node: string, after = -1): number {
  const holds = parts.findIndex((part, i) => i > after && part.target === target && part.nodes.has(node));
  return holds >= 0 ? holds : parts.findIndex((part, i) => i > after && part.target === target);
}

export function partitionGraph(manifest: Manifest): { nodes: GraphNode[]; edges: GraphEdge[]; leftOut: number } {
  const facts = object(manifest.stages.get("partition"));
  const parts: Part[] = list(facts.get("partitions")).map((one, i) => ({ id: `part ${i}`, target: text(object(one).get("target")),
    nodes: new Set(list(object(one).get("nodes")).map(text)) }));
  const nodes: GraphNode[] = [{ id: "inputs", column: 0, kind: "input", label: `inputs: ${manifest.inputs.map((one) => one.name).join(", ")}`, href: "" }];
  const edges: GraphEdge[] = [];
  list(facts.get("partitions")).forEach((one, i) => {
    const operations = text(object(one).get("operations"));
    nodes.push({ id: parts[i].id, column: 1 + 2 * i, kind: "partition", label: `${i + 1}: ${parts[i].target}, ${operations} operation${operations === "1" ? "" : "s"}`, href: "" });
  });
  const end = Math.max(1, 1 + 2 * parts.length);
  let leftOut = 0;
  for (const one of list(object(manifest.stages.get("schedule")).get("kernels")).map(object)) {
    const made = list(one.get("nodes")).map(text);
    const target = text(one.get("target"));
    const part = Math.max(0, parts.findIndex(({ nodes: has, target: its }) => (target === "" || its === target) && made.some((name) => has.has(name))));
    if (nodes.length >= mostNodes) {
      ++leftOut;
      continue;
    }
    const id = `kernel ${nodes.length}`;
    nodes.push({ id, column: 2 + 2 * part, kind: "kernel", label: `${text(one.get("symbol"))}: ${made.join(", ")}`, href: "", row: 1 });
    if (parts.length > 0) edges.push({ from: parts[part].id, to: id });
  }
  nodes.push({ id: "outputs", column: end, kind: "output", label: `outputs: ${manifest.outputs.map((one) => one.name).join(", ")}`, href: "" });
  // What is executed one after another, and how much moves there.
  const moved = new Map<string, { bytes: number; tensors: number }>();
  const order = ["inputs", ...parts.map((part) => part.id), "outputs"];
  for (let i = 1; i < order.length; ++i) moved.set(`${order[i - 1]}\n${order[i]}`, { bytes: 0, tensors: 0 });
  for (const one of list(facts.get("transfers")).map(object)) {
    const [from, to, node] = [text(one.get("from")), text(one.get("to")), text(one.get("node"))];
    const leaves = from === "host" ? -1 : partOf(parts, from, node);
    const reaches = to === "host" ? -1 : partOf(parts, to, node, leaves);
    const key = `${leaves < 0 ? "inputs" : parts[leaves].id}\n${reaches < 0 ? "outputs" : parts[reaches].id}`;
    const sum = moved.get(key) ?? { bytes: 0, tensors: 0 };
    moved.set(key, { bytes: sum.bytes + count(one.get("bytes")), tensors: sum.tensors + 1 });
  }
  for (const [key, { bytes, tensors }] of moved) {
    const [from, to] = key.split("\n");
    edges.push({ from, to, ...(tensors > 0 ? { label: bytesText(bytes) } : {}) });
  }
  return { nodes, edges, leftOut };
}

export const partitionView: View = async (session, { parts: [name = ""] }): Promise<Shown> => {
  const { row, wanted, digest } = await findArtifact(session, name);
  const title = `Partition map of ${short(digest)}`;
  const said = [command("kiln", "show", digest), el("p", {}, link(at("artifacts", [digest]), "Back to the artifact"))];
  if (!session.trust) {
    return { title, content: [notice("plain", "The map is drawn from a manifest that is verified here: ", link(at("trust"), "name the root that you believe"), "."), ...said] };
  }
  try {
    const { verdict, passed, rows: lines } = await judge(session, row, wanted, false);
    const failed = [...verdict.lines, ...lines].filter((line) => !line.ok).map((line) => line.check);
    const verdictSaid = passed ? notice("good", `\u2714 The artifact and its manifest are verified. Checked in this page under ${session.files.join(", ")}.`)
      : notice("bad", `\u2718 Refused: ${failed.join(", ")} fails.`);
    if (!verdict.manifest) return { title, content: [verdictSaid, ...said] };
    const { nodes, edges, leftOut } = partitionGraph(verdict.manifest);
    const facts = object(verdict.manifest.stages.get("partition"));
    const label = (id: string) => nodes.find((one) => one.id === id)?.label ?? "";
    return { title, content: [
      verdictSaid, graphPicture(title, nodes, edges), leftOut > 0 ? notice("plain", `${leftOut} kernels are not drawn; the artifact's view lists all.`) : null,
      table("What moves, and in which order", ["From", "To", "Moves"], edges.filter(({ to }) => !to.startsWith("kernel")).map(({ from, to, label: moves }) => [label(from), label(to), moves ?? "no copy"])),
      table("Partitions", ["Target", "Operations", "Nodes"], list(facts.get("partitions")).map(object).map((one) => [text(one.get("target")), text(one.get("operations")), text(one.get("nodes"))])),
      table("Kernels by partition", ["Partition", "Kernel"], edges.filter(({ to }) => to.startsWith("kernel")).map(({ from, to }) => [label(from), label(to)])),
      table("Fallback: what could not run where it should", ["Node", "Operator", "Reason", "From", "To"],
        list(facts.get("fallback")).map(object).map((one) => ["node", "op", "reason", "from", "to"].map((name) => text(one.get(name)))), "Nothing fell back."),
      ...said,
    ] };
  } catch (error) {
    return { title, content: [notice("bad", `\u2718 Refused: ${trouble(error)}`), ...said] };
  }
};
