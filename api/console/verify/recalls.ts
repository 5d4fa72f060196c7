// recalls.json: every recall so far, under the keys that a trust root delegates to. As signing/recall/recalls.h.
import { equal, printable } from "./bytes";
import { formatTime } from "./clock";
import { Digest, digestOf, digestText } from "./digest";
import { Envelope, readEnvelope, signersOf } from "./dsse";
import { badMember, VerifyError } from "./error";
import { Json, parseCanonicalJson, parseStrictJson } from "./json";
import { Checkpoint, parseNote } from "./note";
import { ObjectReader } from "./reader";
import { checkRecallLogged, isContentRecall, readRecall, readRecallLog, Recall, RecallEntry, RecallLog, recallPayload } from "./recall";
import { LogPosition, RecallKeys, TrustRoot } from "./root";
import { RootLogs, SeenCheckpoint } from "./root_logs";

const recallsPayload = "application/vnd.kiln.recalls.v1+json";
const mostBytes = 14 << 20;
const mostPayload = 9 << 19;
const mostEntries = 4096;

// A statement that recalls of evidence may touch. `madeAt`: as it says itself.
export interface StatementPlace { readonly payload: Digest; readonly madeAt: number | null; readonly logged: LogPosition | null }

// "wanted": each recall must be proven to be in the root's log. "ifAny": what comes without proof is read all
// the same, and is no news.
export type LogProofs = "wanted" | "ifAny";

export interface Recalls {
  readonly version: number;
  readonly issuedOn: number;
  readonly expires: number;
  readonly entries: readonly RecallEntry[];
  readonly payload: Uint8Array;
  readonly logged: boolean; // a log of the root holds each entry
  readonly seen: readonly Checkpoint[];
  readonly cosigned: number; // every witness of the newest of its checkpoints saw it then or later; 0 if none
}

function isWide(recall: Recall, keys: RecallKeys): boolean {
  return recall.whole || recall.listed.size > keys.scope;
}

async function checkSigners(envelope: Envelope, keys: RecallKeys, wanted: number, what: string): Promise<void> {
  const made = (await signersOf(envelope, keys.issuers.keys)).length;
  if (made < wanted) throw new VerifyError("data-loss", `${what}: signed by ${made} of the ${wanted} recall keys that it needs`);
}

function at<T>(place: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof VerifyError ? error.in(place) : error;
  }
}

// Reads one entry and holds it against those before it.
async function readEntry(json: Json, keys: RecallKeys, known: Map<string, RecallEntry>, place: string): Promise<RecallEntry> {
  const envelope = at(place, () => readEnvelope(json, recallPayload));
  const recall = at(place, () => readRecall(parseCanonicalJson(envelope.payload, { bytes: mostPayload, depth: 4 })));
  let wide = isWide(recall, keys);
  if (recall.kind === "lift") {
    const lifted = known.get(recall.what);
    if (!lifted || lifted.recall.kind === "lift") throw badMember(place, "lifts no recall that comes before it");
    lifted.lifted = true;
    wide = isWide(lifted.recall, keys);
  }
  await checkSigners(envelope, keys, wide ? keys.wideThreshold : keys.issuers.threshold, place);
  const id = await digestOf(envelope.payload);
  if (known.has(digestText(id))) throw badMember(place, "is there twice");
  const entry = { envelope, recall, id, lifted: false };
  known.set(digestText(id), entry);
  return entry;
}

interface Proven { readonly seen: readonly Checkpoint[]; readonly cosigned: number }

// What the proofs prove of recalls whose signatures hold.
async function checkLogs(
  entries: readonly RecallEntry[], issuedOn: number, named: string, log: RecallLog, logs: RootLogs, keys: RecallKeys,
): Promise<Proven> {
  if (log.entries.length !== entries.length) throw badMember("recalls.log.entries", "must be as many as there are recalls");
  const tree = await logs.open(parseNote(log.checkpoint), issuedOn);
  for (let i = 0; i < entries.length; ++i) {
    try {
      await checkRecallLogged(entries[i].envelope, log.entries[i], tree.checkpoint, keys.issuers.keys);
    } catch (error) {
      throw error instanceof VerifyError ? error.in(`recalls.log.entries[${i}]`) : error;
    }
  }
  const opened: SeenCheckpoint[] = [tree];
  if (named !== "") {
    try {
      opened.push(await logs.open(parseNote(named), issuedOn));
    } catch (error) {
      throw error instanceof VerifyError ? error.in("recalls.checkpoint") : error;
    }
  }
  const seen = opened.map((one) => one.checkpoint);
  const last = seen[seen.length - 1];
  if (seen[0].origin === last.origin && seen[0].size < last.size) {
    throw new VerifyError("data-loss", "recalls.log: its checkpoint is older than the one that the issuers had seen");
  }
  checkContinues(seen, seen);
  return { seen, cosigned: Math.max(0, ...opened.map((one) => one.cosigned[0]?.time ?? 0)) };
}

// "data-loss" if a log that both have seen is shorter in `now`, or another one of the same size.
export function checkContinues(before: readonly Checkpoint[], now: readonly Checkpoint[]): void {
  for (const earlier of before) {
    const later = now.filter((one) => one.origin === earlier.origin);
    if (later.some((one) => one.size === earlier.size && !equal(one.root, earlier.root))) {
      throw new VerifyError("data-loss", `two checkpoints of ${printable(earlier.origin)} with ${earlier.size} entries contradict each other`);
    }
    if (later.length > 0 && later.every((one) => one.size < earlier.size)) {
      throw new VerifyError("data-loss", `recalls.json names a shorter log of ${printable(earlier.origin)} than was seen before`);
    }
  }
}

