// The log: its checkpoint under the visitor's root, its tiles recomputed, its entries found in them.
import { equal, fromBase64, leafHash, parseNoteBytes, RootLogs, SeenCheckpoint, textOf, TileTree, toBase64, utf8, VerifyError, formatTime } from "../verify/index";
import { Child, command, el, facts, link, table } from "./dom";
import { Session } from "./session";
import { at, mark, notice, Shown, trouble, View } from "./view";

interface Claimed { size?: string; root?: string; note?: string }
interface Logged { place?: string; foreign?: boolean; payload?: string; table?: string; leaf?: string }

const pageOf = 100;

interface Opened { readonly seen: SeenCheckpoint; readonly tree: TileTree }

async function open(session: Session, note: Uint8Array): Promise<Opened> {
  if (!session.trust) throw new VerifyError("denied", "no root is named");
  const logs = await RootLogs.of(session.trust.root);
  const seen = await logs.open(parseNoteBytes(note), Date.now() / 1000);
  return { seen, tree: await TileTree.open(seen.checkpoint, (path) => session.farm.logFile(path)) };
}

// What the farm says of the entries of these places; its answers may be shorter than what is asked for.
async function saidOf(session: Session, from: number, to: number): Promise<{ entries: Map<number, Logged>; checkpoints: Claimed[] }> {
  const entries = new Map<number, Logged>();
  const checkpoints: Claimed[] = [];
  for (let at = from; at < to;) {
    const page = await session.farm.call<{ entries?: Logged[]; checkpoints?: Claimed[]; last?: boolean }>(["log"], { from: String(at), pageSize: String(to - at) });
    checkpoints.push(...(page.checkpoints ?? []));
    let next = at;
    for (const one of page.entries ?? []) {
      const place = Number(one.place ?? 0);
      if (place >= from && place < to) entries.set(place, one);
      next = Math.max(next, place + 1);
    }
    if (page.last || next <= at) break;
    at = next;
  }
  return { entries, checkpoints };
}

async function inTree(tree: TileTree, entry: Logged): Promise<VerifyError | null> {
  try {
    const leaf = fromBase64(entry.leaf ?? "");
    if (!leaf || !equal(await leafHash(leaf), await tree.leaf(Number(entry.place ?? 0)))) {
      throw new VerifyError("data-loss", "the log holds another entry here than the farm says");
    }
    return null;
  } catch (error) {
    if (error instanceof VerifyError) return error;
    throw error;
  }
}

// What this visit saw of the log before must be its beginning now.
async function continues(session: Session, { seen: { checkpoint }, tree }: Opened): Promise<VerifyError | null> {
  const before = session.seenLogs.get(checkpoint.origin);
  if (before && before.size > checkpoint.size) return new VerifyError("data-loss", `the log has ${checkpoint.size} entries, and had ${before.size} before`);
  if (before && !equal(await tree.rootAt(Number(before.size)), before.root)) return new VerifyError("data-loss", `the log's first ${before.size} entries are others than before`);
  session.seenLogs.set(checkpoint.origin, checkpoint);
  return null;
}

// Checkpoints that entries were proven in: signed by the log, cosigned by whom, and a beginning of the tree.
async function checkpointRow(session: Session, tree: TileTree, claimed: Claimed): Promise<Child[]> {
  try {
    if (!session.trust) throw new VerifyError("denied", "no root is named");
    const logs = await RootLogs.of(session.trust.root);
    const { checkpoint, cosigned } = await logs.open(parseNoteBytes(utf8(claimed.note ?? "")), Date.now() / 1000);
    if (!equal(await tree.rootAt(Number(checkpoint.size)), checkpoint.root)) throw new VerifyError("data-loss", "is no beginning of the log");
    if (String(checkpoint.size) !== (claimed.size ?? "0")) throw new VerifyError("data-loss", `is of ${checkpoint.size} entries`);
    return [claimed.size ?? "0", mark(true), "signed by the log, and the beginning of it", cosigned.map((one) => `${one.witness} on ${formatTime(one.time)}`).join(", ") || "nobody"];
  } catch (error) {
    return [claimed.size ?? "0", mark(false), trouble(error), ""];
  }
}

export const logView: View = async (session, { query }): Promise<Shown> => {
  const note = await session.farm.logFile("checkpoint");
  const text = textOf(note);
  const said = [command("kiln", "log", "checkpoint"), command("kiln", "log", "verify")];
  if (!session.trust) {
    return { title: "Log", content: [notice("plain", "Nothing is verified: ", link(at("trust"), "name the root that you believe"), "."), el("pre", {}, text), ...said] };
  }
  let opened: Opened;
  try {
    opened = await open(session, note);
  } catch (error) {
    return { title: "Log", content: [notice("bad", `\u2718 Refused: ${trouble(error)}`), el("pre", {}, text), ...said] };
  }
  const { seen: { checkpoint, cosigned }, tree } = opened;
  const broken = await continues(session, opened);
  if (broken) return { title: "Log", content: [notice("bad", `\u2718 Refused: ${broken.message}`), el("pre", {}, text), ...said] };
  const size = Number(checkpoint.size);
  const asked = Math.floor(Number(query.get("from") ?? size - pageOf)) || 0;
  const from = Math.min(Math.max(0, asked), Math.max(0, size - 1));
  const to = Math.min(from + pageOf, size);
  const { entries, checkpoints } = await saidOf(session, from, to);
  // A farm keeps what it signed: an entry that it says nothing of is one that it has lost, or hides.
  const rows = await Promise.all(Array.from({ length: to - from }, (_, i) => from + i).map(async (place) => {
    const one = entries.get(place);
    if (!one) return [String(place), mark(false), "the farm says nothing of what it signed here", "", ""];
    const wrong = await inTree(tree, one);
    return [String(place), mark(wrong === null), wrong ? wrong.message : "in the tree that the checkpoint signs", one.foreign ? "of another instance" : one.table || "in no table", one.payload ?? ""];
  }));
  const proven = await Promise.all(checkpoints.slice(0, pageOf).map((one) => checkpointRow(session, tree, one)));
  return { title: "Log", content: [
    notice("good", `\u2714 The checkpoint is signed by ${checkpoint.origin}, and the tiles lead to its root. Checked in this page under ${session.files.join(", ")}.`),
    facts([["Origin", checkpoint.origin], ["Entries", String(checkpoint.size)], ["Root", el("code", {}, toBase64(checkpoint.root))],
      ["Cosigned", cosigned.map((one) => `${one.witness} on ${formatTime(one.time)}`).join(", ") || "by no witness of the root"]]),
    table("Witnesses of the root", ["Witness", "Cosigned this checkpoint"], session.trust.root.witnesses.map(({ name }) => {
      const one = cosigned.find(({ witness }) => witness === name);
      return [name, one ? formatTime(one.time) : "no"];
    }), "The root names none."),
    table("Checkpoints that these entries were proven in", ["Entries", "Verdict", "What was found", "Cosigned by"], proven, "The farm names none."),
    table(`Entries from ${from}`, ["Place", "Verdict", "What was found", "Statement", "Payload"], rows),
    el("p", {}, from > 0 && link(at("log", [], { from: String(Math.max(0, from - pageOf)) }), "Earlier"), " ",
      from + pageOf < size && link(at("log", [], { from: String(from + pageOf) }), "Later")),
    ...said,
  ] };
};
