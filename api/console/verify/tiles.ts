// Whether a log's tiles hold what its checkpoint says, and an entry in them. C2SP tlog-tiles, two levels of it: logs
// of up to 65,536 entries. As signing/log/tiles.h.
import { equal } from "./bytes";
import { VerifyError } from "./error";
import { emptyTreeHash, nodeHash } from "./merkle";
import { Checkpoint } from "./note";

const width = 256;
export const mostEntries = width * width;

// The bytes of a tile: "tile/0/000", "tile/0/001.p/2".
export type ReadTile = (path: string) => Promise<Uint8Array>;

function tilePath(level: number, index: number, hashes: number): string {
  const name = String(index).padStart(3, "0"); // below 1000 there is no further folder
  return `tile/${level}/${name}${hashes === width ? "" : `.p/${hashes}`}`;
}

async function readTile(read: ReadTile, level: number, index: number, hashes: number): Promise<Uint8Array[]> {
  if (hashes === 0) return [];
  const bytes = await read(tilePath(level, index, hashes));
  if (bytes.length !== hashes * 32) throw new VerifyError("data-loss", `a tile has ${bytes.length} bytes instead of ${hashes * 32}`);
  return Array.from({ length: hashes }, (_, i) => bytes.slice(32 * i, 32 * i + 32));
}

// Adds a node of this height to the complete subtrees so far, the widest first.
async function add(full: Array<{ height: number; hash: Uint8Array }>, height: number, hash: Uint8Array): Promise<void> {
  let last = { height, hash };
  for (let before = full[full.length - 1]; before && before.height === last.height; before = full[full.length - 1]) {
    full.pop();
    last = { height: last.height + 1, hash: await nodeHash(before.hash, last.hash) };
  }
  full.push(last);
}

async function rootOf(full: ReadonlyArray<{ height: number; hash: Uint8Array }>): Promise<Uint8Array> {
  if (full.length === 0) return emptyTreeHash();
  let hash = full[full.length - 1].hash;
  for (let i = full.length - 2; i >= 0; --i) hash = await nodeHash(full[i].hash, hash);
  return hash;
}

// The tree behind a checkpoint, read from tiles that nobody vouches for.
export class TileTree {
  private constructor(
    private readonly read: ReadTile, private readonly size: number, private readonly nodes: readonly Uint8Array[],
    private readonly rest: readonly Uint8Array[],
  ) {}

  // "data-loss" unless the tiles lead to the checkpoint's root.
  static async open(checkpoint: Checkpoint, read: ReadTile): Promise<TileTree> {
    if (checkpoint.size > BigInt(mostEntries)) throw new VerifyError("invalid", `logs beyond ${mostEntries} entries are not recomputed here`);
    const size = Number(checkpoint.size);
    const nodes = await readTile(read, 1, 0, Math.floor(size / width));
    const rest = await readTile(read, 0, nodes.length, size % width);
    const full: Array<{ height: number; hash: Uint8Array }> = [];
    for (const node of nodes) await add(full, 8, node);
    for (const leaf of rest) await add(full, 0, leaf);
    if (!equal(await rootOf(full), checkpoint.root)) {
      throw new VerifyError("data-loss", "the log's tiles do not lead to the root that its checkpoint signs");
    }
    return new TileTree(read, size, nodes, rest);
  }

  // The hash of the leaf at this place. "data-loss" unless it leads to the checkpoint's root.
  async leaf(place: number): Promise<Uint8Array> {
    if (place >= this.size) throw new VerifyError("data-loss", "is behind the end of the log");
    const tile = Math.floor(place / width);
    if (tile === this.nodes.length) return this.rest[place % width];
    const leaves = await this.tile(tile);
    return leaves[place % width];
  }

  // The root of the first `size` entries, by which an earlier checkpoint is seen to be a beginning of this log.
  async rootAt(size: number): Promise<Uint8Array> {
    if (!Number.isSafeInteger(size) || size < 0 || size > this.size) throw new VerifyError("data-loss", "is behind the end of the log");
    const whole = Math.floor(size / width);
    const rest = size % width === 0 ? [] : whole === this.nodes.length ? this.rest : await this.tile(whole);
    const full: Array<{ height: number; hash: Uint8Array }> = [];
    for (const node of this.nodes.slice(0, whole)) await add(full, 8, node);
    for (const leaf of rest.slice(0, size % width)) await add(full, 0, leaf);
    return rootOf(full);
  }

  private readonly checked = new Map<number, Promise<Uint8Array[]>>();
  private tile(index: number): Promise<Uint8Array[]> {
    const known = this.checked.get(index);
    if (known) return known;
    const reading = (async () => {
      const leaves = await readTile(this.read, 0, index, width);
      const full: Array<{ height: number; hash: Uint8Array }> = [];
      for (const leaf of leaves) await add(full, 0, leaf);
      if (!equal(await rootOf(full), this.nodes[index])) throw new VerifyError("data-loss", `tile ${index} is not the one that the log signed`);
      return leaves;
    })();
    this.checked.set(index, reading);
    return reading;
  }
}
