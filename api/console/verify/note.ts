// Signed notes (C2SP signed-note), checkpoints (tlog-checkpoint) and the cosignatures of witnesses
// (tlog-cosignature, cosignature/v1). As signing/log/{note,checkpoint,cosignature}.h.
import { byteOrder, concat, equal, fromBase64, textOf, utf8 } from "./bytes";
import { VerifyError } from "./error";
import { NoteKeyKind, VerifierKey } from "./keys";
import { emptyTreeHash } from "./merkle";
import { parseDecimal } from "./reader";

export interface NoteSignature {
  readonly name: string;
  readonly hint: Uint8Array; // 4 bytes; say which key to try
  readonly signature: Uint8Array;
}
export interface Note {
  readonly text: string; // ends with a newline
  readonly signatures: readonly NoteSignature[];
}
export interface Checkpoint {
  readonly origin: string;
  readonly size: bigint;
  readonly root: Uint8Array;
}
export interface Cosigned {
  readonly witness: string;
  readonly time: number; // seconds
}

const mostBytes = 64 << 10;
const mostSignatures = 64;
const dash = "\u2014 ";
const lastSecond = BigInt(253402300799); // of the year 9999

function malformed(what: string): VerifyError {
  return new VerifyError("invalid", `signed note: ${what}`);
}

// 1 to 256 bytes without spaces, control characters and '+'. Whole blocks of Unicode's spaces are refused:
// names are host names.
export function isKeyName(name: string): boolean {
  const size = utf8(name).length;
  return size > 0 && size <= 256 && !/[\x00-\x20\x7f+\x85\xa0\u1680\u2000-\u203f\u205f\u3000]/.test(name);
}

function parseSignature(line: string): NoteSignature {
  if (!line.startsWith(dash)) throw malformed("a signature line must begin with an em dash and a space");
  const rest = line.slice(dash.length);
  const space = rest.indexOf(" ");
  if (space < 0) throw malformed("a signature line must be a name and base64");
  const name = rest.slice(0, space);
  if (!isKeyName(name)) throw malformed("the name of a key is not well formed");
  const bytes = fromBase64(rest.slice(space + 1));
  if (!bytes) throw malformed("a signature is not base64 with padding");
  if (bytes.length <= 4) throw malformed("a signature is too short");
  return { name, hint: bytes.slice(0, 4), signature: bytes.slice(4) };
}

export function parseNote(text: string): Note {
  if (utf8(text).length > mostBytes) throw malformed("longer than 64 KiB");
  if (/[\x00-\x09\x0b-\x1f]/.test(text)) throw malformed("holds a control character");
  const end = text.lastIndexOf("\n\n");
  if (end < 0) throw malformed("no empty line before the signatures");
  const body = text.slice(0, end + 1);
  if (body === "\n") throw malformed("no text");
  const rest = text.slice(end + 2);
  if (!rest.endsWith("\n")) throw malformed("must end with a signature line");
  const lines = rest.slice(0, -1).split("\n");
  const signatures = lines.map(parseSignature);
  if (signatures.length > mostSignatures) throw malformed("more than 64 signatures");
  return { text: body, signatures };
}

export function parseNoteBytes(bytes: Uint8Array): Note {
  if (bytes.length > mostBytes) throw malformed("longer than 64 KiB");
  return parseNote(textOf(bytes));
}

export async function parseCheckpoint(text: string): Promise<Checkpoint> {
  const bad = (what: string) => new VerifyError("invalid", `checkpoint: ${what}`);
  const lines = text.split("\n");
  if (lines.pop() !== "") throw bad("holds an empty line");
  const [origin, number, hash] = lines;
  if (origin === undefined || !isKeyName(origin)) throw bad("its origin is no name of a key");
  const size = parseDecimal(number ?? "");
  if (size === null) throw bad("its size is not a decimal number");
  const root = fromBase64(hash ?? "");
  if (!root || root.length !== 32) throw bad("its root is not a hash in base64");
  if (size === BigInt(0) && !equal(root, await emptyTreeHash())) throw bad("an empty tree has another root");
  if (lines.slice(3).some((line) => line === "")) throw bad("holds an empty line");
  return { origin, size, root };
}

async function verifyNote(note: Note, key: VerifierKey): Promise<void> {
  let signed = false;
  for (const one of note.signatures) {
    if (one.name !== key.name || !key.hints(one.hint)) continue;
    if (!(await key.verifies(utf8(note.text), one.signature))) {
      throw new VerifyError("data-loss", `the signature was not made by the Ed25519 key of ${key.name}`);
    }
    signed = true;
  }
  if (!signed) throw new VerifyError("data-loss", `signed note: not signed by ${key.name}`);
}

// The checkpoint in a note that this log signed.
export async function openCheckpoint(note: Note, log: VerifierKey): Promise<Checkpoint> {
  await verifyNote(note, log);
  const checkpoint = await parseCheckpoint(note.text);
  if (checkpoint.origin !== log.name) {
    throw new VerifyError("invalid", "checkpoint: its origin is not the name of the log");
  }
  return checkpoint;
}

async function readOne(note: Note, signature: Uint8Array, witness: VerifierKey): Promise<Cosigned> {
  const wrong = (what: string) => new VerifyError("data-loss", `cosignature of ${witness.name}: ${what}`);
  if (signature.length !== 72) throw wrong("must have 72 bytes");
  const seconds = new DataView(signature.buffer, signature.byteOffset, 8).getBigUint64(0);
  if (seconds > lastSecond) throw wrong("its time is behind the year 9999");
  const message = concat(utf8(`cosignature/v1\ntime ${seconds}\n`), utf8(note.text));
  if (!(await witness.verifies(message, signature.slice(8)))) throw wrong("was not made by its key");
  return { witness: witness.name, time: Number(seconds) };
}

// The cosignatures of those witnesses that signed, one each, the earliest first. "data-loss" if one bears the
// name and hint of a witness and was not made by it.
export async function readCosignatures(note: Note, witnesses: readonly VerifierKey[]): Promise<Cosigned[]> {
  const out: Cosigned[] = [];
  for (const witness of witnesses) {
    if (witness.kind !== NoteKeyKind.Witness) continue;
    let first: Cosigned | null = null;
    for (const one of note.signatures) {
      if (one.name !== witness.name || !witness.hints(one.hint)) continue;
      const read = await readOne(note, one.signature, witness);
      if (!first || read.time < first.time) first = read;
    }
    if (first && !out.some((one) => one.witness === witness.name)) out.push(first);
  }
  return out.sort((a, b) => a.time - b.time || byteOrder(a.witness, b.witness));
}
