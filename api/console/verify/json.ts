// Strict JSON, as manifest/json/json.h: duplicate members, trailing bytes, fractions, large integers, names
// beyond ASCII, NUL and nesting beyond a limit are refused. Objects are maps: a member called "__proto__" is
// a member like any other.
import { textOf } from "./bytes";
import { VerifyError } from "./error";

export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = Map<string, Json>;

export interface JsonLimits {
  readonly bytes: number;
  readonly depth: number;
}

const defaults: JsonLimits = { bytes: 4 << 20, depth: 64 };
const largest = Number.MAX_SAFE_INTEGER;

function refuse(what: string): VerifyError {
  return new VerifyError("invalid", `JSON: ${what}`);
}

const escapes: Readonly<Record<string, string>> = {
  '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t",
};

class Parser {
  private at = 0;
  constructor(private readonly text: string, private readonly limits: JsonLimits) {}

  document(): Json {
    const value = this.value(0);
    this.skip();
    if (this.at !== this.text.length) throw this.syntax();
    return value;
  }

  private syntax(): VerifyError {
    return refuse(`syntax error at character ${this.at}`);
  }

  private skip(): void {
    while (this.at < this.text.length && " \t\n\r".includes(this.text[this.at])) ++this.at;
  }

  private take(letter: string): boolean {
    this.skip();
    if (this.text[this.at] !== letter) return false;
    ++this.at;
    return true;
  }

  private value(depth: number): Json {
    this.skip();
    const next = this.text[this.at];
    if (next === "{") return this.object(this.deeper(depth));
    if (next === "[") return this.array(this.deeper(depth));
    if (next === '"') return this.string();
    if (next === "-" || (next >= "0" && next <= "9")) return this.number();
    for (const [word, value] of [["true", true], ["false", false], ["null", null]] as const) {
      if (!this.text.startsWith(word, this.at)) continue;
      this.at += word.length;
      return value;
    }
    throw this.syntax();
  }

  private deeper(depth: number): number {
    if (depth >= this.limits.depth) throw refuse(`nesting deeper than ${this.limits.depth}`);
    return depth + 1;
  }

  private object(depth: number): JsonObject {
    const out: JsonObject = new Map();
    ++this.at;
    if (this.take("}")) return out;
    do {
      this.skip();
      if (this.text[this.at] !== '"') throw this.syntax();
      const name = this.string();
      if (/[^\x00-\x7f]/.test(name)) throw refuse("member name with a character outside ASCII");
      if (out.has(name)) throw refuse("duplicate member");
      if (!this.take(":")) throw this.syntax();
      out.set(name, this.value(depth));
    } while (this.take(","));
    if (!this.take("}")) throw this.syntax();
    return out;
  }

  private array(depth: number): Json[] {
    const out: Json[] = [];
    ++this.at;
    if (this.take("]")) return out;
    do {
      out.push(this.value(depth));
    } while (this.take(","));
    if (!this.take("]")) throw this.syntax();
    return out;
  }

  private number(): number {
    const match = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/.exec(this.text.slice(this.at, this.at + 400));
    if (!match) throw this.syntax();
    if (match[2] !== undefined || match[3] !== undefined) throw refuse("number with a fraction or exponent");
    const value = Number(match[0]);
    if (Math.abs(value) > largest) throw refuse("integer beyond 2^53-1");
    this.at += match[0].length;
    return value === 0 ? 0 : value;
  }

  private string(): string {
    const parts: string[] = [];
    ++this.at;
    for (;;) {
      let end = this.at;
      while (end < this.text.length && this.text[end] !== '"' && this.text[end] !== "\\" && this.text[end] >= " ") ++end;
      parts.push(this.text.slice(this.at, end));
      this.at = end;
      if (end >= this.text.length || this.text[end] < " ") throw this.syntax();
      ++this.at;
      if (this.text[end] === '"') return parts.join("");
      parts.push(this.escape());
    }
  }

  private escape(): string {
    const letter = this.text[this.at++];
    if (letter !== "u") {
      if (!Object.prototype.hasOwnProperty.call(escapes, letter ?? "")) throw this.syntax();
      return escapes[letter];
    }
    const first = this.unit();
    if (first >= 0xdc00 && first <= 0xdfff) throw this.syntax();
    if (first < 0xd800 || first > 0xdbff) return String.fromCharCode(first);
    if (this.text.slice(this.at, this.at + 2) !== "\\u") throw this.syntax();
    this.at += 2;
    const second = this.unit();
    if (second < 0xdc00 || second > 0xdfff) throw this.syntax();
    return String.fromCharCode(first, second);
  }

  private unit(): number {
    const digits = this.text.slice(this.at, this.at + 4);
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw this.syntax();
    this.at += 4;
    return parseInt(digits, 16);
  }
}

export function parseStrictJson(bytes: Uint8Array, limits: Partial<JsonLimits> = {}): Json {
  const all = { ...defaults, ...limits };
  if (bytes.length > all.bytes) throw refuse(`${bytes.length} bytes; at most ${all.bytes} are read`);
  const text = textOf(bytes);
  if (text.startsWith("\ufeff")) throw refuse("byte order mark at byte 0");
  if (text.includes("\0")) throw refuse("NUL");
  return new Parser(text, all).document();
}

// As parseStrictJson, and refuses what is not itself the canonical form.
export function parseCanonicalJson(bytes: Uint8Array, limits: Partial<JsonLimits> = {}): Json {
  const value = parseStrictJson(bytes, limits);
  if (canonicalJson(value) !== textOf(bytes)) throw refuse("not in canonical form");
  return value;
}

const spellings: Readonly<Record<string, string>> = {
  '"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r",
};

function quoted(text: string): string {
  return `"${text.replace(/["\\\x00-\x1f]/g, (letter) =>
    spellings[letter] ?? `\\u00${letter.charCodeAt(0).toString(16).padStart(2, "0")}`)}"`;
}

// The canonical form (RFC 8785 for these values): members in the order of their names, no white space.
export function canonicalJson(value: Json): string {
  if (value === null || typeof value === "boolean" || typeof value === "number") return String(value);
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const names = Array.from(value.keys()).sort();
  return `{${names.map((name) => `${quoted(name)}:${canonicalJson(value.get(name)!)}`).join(",")}}`;
}

// A JSON object of members; those that are undefined are left out.
export function jsonObject(members: Record<string, Json | undefined>): JsonObject {
  const out: JsonObject = new Map();
  for (const [name, value] of Object.entries(members)) if (value !== undefined) out.set(name, value);
  return out;
}
