// Whether something touched an artifact, from what is signed: never from the farm's index.
import { checkBytes, Digest, digestText, filesOfDirectory, parseStrictJson, Verdict, VerifyError } from "../verify/index";
import { Farm } from "./farm";
import { list, object, text } from "./json_view";

export interface Part { readonly name: string; readonly version: string; readonly path: string; readonly digest: string }
export interface Proof {
  readonly holds: boolean | null; // null: nothing signed can say it
  readonly why: string;
}

// The parts of a toolchain, from the tree that its digest names: its directory, the toolchain.json in that, each
// hashed here.
export async function partsOf(farm: Farm, tree: Digest): Promise<Part[]> {
  const directory = await farm.casBlob(tree);
  await checkBytes(directory, tree);
  const description = filesOfDirectory(directory).get("toolchain.json");
  if (!description) throw new VerifyError("invalid", "the toolchain's tree has no toolchain.json");
  const bytes = await farm.casBlob(description);
  await checkBytes(bytes, description);
  return list(object(parseStrictJson(bytes)).get("components")).map(object).map((one) => ({
    name: text(one.get("name")), version: text(one.get("version")), path: text(one.get("path")), digest: text(one.get("digest")) }));
}

// A digest, of which twelve digits do.
function isDigest(digest: string, asked: string): boolean {
  return /^sha256:[0-9a-f]{12,64}$/.test(asked) && digest.startsWith(asked);
}

// "git+URL@COMMIT#PATH" by all of it, its URL or its commit.
function isSource(uri: string, asked: string): boolean {
  const [, url, commit] = /^git\+(.+)@([0-9a-f]{40,64})#/.exec(uri) ?? [];
  return uri !== "" && (asked === uri || asked === url || asked === commit);
}

// As `kiln affected --component` takes it: a name, "name@version", or a digest of which twelve digits do.
function isPart(part: Part, asked: string): boolean {
  return asked === part.name || asked === `${part.name}@${part.version}` || isDigest(part.digest, asked);
}

function provenances(verdict: Verdict) {
  return verdict.statements.flatMap(({ said }) => (said.is === "provenance" ? [said.provenance] : []));
}

// Who built it, by the statements that count: "worker-1 (operator)".
export function buildersOf(verdict: Verdict): string[] {
  const who = provenances(verdict).flatMap((one) => one.builders.map(({ worker, operator }) => `${worker} (${operator})`));
  return Array.from(new Set(who));
}

function found(holds: boolean, why: string, else_: string): Proof {
  return { holds, why: holds ? why : else_ };
}

async function component(farm: Farm, verdict: Verdict, name: string, known: Map<string, Promise<Part[]>>): Promise<Proof> {
  for (const provenance of provenances(verdict)) {
    const tree = provenance.resolvedDependencies.find((one) => one.name === "toolchain")?.digest;
    if (!tree) continue;
    const reading = known.get(tree.hex) ?? partsOf(farm, tree);
    known.set(tree.hex, reading);
    const part = (await reading).find((one) => isPart(one, name));
    if (part) return { holds: true, why: `its signed provenance names toolchain ${digestText(tree).slice(0, 19)}, whose toolchain.json names ${part.name} ${part.version} at ${part.path}, ${part.digest.slice(0, 19)}` };
  }
  return { holds: false, why: "no toolchain in its signed provenance has such a part" };
}

// `known`: parts of toolchains that were read before.
export async function proofOf(farm: Farm, verdict: Verdict, kind: string, name: string, known: Map<string, Promise<Part[]>>): Promise<Proof> {
  const all = provenances(verdict);
  const inputs = all.flatMap((one) => one.resolvedDependencies);
  const nobody = "no statement that counts names it";
  switch (kind) {
    case "component": return component(farm, verdict, name, known);
    case "toolchain": {
      const label = all.some((one) => one.externalParameters.get("toolchainLabel") === name);
      return found(label || inputs.some((one) => one.name === "toolchain" && isDigest(digestText(one.digest), name)), "its signed provenance names this toolchain", nobody);
    }
    case "source": {
      const input = inputs.find((one) => one.name !== "toolchain" && (isDigest(digestText(one.digest), name) || isSource(one.uri, name)));
      const claimed = inputs.find((one) => isSource(one.annotations.get("claimedOrigin") ?? "", name));
      const model = all.some((one) => isSource(one.externalParameters.get("modelSource") ?? "", name));
      const why = input ? `its signed provenance names it as ${input.name}` : claimed ? `its signed provenance says that its submitter claims it as the origin of ${claimed.name}` : "its signed provenance names it as the model's source";
      return found(input !== undefined || claimed !== undefined || model, why, "no input in its signed provenance is it; a tuning record is named by an input of the compile alone");
    }
    case "worker": case "operator": {
      const who = verdict.statements.flatMap(({ said }): ReadonlyArray<{ worker: string; operator: string }> =>
        said.is === "provenance" ? said.provenance.builders : said.is === "check" ? [said.check] : said.is === "reproduction" ? [said.reproduction] : []);
      return found(who.some((one) => one[kind] === name), `a statement that counts is of this ${kind}`, nobody);
    }
    case "key": return found(verdict.statements.some(({ evidence }) => evidence.keyId === name), "it signed a statement that counts", nobody);
    case "target": return found(verdict.manifest?.spec.target === name, "its manifest names this target", "its manifest names another target");
    case "artifact": return found(isDigest(digestText(verdict.artifact), name), "it is this artifact", "it is another artifact");
    default: return { holds: null, why: "the farm's own record: no statement proves it" };
  }
}
