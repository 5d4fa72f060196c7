// What the compile statement says.
import { Digest } from "./digest";
import { jsonObject, JsonObject } from "./json";
import { Manifest, Tensor } from "./manifest";
import { digestJson } from "./spec";

// The predicate of the compile statement, which follows from the Manifest. As
// manifest/statement/compile_summary.h.
export function compileSummary(manifest: Manifest, blob: Digest): JsonObject {
  const tensors = (list: readonly Tensor[]) => list.map((one) =>
    jsonObject({ name: one.name, dtype: one.dtype, shape: one.shape.map(String) }));
  const bytes = manifest.weights.reduce((sum, one) => sum + one.digest.size, BigInt(0));
  const { spec } = manifest;
  return jsonObject({
    manifest: digestJson(blob),
    target: spec.target,
    toolchain: digestJson(spec.toolchain),
    files: spec.files.map((file) => digestJson(file.digest).set("path", file.path)),
    numerics: spec.numerics,
    programAbi: String(manifest.abi),
    program: digestJson(manifest.program.digest),
    weights: jsonObject({ files: String(manifest.weights.length), bytes: String(bytes) }),
    inputs: tensors(manifest.inputs),
    outputs: tensors(manifest.outputs),
    profiles: manifest.profiles.map((one) =>
      jsonObject({ name: one.name, arenaBytes: String(one.arenaBytes), scratchBytes: String(one.scratchBytes) })),
    stages: Array.from(manifest.stages.keys()).sort(),
    devices: manifest.devices.length === 0 ? undefined : manifest.devices.map((one) =>
      digestJson(one.image.digest).set("target", one.target).set("kernels", String(one.kernels.length))),
  });
}
