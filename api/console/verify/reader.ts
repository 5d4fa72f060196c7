// Takes a JSON object apart member by member, as manifest/json/reader.h: every error names the member, and
// finish() refuses those that nobody asked for.
import { fromBase64, printable } from "./bytes";
import { parseTime } from "./clock";
import { Digest, parseDigest } from "./digest";
import { badMember } from "./error";
import { Json, JsonObject } from "./json";

const largest64 = (BigInt(1) << BigInt(64)) - BigInt(1);

// A decimal number below 2^64 without sign and leading zeros; null for anything else.
export function parseDecimal(text: string): bigint | null {
  if (!/^(0|[1-9][0-9]{0,19})$/.test(text)) return null;
  const value = BigInt(text);
  return value <= largest64 ? value : null;
}

// A finite fraction of 0 or more, as C's from_chars reads it; null for anything else.
function parseFraction(text: string): number | null {
  if (!/^-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$/.test(text)) return null;
  const value = Number(text);
  return Number.isFinite(value) && value >= 0 ? value : null;
}

export class ObjectReader {
  private readonly seen = new Set<string>();
  private constructor(private readonly json: JsonObject, private readonly place: string) {}

  static open(json: Json, place: string): ObjectReader {
    if (!(json instanceof Map)) throw badMember(place, "must be an object");
    return new ObjectReader(json, place);
  }

  has(name: string): boolean {
    return this.json.has(name);
  }
  path(name: string): string {
    return this.place === "" ? printable(name) : `${this.place}.${printable(name)}`;
  }

  any(name: string): Json {
    const value = this.json.get(name);
    if (value === undefined) throw badMember(this.path(name), "missing");
    this.seen.add(name);
    return value;
  }
  array(name: string): Json[] {
    const value = this.any(name);
    if (!Array.isArray(value)) throw badMember(this.path(name), "must be an array");
    return value;
  }
  object(name: string): ObjectReader {
    return ObjectReader.open(this.any(name), this.path(name));
  }
  string(name: string): string {
    const value = this.any(name);
    if (typeof value !== "string") throw badMember(this.path(name), "must be a string");
    return value;
  }
  boolean(name: string): boolean {
    const value = this.any(name);
    if (typeof value !== "boolean") throw badMember(this.path(name), "must be true or false");
    return value;
  }
  integer(name: string, low: number, high: number): number {
    const value = this.any(name);
    if (typeof value !== "number" || value < low || value > high) {
      throw badMember(this.path(name), `must be an integer from ${low} to ${high}`);
    }
    return value;
  }
  // A size or count: a decimal string, or an integer.
  unsigned64(name: string): bigint {
    const value = this.any(name);
    const number = typeof value === "string" ? parseDecimal(value)
      : typeof value === "number" && value >= 0 ? BigInt(value) : null;
    if (number === null) throw badMember(this.path(name), "must be a decimal string or an integer not below zero");
    return number;
  }
  decimal(name: string): number {
    const value = parseFraction(this.string(name));
    if (value === null) throw badMember(this.path(name), "must be a decimal number as a string, 0 or more");
    return value;
  }
  decimals(name: string): number[] {
    return this.strings(name).map((text, i) => {
      const value = parseFraction(text);
      if (value === null) throw badMember(`${this.path(name)}[${i}]`, "must be a decimal number as a string, 0 or more");
      return value;
    });
  }
  strings(name: string): string[] {
    return this.array(name).map((value, i) => {
      if (typeof value !== "string") throw badMember(`${this.path(name)}[${i}]`, "must be a string");
      return value;
    });
  }
  // An object whose members are all strings.
  stringMap(name: string): Map<string, string> {
    const value = this.any(name);
    if (!(value instanceof Map)) throw badMember(this.path(name), "must be an object");
    const out = new Map<string, string>();
    for (const [member, text] of value) {
      if (typeof text !== "string") throw badMember(`${this.path(name)}.${printable(member)}`, "must be a string");
      out.set(member, text);
    }
    return out;
  }
  // Member `name` ("sha256:<hex>") with its size in member "size".
  digest(name = "digest"): Digest {
    const text = this.string(name);
    const size = this.unsigned64("size");
    const digest = parseDigest(text, size);
    if (!digest) {
      throw badMember(this.path(name), text.startsWith("sha256:")
        ? "not a SHA-256 digest (64 lowercase hex digits)"
        : 'must be "sha256:" and 64 lowercase hex digits');
    }
    return digest;
  }
  // Member `name` is an object of nothing but a digest and a size.
  digestMember(name: string): Digest {
    const reader = this.object(name);
    const digest = reader.digest();
    reader.finish();
    return digest;
  }
  // Seconds since 1970.
  time(name: string): number {
    const time = parseTime(this.string(name));
    if (time === null) throw badMember(this.path(name), "not a time of the form 2026-11-20T05:23:32Z");
    return time;
  }
  base64(name: string, what = "must be base64 with padding"): Uint8Array {
    const bytes = fromBase64(this.string(name));
    if (!bytes) throw badMember(this.path(name), what);
    return bytes;
  }
  expect(name: string, expected: string): void {
    if (this.string(name) !== expected) throw badMember(this.path(name), `must be "${expected}"`);
  }
  finish(): void {
    for (const name of Array.from(this.json.keys()).sort()) {
      if (!this.seen.has(name)) throw badMember(this.path(name), "unknown member");
    }
  }
}
