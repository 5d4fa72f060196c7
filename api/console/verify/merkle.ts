// The Merkle tree of a log: RFC 6962 section 2.1, the verifying algorithms of RFC 9162 section 2.1.3 and
// 2.1.4. As signing/log/merkle.h.
import { concat, equal } from "./bytes";
import { sha256 } from "./digest";
import { VerifyError } from "./error";

const zero = BigInt(0);
const one = BigInt(1);

export function emptyTreeHash(): Promise<Uint8Array> {
  return sha256(new Uint8Array());
}
export function leafHash(leaf: Uint8Array): Promise<Uint8Array> {
  return sha256(concat(new Uint8Array([0]), leaf));
}
export function nodeHash(left: Uint8Array, right: Uint8Array): Promise<Uint8Array> {
  return sha256(concat(new Uint8Array([1]), left, right));
}

function wrong(what: string): VerifyError {
  return new VerifyError("data-loss", what);
}
function isOdd(value: bigint): boolean {
  return (value & one) === one;
}

// "data-loss" unless the leaf with this hash is at `index` of the tree of `size` leaves with this root.
export async function verifyInclusion(
  index: bigint, size: bigint, leaf: Uint8Array, proof: readonly Uint8Array[], root: Uint8Array,
): Promise<void> {
  if (index >= size) throw wrong("inclusion proof: the leaf is behind the end of the tree");
  let at = index;
  let last = size - one;
  let hash = leaf;
  for (const sibling of proof) {
    if (last === zero) throw wrong("inclusion proof: too many hashes");
    if (isOdd(at) || at === last) {
      hash = await nodeHash(sibling, hash);
      for (; !isOdd(at) && at !== zero; at >>= one) last >>= one;
    } else {
      hash = await nodeHash(hash, sibling);
    }
    at >>= one;
    last >>= one;
  }
  if (last !== zero) throw wrong("inclusion proof: hashes are missing");
  if (!equal(hash, root)) throw wrong("inclusion proof: the leaf is not at this place of this tree");
}

// "data-loss" unless the tree of `to` leaves begins with that of `from`.
export async function verifyConsistency(
  from: bigint, to: bigint, fromRoot: Uint8Array, toRoot: Uint8Array, proof: readonly Uint8Array[],
): Promise<void> {
  if (from > to) throw wrong("consistency proof: the tree has become smaller");
  if (from === zero || from === to) {
    if (proof.length > 0) throw wrong("consistency proof: too many hashes");
    if (from === zero && !equal(fromRoot, await emptyTreeHash())) {
      throw wrong("consistency proof: an empty tree has another root");
    }
    if (from === to && !equal(fromRoot, toRoot)) throw wrong("consistency proof: two different trees of one size");
    return;
  }
  const whole = (from & (from - one)) === zero; // then it is a node of the later tree, whose hash is known
  if (!whole && proof.length === 0) throw wrong("consistency proof: hashes are missing");
  let at = from - one;
  let last = to - one;
  for (; isOdd(at); at >>= one) last >>= one;
  let before = whole ? fromRoot : proof[0];
  let after = before;
  for (const hash of whole ? proof : proof.slice(1)) {
    if (last === zero) throw wrong("consistency proof: too many hashes");
    if (isOdd(at) || at === last) {
      before = await nodeHash(hash, before);
      after = await nodeHash(hash, after);
      for (; !isOdd(at) && at !== zero; at >>= one) last >>= one;
    } else {
      after = await nodeHash(after, hash);
    }
    at >>= one;
    last >>= one;
  }
  if (last !== zero) throw wrong("consistency proof: hashes are missing");
  if (!equal(before, fromRoot) || !equal(after, toRoot)) {
    throw wrong("consistency proof: the later tree does not begin with the earlier one");
  }
}
