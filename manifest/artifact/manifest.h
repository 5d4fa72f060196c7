// The Manifest of an artifact: a pure function of CompileSpec, materials and the compiler's deterministic
// evidence. kiln-cc, the coordinator and a rebuild compute it with makeManifest and must get the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "manifest/artifact/dtype.h"
#include "manifest/base/digest.h"
#include "manifest/json/json.h"
#include "manifest/spec/compile_spec.h"

namespace kiln {

struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;    // the static shape of the profile
  std::vector<std::string> dimNames;  // symbolic name per dim, "" where static
  bool operator==(const TensorInfo&) const = default;
};

// One file of the artifact besides the manifest itself: "program.so", "weights/0000.bin".
struct ArtifactFile {
  std::string path;
  std::string mediaType;
  Digest digest;
  bool operator==(const ArtifactFile&) const = default;
};

// What a runtime needs, typed. Everything else the compiler states is in `stages`.
struct Manifest {
  CompileSpec spec;
  std::uint32_t programAbi = 0;
  std::vector<TensorInfo> inputs, outputs;
  std::uint64_t arenaBytes = 0, scratchBytes = 0;
  ArtifactFile program;
  std::vector<ArtifactFile> weights;  // in the order of kiln_run's `weights`
  Json stages;  // evidence by stage: capture, analyse, rewrite, partition, schedule, codegen, plan, package

  Json toJson() const;
  static Result<Manifest> fromJson(const Json& json);
};

// evidence.json as kiln-cc writes it:
//   {"program": {"abi", "inputs", "outputs", "arenaBytes", "scratchBytes", "file": {path, mediaType, digest,
//   size},
//    "weights": [{path, mediaType, digest, size}...]}, "stages": {"capture": {...}, ...}}
// Integers that may pass 2^53 are decimal strings. kInvalidArgument names the member that is missing or
// wrong.
Result<Manifest> makeManifest(const CompileSpec& spec, const Json& evidence);

}  // namespace kiln
