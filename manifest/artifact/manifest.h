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

// One dimension of a tensor: a number, or an expression over the program's symbols. An input's expression is
// the symbol's name; an output's is for people ("(H + 1) floordiv 2", "? <= 64" where it depends on values):
// the program itself states the number.
struct Dim {
  Dim() = default;
  Dim(std::int64_t number) : value(number) {}             // NOLINT(google-explicit-constructor)
  Dim(std::string text) : expression(std::move(text)) {}  // NOLINT(google-explicit-constructor)
  Dim(const char* text) : expression(text) {}             // NOLINT(google-explicit-constructor)
  bool isStatic() const { return expression.empty(); }
  std::string text() const { return isStatic() ? std::to_string(value) : expression; }
  bool operator==(const Dim&) const = default;

  std::int64_t value = 0;  // 0 with an expression
  std::string expression;
};

struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<Dim> shape;
  std::vector<std::string> dimNames;  // ABI 1 only: the symbolic name per dimension, "" where there is none
  bool isText = false;  // of type i64: its elements are places in Manifest::strings, or any other number for
                        // a text that is not there
  bool operator==(const TensorInfo&) const = default;
};

// An integer that may differ between runs, read off an input at entry: its dimension `index`, or element
// `index` of its value.
struct Symbol {
  std::string name, input;
  std::int64_t index = 0;
  bool element = false;
  bool pad = false;  // a smaller dimension may be padded with zeros and the outputs cut back
  bool operator==(const Symbol&) const = default;
};

// One entry of the program's table. The ranges of its symbols are in the spec's profile of the same place.
struct ProgramProfile {
  std::string name;
  std::uint64_t arenaBytes = 0, scratchBytes = 0;
  // Copied between partitions by one run in the profile's largest shape; left out of the JSON where it is 0.
  std::uint64_t transferBytes = 0;
  // One arena per device, in their order; empty where there are none.
  std::vector<std::uint64_t> deviceArenaBytes = {};
  bool operator==(const ProgramProfile&) const = default;
};

// One file of the artifact besides the manifest itself: "program.so", "weights/0000.bin".
struct ArtifactFile {
  std::string path;
  std::string mediaType;
  Digest digest;
  bool operator==(const ArtifactFile&) const = default;
};

// The kernels of one device of a program (program_abi.h): space i + 1 is that of devices[i].
struct DeviceImageInfo {
  std::string target, arch;          // "cuda:sm_90a", "sm_90a"; "vulkan:1.3", "1.3"
  ArtifactFile image;                // "kernels/sm_90a.cubin"; of a vulkan: target a SPIR-V module
  std::vector<std::string> kernels;  // its entries, as kiln_launch numbers them
  std::string driver;                // the least version of the CUDA driver API, "13.0", or of Vulkan, "1.3"
  std::string computeCapability;     // "9.0"; of a vulkan: target the version of SPIR-V, "1.6"
  bool exact =
      false;  // on devices of this compute capability only; else of its major version, this minor or later
  bool operator==(const DeviceImageInfo&) const = default;
};

// What a runtime needs, typed. Everything else the compiler states is in `stages`.
struct Manifest {
  CompileSpec spec;
  std::uint32_t programAbi = 0;
  std::vector<Symbol> symbols;  // in the order of kiln_run's `symbols`
  std::vector<TensorInfo> inputs, outputs;
  // The texts of tensors that hold such, in the order of their bytes, each once; left out of the JSON where
  // there are none. Not of ABI 1.
  std::vector<std::string> strings;
  // Nodes whose indices outside their dimension the program counts, in one more output behind these; left out
  // of the JSON where there are none. Not of ABI 1.
  std::vector<std::string> indexChecks;
  std::vector<ProgramProfile> profiles;  // in the order of the spec's; ABI 1 has one
  ArtifactFile program;
  std::vector<ArtifactFile> weights;        // in the order of kiln_run's `weights`
  std::vector<DeviceImageInfo> devices;     // of ABI 3, where there is at least one
  std::vector<std::uint32_t> weightSpaces;  // of each weight; empty where there are no devices
  Json stages;  // evidence by stage: capture, analyse, rewrite, partition, schedule, codegen, plan, package

  // Every file of the artifact in the order of its layers: program, kernels, weights.
  std::vector<ArtifactFile> files() const;
  Json toJson() const;
  static Result<Manifest> fromJson(const Json& json);
};

// evidence.json as kiln-cc writes it: {"program": {...}, "stages": {"capture": {...}, ...}} with the
// Manifest's own program (FORMAT.md). Integers that may pass 2^53 are decimal strings. kInvalidArgument names
// the member that is missing or wrong. All forms of `program` are read and kept: ABI 1, 2 and 3.
Result<Manifest> makeManifest(const CompileSpec& spec, const Json& evidence);

}  // namespace kiln
