// CompileSpec: what is compiled and how. Hashed: everything here is an input of the Action digest, and
// nothing else is (the rest is in delivery_spec.h). The JSON form is described in manifest/FORMAT.md and
// manifest/schemas/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/json/json.h"
#include "manifest/spec/composite.h"
#include "manifest/spec/partition_rules.h"
#include "manifest/spec/pin.h"

namespace kiln {

// "model.onnx", "model.mlir": the names files[0] may have.
bool isModelFileName(std::string_view path);

// A file of the model, at its path in the action's input tree (below input/).
struct ModelFile {
  std::string path;
  Digest digest;
  bool operator==(const ModelFile&) const = default;
};

struct DimRange {
  std::int64_t min = 1, opt = 1, max = 1;
  // Every size is a multiple of it, min, opt and max too. "multiple" is left out of the JSON where it is 1.
  std::int64_t multiple = 1;
  bool operator==(const DimRange&) const = default;
};

struct ShapeProfile {
  std::string name;                      // "default" when the user named none
  std::map<std::string, DimRange> dims;  // by symbol: a dimension, or an element of a value, "k[0]"
  bool operator==(const ShapeProfile&) const = default;
};

struct Numerics {
  std::string contraction = "on";  // on: a*b+c may become one fused operation; off
  // off: sums in the model's order; deterministic: in the order that a kernel's schedule names, the default's
  // too; on: as off, but for tuned schedules, which may name an order.
  std::string reassociation = "deterministic";
  std::string precision = "f32";
  bool operator==(const Numerics&) const = default;
};

struct CompileSpec {
  // Profiles and pins keep one order: profiles as given (a program tells them by index), pins by name.
  // files[0] is the model itself, "model.onnx" or "model.mlir" by what the user's name ends in: the rest of
  // the name must not change a digest. Further files are external data, at the relative paths the model
  // names, and those of `parameters`, sorted by path.
  std::vector<ModelFile> files;
  Digest toolchainDigest;              // the toolchain Tree's root Directory
  std::string target;                  // "cpu:x86-64-v3"
  std::vector<std::string> features;   // the target expanded, sorted: "+avx", "+avx2", ...
  std::vector<ShapeProfile> profiles;  // at least one
  std::string outOfProfile = "fail";
  Pins pins;
  Composites sequences;  // inputs of sequence or optional type; "sequences" is left out of the JSON where it
                         // is empty
  // Paths of `files` that hold tensors which take the place of inputs, in the order in which they are bound;
  // "parameters" is left out of the JSON where there are none.
  std::vector<std::string> parameters;
  Numerics numerics;
  std::string fallback = "fail";
  PartitionRules partition;  // "partition" is left out of the JSON where it says nothing
  // tuning.json (manifest/tuning/entries.h): the schedules that the compile takes instead of its defaults.
  // The farm's to set; left out of the JSON where there is none, so that an untuned build is what it was.
  std::optional<Digest> tuning;
  std::uint64_t maxArtifactBytes = 0;  // 0: no budget
  std::uint64_t maxPlannedBytes = 0;
  bool operator==(const CompileSpec&) const = default;

  Json toJson() const;
  // kInvalidArgument naming the member; unknown members are refused.
  static Result<CompileSpec> fromJson(const Json& json);
};

// The members a user may set (SubmitJobRequest.spec_json): "profiles", "outOfProfile", "pins",
// "sequences", "parameters", "numerics", "fallback", "partition", "budgets", in the form they have in a
// CompileSpec; each may be left out.
Json submittedToJson(const CompileSpec& spec);
// Sets what `submitted` holds on `spec` and leaves the rest. kInvalidArgument as CompileSpec::fromJson, and
// for a range that checkRange() refuses; that files have the paths of `parameters` is not looked at.
Status applySubmitted(const Json& submitted, CompileSpec& spec);

// The path of the parameter file number `index`: "params/0". An array that is a file by itself is known by
// its name, which `name` keeps: "params/0/weight.npy".
std::string parameterPath(std::size_t index, std::string_view name = {});
// kInvalidArgument where a path of `spec.parameters` is no file of it beside the model.
Status checkParameterFiles(const CompileSpec& spec);

// kInvalidArgument, naming the limits, for a range that no dimension can have: one number is 0 to 2^31, a
// range of several 1 to 2^31. An element of an input's value ("k[0]") can be any number that JSON holds. For
// all of them: a multiple of 1 to 2^31 that min, opt and max are multiples of.
Status checkRange(const std::string& dim, const DimRange& range);

}  // namespace kiln