export async function parseRecalls(bytes: Uint8Array, root: TrustRoot, proofs: LogProofs = "wanted"): Promise<Recalls> {
  const keys = root.recallKeys;
  if (!keys) throw new VerifyError("denied", "the trust root lets nobody recall");
  const file = parseStrictJson(bytes, { bytes: mostBytes, depth: 8 });
  let log: RecallLog | null = null;
  if (file instanceof Map && file.has("log")) {
    log = readRecallLog(file.get("log")!);
    file.delete("log");
  }
  const envelope = readEnvelope(file, recallsPayload);
  await checkSigners(envelope, keys, keys.issuers.threshold, "recalls.json");
  const reader = ObjectReader.open(parseCanonicalJson(envelope.payload, { bytes: mostPayload, depth: 8 }), "recalls");
  reader.expect("apiVersion", "kiln/v1");
  reader.expect("kind", "Recalls");
  const version = reader.integer("version", 1, Number.MAX_SAFE_INTEGER);
  const issuedOn = reader.time("issuedOn");
  const expires = reader.time("expires");
  if (expires <= issuedOn) throw badMember(reader.path("expires"), "must be after issuedOn");
  const checkpoint = reader.string("checkpoint");
  const list = reader.array("entries");
  if (list.length > mostEntries) throw badMember(reader.path("entries"), "must hold at most 4096 recalls");
  const known = new Map<string, RecallEntry>();
  const entries: RecallEntry[] = [];
  for (const one of list) entries.push(await readEntry(one, keys, known, `recalls.entries[${entries.length}]`));
  reader.finish();
  const logs = await RootLogs.of(root);
  let proven: Proven | null = null;
  if (!logs.empty && log) {
    try {
      proven = await checkLogs(entries, issuedOn, checkpoint, log, logs, keys);
    } catch (error) {
      // The root may have ended or dropped the log's key since.
      if (!(error instanceof VerifyError && error.code === "denied" && proofs === "ifAny")) throw error;
    }
  }
  if (!logs.empty && !log && proofs === "wanted") {
    throw new VerifyError("data-loss", "recalls.json: nothing proves that the log holds it");
  }
  return {
    version, issuedOn, expires, entries, payload: envelope.payload,
    logged: proven !== null, seen: proven?.seen ?? [], cosigned: proven?.cosigned ?? 0,
  };
}

// Whether `now` begins with everything that `before` holds.
export function extendsRecalls(now: Recalls, before: Recalls): boolean {
  return now.version >= before.version && now.entries.length >= before.entries.length &&
    before.entries.every((one, i) => equal(one.envelope.payload, now.entries[i].envelope.payload));
}

// By its place in a log that the recall names, whatever it says of its time; or by what it says.
function inWindow(recall: Recall, place: StatementPlace): boolean {
  const timeless = recall.since === null && recall.until === null;
  if (place.logged) {
    for (const range of recall.logs) {
      if (range.origin !== place.logged.origin) continue;
      const inside = range.from <= place.logged.index && place.logged.index < range.to;
      if (inside || timeless) return inside;
    }
  }
  if (place.madeAt === null) return true;
  return (recall.since === null || place.madeAt >= recall.since) && (recall.until === null || place.madeAt < recall.until);
}

// The URL itself, whatever commit and path in it.
function isFrom(uri: string, url: string): boolean {
  return uri.startsWith(url) && (uri.length === url.length || uri[url.length] === "@" || uri[url.length] === "#");
}

function reaches(recall: Recall, place: StatementPlace): boolean {
  return recall.listed.has(place.payload.hex) || (recall.whole && inWindow(recall, place));
}

// The recall that condemns these bytes; null if none does.
export function condemning(recalls: Recalls, digest: Digest): RecallEntry | null {
  return recalls.entries.find((entry) => !entry.lifted && isContentRecall(entry.recall.kind) &&
    ((entry.recall.whole && entry.recall.what === digestText(digest)) || entry.recall.listed.has(digest.hex))) ?? null;
}

// The recall that touches a statement as one by this key, from these sources, about these devices.
export function touching(
  recalls: Recalls, place: StatementPlace, keyId: string, sources: readonly string[], devices: readonly string[],
): RecallEntry | null {
  const named = ({ kind, what }: Recall) =>
    kind === "key" ? what === keyId
      : kind === "device" ? devices.includes(what)
        : kind === "source-url" && sources.some((uri) => isFrom(uri, what));
  return recalls.entries.find((one) => !one.lifted && named(one.recall) && reaches(one.recall, place)) ?? null;
}

// The recall that takes from a statement what this worker did.
export function touchingWorker(recalls: Recalls, place: StatementPlace, worker: string, operator: string): RecallEntry | null {
  const named = ({ kind, what }: Recall) => (kind === "worker" && what === worker) || (kind === "operator" && what === operator);
  return recalls.entries.find((one) => !one.lifted && named(one.recall) && reaches(one.recall, place)) ?? null;
}

export function describeRecall({ recall }: RecallEntry): string {
  return `recalled on ${formatTime(recall.issuedOn)}: ${printable(recall.reason, 400)} (${recall.kind} ${printable(recall.what)})`;
}
