// One recall, and the proof that a log holds it. As signing/recall/{recall,recall_log}.h.
import { fromBase64, utf8 } from "./bytes";
import { leafOf } from "./bundle";
import { Digest, parseDigest } from "./digest";
import { Envelope, signersOf } from "./dsse";
import { badMember, VerifyError } from "./error";
import { Json } from "./json";
import { PublicKey } from "./keys";
import { leafHash, verifyInclusion } from "./merkle";
import { Checkpoint } from "./note";
import { ObjectReader } from "./reader";

export const recallPayload = "application/vnd.kiln.recall.v1+json";

const contentKinds = ["artifact", "toolchain", "component", "source", "record"] as const;
const evidenceKinds = ["worker", "operator", "key", "source-url", "device"] as const;
export type RecallKind = (typeof contentKinds)[number] | (typeof evidenceKinds)[number] | "lift";

export interface LogRange { readonly origin: string; readonly from: bigint; readonly to: bigint }
export interface Recall {
  readonly kind: RecallKind;
  readonly what: string;
  readonly reason: string;
  readonly issuedOn: number;
  readonly since: number | null; // of evidence: from when to when it was bad
  readonly until: number | null;
  readonly logs: readonly LogRange[];
  readonly listed: ReadonlySet<string>; // hexadecimal digests
  readonly whole: boolean;
}

const mostListed = 50000;

export function isContentRecall(kind: RecallKind): boolean {
  return (contentKinds as readonly string[]).includes(kind);
}

function readKind(reader: ObjectReader): RecallKind {
  const name = reader.string("recalls");
  const kind = [...contentKinds, ...evidenceKinds, "lift" as const].find((one) => one === name);
  if (kind === undefined) throw badMember(reader.path("recalls"), "is no kind of recall");
  return kind;
}

function readListed(reader: ObjectReader): Set<string> {
  const list = reader.strings("listed");
  if (list.length > mostListed) throw badMember(reader.path("listed"), "must hold at most 50000 digests");
  let last = "";
  const out = new Set<string>();
  for (const text of list) {
    const digest = parseDigest(text);
    if (!digest) throw badMember(reader.path("listed"), 'must hold "sha256:" digests');
    if (digest.hex <= last) throw badMember(reader.path("listed"), "must be sorted, each once");
    last = digest.hex;
    out.add(last);
  }
  return out;
}

function readLogs(reader: ObjectReader): LogRange[] {
  return reader.array("logs").map((element) => {
    const one = ObjectReader.open(element, reader.path("logs"));
    const range = { origin: one.string("origin"), from: one.unsigned64("from"), to: one.unsigned64("to") };
    if (range.to <= range.from) throw badMember(one.path("to"), "must be after from");
    one.finish();
    return range;
  });
}

export function readRecall(json: Json): Recall {
  const reader = ObjectReader.open(json, "recall");
  reader.expect("apiVersion", "kiln/v1");
  reader.expect("kind", "Recall");
  const kind = readKind(reader);
  const what = reader.string("what");
  const bytes = isContentRecall(kind) || kind === "lift";
  if (bytes ? !parseDigest(what) : what === "" || utf8(what).length > 2048) {
    throw badMember(reader.path("what"), bytes ? 'must be "sha256:<hex>"' : "must have 1 to 2048 bytes");
  }
  const reason = reader.string("reason");
  if (reason === "" || utf8(reason).length > 1000) throw badMember(reader.path("reason"), "must have 1 to 1000 bytes");
  const issuedOn = reader.time("issuedOn");
  let whole = false;
  let listed = new Set<string>();
  let since: number | null = null;
  let until: number | null = null;
  let logs: LogRange[] = [];
  if (kind !== "lift") {
    whole = reader.boolean("whole");
    listed = readListed(reader);
    if (!whole && listed.size === 0) {
      throw badMember(reader.path("listed"), "lists nothing, and the recall is not whole: it recalls nothing");
    }
    if (!isContentRecall(kind)) {
      since = reader.has("since") ? reader.time("since") : null;
      until = reader.has("until") ? reader.time("until") : null;
      if (since !== null && until !== null && until <= since) throw badMember(reader.path("until"), "must be after since");
      logs = reader.has("logs") ? readLogs(reader) : [];
    }
  }
  reader.finish();
  return { kind, what, reason, issuedOn, since, until, logs, listed, whole };
}

export interface RecallLogEntry {
  readonly index: bigint;
  readonly keyId: string;
  readonly signature: Uint8Array;
  readonly proof: readonly Uint8Array[];
}
export interface RecallLog {
  readonly checkpoint: string;
  readonly entries: readonly RecallLogEntry[];
}

function readEntry(json: Json, place: string): RecallLogEntry {
  const reader = ObjectReader.open(json, place);
  const index = reader.unsigned64("index");
  const keyId = reader.string("keyid");
  const signature = reader.base64("sig");
  if (signature.length > 256) throw badMember(reader.path("sig"), "is no ECDSA signature");
  const hashes = reader.strings("hashes");
  if (hashes.length > 64) throw badMember(reader.path("hashes"), "must be at most 64 hashes");
  const proof = hashes.map((text) => {
    const hash = fromBase64(text);
    if (!hash) throw badMember(reader.path("hashes"), "must be base64 with padding");
    if (hash.length !== 32) throw badMember(reader.path("hashes"), "must be SHA-256 hashes");
    return hash;
  });
  reader.finish();
  return { index, keyId, signature, proof };
}

export function readRecallLog(json: Json): RecallLog {
  const reader = ObjectReader.open(json, "recalls.log");
  const checkpoint = reader.string("checkpoint");
  if (utf8(checkpoint).length > 64 << 10) throw badMember(reader.path("checkpoint"), "must be at most 64 KiB");
  const entries = reader.array("entries").map((one, i) => readEntry(one, `${reader.path("entries")}[${i}]`));
  reader.finish();
  return { checkpoint, entries };
}

// "data-loss" unless the tree holds a leaf of this recall, signed by one of `keys`, where `entry` says.
export async function checkRecallLogged(
  recall: Envelope, entry: RecallLogEntry, tree: Checkpoint, keys: readonly PublicKey[],
): Promise<void> {
  const one = { ...recall, signatures: [entry.signature] };
  const [signer] = await signersOf(one, keys);
  const key = keys.find((candidate) => candidate.id === signer);
  if (!key) throw new VerifyError("data-loss", "the recall is signed by none of the recall keys");
  if (signer !== entry.keyId) throw new VerifyError("data-loss", "its leaf is signed by another key than it says");
  await verifyInclusion(entry.index, tree.size, await leafHash(await leafOf(one, entry.signature, key)), entry.proof, tree.root);
}

// What a lift names: the digest of the payload.
export interface RecallEntry {
  readonly envelope: Envelope;
  readonly recall: Recall;
  readonly id: Digest;
  lifted: boolean;
}
