// Sigstore bundles v0.3 with a public key, and the entry of a log in them. As signing/bundle and
// signing/log/{leaf,log_proof}.h.
import { equal, fromBase64, fromHex, textOf, toBase64, utf8 } from "./bytes";
import { digestOf } from "./digest";
import { Envelope, inTotoPayload, preAuthenticationEncoding, readEnvelope } from "./dsse";
import { badMember, VerifyError } from "./error";
import { canonicalJson, Json, jsonObject, parseStrictJson } from "./json";
import { NoteKeyKind, PublicKey, VerifierKey } from "./keys";
import { leafHash, verifyInclusion } from "./merkle";
import { Cosigned, openCheckpoint, parseNote, readCosignatures } from "./note";
import { ObjectReader, parseDecimal } from "./reader";

export const bundleMediaType = "application/vnd.dev.sigstore.bundle.v0.3+json";
export const mostBundles = 256;
export const mostBundleBytes = 12 << 20;
export const mostBundlesBytes = 64 << 20;

export interface LogEntry {
  readonly logId: Uint8Array;
  readonly index: bigint;
  readonly treeSize: bigint;
  readonly root: Uint8Array;
  readonly proof: readonly Uint8Array[];
  readonly checkpoint: string;
  readonly leaf: Uint8Array;
}
export interface Bundle {
  readonly keyId: string; // says which key to try, proves nothing
  readonly envelope: Envelope;
  readonly logEntry: LogEntry | null;
}

const mostProof = 64;
const mostNote = 64 << 10;
const mostValues = 4096;
const largestIndex = (BigInt(1) << BigInt(63)) - BigInt(1);

function readNumber(reader: ObjectReader, name: string): bigint {
  const number = parseDecimal(reader.string(name));
  if (number === null || number > largestIndex) throw badMember(reader.path(name), "must be a decimal int64");
  return number;
}

function toHash(bytes: Uint8Array | null, place: string): Uint8Array {
  if (!bytes) throw badMember(place, "must be base64 with padding");
  if (bytes.length !== 32) throw badMember(place, "must be a SHA-256");
  return bytes;
}

function readLogEntry(json: Json, place: string): LogEntry {
  const reader = ObjectReader.open(json, place);
  const index = readNumber(reader, "logIndex");
  const id = reader.object("logId");
  const logId = id.base64("keyId");
  if (logId.length !== 32) throw badMember(id.path("keyId"), "must have 32 bytes");
  id.finish();
  const kind = reader.object("kindVersion");
  kind.expect("kind", "hashedrekord");
  kind.expect("version", "0.0.2");
  kind.finish();
  const proof = reader.object("inclusionProof");
  if (readNumber(proof, "logIndex") !== index) throw badMember(proof.path("logIndex"), "is not the entry's logIndex");
  const treeSize = readNumber(proof, "treeSize");
  const root = toHash(fromBase64(proof.string("rootHash")), proof.path("rootHash"));
  const hashes = proof.has("hashes") ? proof.strings("hashes") : []; // an empty list may be left out
  if (hashes.length > mostProof) throw badMember(proof.path("hashes"), "must be at most 64 hashes");
  const path = hashes.map((text) => toHash(fromBase64(text), proof.path("hashes")));
  const note = proof.object("checkpoint");
  const checkpoint = note.string("envelope");
  if (utf8(checkpoint).length > mostNote) throw badMember(note.path("envelope"), "must be at most 64 KiB");
  note.finish();
  proof.finish();
  const leaf = reader.base64("canonicalizedBody");
  if (leaf.length > mostNote) throw badMember(reader.path("canonicalizedBody"), "must be at most 64 KiB");
  reader.finish();
  return { logId, index, treeSize, root, proof: path, checkpoint, leaf };
}

export function parseBundle(bytes: Uint8Array): Bundle {
  if (bytes.reduce((n, byte) => n + (byte === 0x5b || byte === 0x7b || byte === 0x2c ? 1 : 0), 0) > mostValues) {
    throw new VerifyError("invalid", `bundle: holds more than ${mostValues} values`);
  }
  const reader = ObjectReader.open(parseStrictJson(bytes, { bytes: mostBundleBytes, depth: 8 }), "bundle");
  reader.expect("mediaType", bundleMediaType);
  const material = reader.object("verificationMaterial");
  const key = material.object("publicKey");
  const keyId = key.string("hint");
  key.finish();
  const entries = material.has("tlogEntries") ? material.array("tlogEntries") : [];
  if (entries.length > 1) throw badMember(material.path("tlogEntries"), "must hold at most one entry");
  const logEntry = entries.length === 0 ? null : readLogEntry(entries[0], material.path("tlogEntries[0]"));
  material.finish();
  const envelope = readEnvelope(reader.any("dsseEnvelope"), inTotoPayload);
  if (envelope.signatures.length !== 1) {
    throw badMember("bundle.dsseEnvelope.signatures", "must hold exactly one signature");
  }
  reader.finish();
  return { keyId, envelope, logEntry };
}

// The leaf of a signature in the log: Rekor's hashedrekord 0.0.2 in canonical JSON.
export async function leafOf(envelope: Envelope, signature: Uint8Array, key: PublicKey): Promise<Uint8Array> {
  const message = await digestOf(preAuthenticationEncoding(envelope.payloadType, envelope.payload));
  return utf8(canonicalJson(jsonObject({
    apiVersion: "0.0.2",
    kind: "hashedrekord",
    spec: jsonObject({
      hashedRekordV002: jsonObject({
        data: jsonObject({ algorithm: "SHA2_256", digest: toBase64(fromHex(message.hex)) }),
        signature: jsonObject({
          content: toBase64(signature),
          verifier: jsonObject({
            keyDetails: "PKIX_ECDSA_P256_SHA_256",
            publicKey: jsonObject({ rawBytes: toBase64(key.der) }),
          }),
        }),
      }),
    }),
  })));
}

export interface LogProof {
  readonly logId: Uint8Array;
  readonly origin: string;
  readonly index: bigint;
  readonly cosigned: readonly Cosigned[]; // by trusted witnesses, the earliest first
}

// What the bundle's entry proves of its signature by `key`, which the caller has verified. "not-found" without
// an entry, "denied" for one of a log that is not among `logs`.
export async function checkLogEntry(
  bundle: Bundle, key: PublicKey, logs: readonly VerifierKey[], witnesses: readonly VerifierKey[],
): Promise<LogProof> {
  const entry = bundle.logEntry;
  if (!entry) throw new VerifyError("not-found", "the bundle has no entry of a log");
  if (!equal(entry.leaf, await leafOf(bundle.envelope, bundle.envelope.signatures[0], key))) {
    throw new VerifyError("data-loss", "log entry: it is about another signature than the bundle's");
  }
  const log = logs.find((one) => one.kind === NoteKeyKind.Log && equal(one.id, entry.logId));
  if (!log) throw new VerifyError("denied", "log entry: of a log that the trust root does not list");
  const note = parseNote(entry.checkpoint);
  const checkpoint = await openCheckpoint(note, log);
  if (checkpoint.size !== entry.treeSize || !equal(checkpoint.root, entry.root)) {
    throw new VerifyError("data-loss", "log entry: its proof is for another tree than its checkpoint's");
  }
  await verifyInclusion(entry.index, entry.treeSize, await leafHash(entry.leaf), entry.proof, entry.root);
  return { logId: entry.logId, origin: log.name, index: entry.index, cosigned: await readCosignatures(note, witnesses) };
}

// The payload of a bundle as text, for people; nothing is verified.
export function payloadText(bundle: Bundle): string {
  return textOf(bundle.envelope.payload);
}
