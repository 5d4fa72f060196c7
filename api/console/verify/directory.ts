// The files of a directory of a tree, read from its bytes: build.bazel.remote.execution.v2.Directory in protobuf's wire
// format (FileNode files = 1 with name = 1 and digest = 2; Digest has hash = 1 and size_bytes = 2). Other fields are
// passed over.
import { textOf } from "./bytes";
import { Digest, parseHex } from "./digest";
import { VerifyError } from "./error";

const mostFiles = 10000;

function damaged(): VerifyError {
  return new VerifyError("invalid", "the directory of the tree is damaged");
}

// One message: varints and bytes by the number of their field.
class Fields {
  private at = 0;
  constructor(private readonly bytes: Uint8Array) {}

  next(): { number: number; varint: bigint; bytes: Uint8Array } | null {
    if (this.at === this.bytes.length) return null;
    const tag = this.varint();
    const number = Number(tag >> BigInt(3));
    const type = Number(tag & BigInt(7));
    if (type === 0) return { number, varint: this.varint(), bytes: new Uint8Array() };
    const size = type === 2 ? Number(this.varint()) : type === 1 ? 8 : type === 5 ? 4 : -1;
    if (size < 0 || size > this.bytes.length - this.at) throw damaged();
    this.at += size;
    return { number, varint: BigInt(0), bytes: this.bytes.subarray(this.at - size, this.at) };
  }

  private varint(): bigint {
    let value = BigInt(0);
    for (let i = 0; i < 10; ++i) {
      if (this.at === this.bytes.length) throw damaged();
      const byte = this.bytes[this.at++];
      value |= BigInt(byte & 127) << BigInt(7 * i);
      if (byte < 128) return value;
    }
    throw damaged();
  }
}

function digestIn(bytes: Uint8Array): Digest {
  const fields = new Fields(bytes);
  let hash = "";
  let size = BigInt(0);
  for (let field = fields.next(); field; field = fields.next()) {
    if (field.number === 1) hash = textOf(field.bytes);
    if (field.number === 2) size = field.varint;
  }
  const digest = parseHex(hash, size);
  if (!digest) throw damaged();
  return digest;
}

// By name. The bytes were hashed by whoever calls.
export function filesOfDirectory(bytes: Uint8Array): Map<string, Digest> {
  const files = new Map<string, Digest>();
  const fields = new Fields(bytes);
  for (let field = fields.next(); field; field = fields.next()) {
    if (field.number !== 1) continue;
    const node = new Fields(field.bytes);
    let name = "";
    let digest: Digest | null = null;
    for (let member = node.next(); member; member = node.next()) {
      if (member.number === 1) name = textOf(member.bytes);
      if (member.number === 2) digest = digestIn(member.bytes);
    }
    if (!digest || name === "" || files.has(name) || files.size === mostFiles) throw damaged();
    files.set(name, digest);
  }
  return files;
}
