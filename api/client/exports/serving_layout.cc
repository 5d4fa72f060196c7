#include "api/client/exports/serving_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "api/client/artifact_paths.h"
#include "api/node/staging.h"

namespace kiln::client {
namespace {

// The Open Inference Protocol's words; Triton's have "TYPE_" before, and STRING for BYTES. Python's arrays
// have no other types.
constexpr std::pair<DType, std::string_view> kTypes[] = {
    {DType::kF32, "FP32"},   {DType::kF64, "FP64"},   {DType::kF16, "FP16"},   {DType::kI8, "INT8"},
    {DType::kI16, "INT16"},  {DType::kI32, "INT32"},  {DType::kI64, "INT64"},  {DType::kU8, "UINT8"},
    {DType::kU16, "UINT16"}, {DType::kU32, "UINT32"}, {DType::kU64, "UINT64"}, {DType::kBool, "BOOL"}};

Result<std::string_view> typeOf(const TensorInfo& tensor) {
  if (tensor.isText) return "BYTES";
  for (const auto& [type, word] : kTypes)
    if (type == tensor.dtype) return word;
  return fail(
      Code::kUnimplemented,
      fmt::format("tensor \"{}\" is {}, which model servers have no arrays of; build it with a cast to "
                  "f32 or f16 at its border",
                  tensor.name, dtypeName(tensor.dtype)));
}

// -1 where it may differ between runs.
Result<std::vector<std::int64_t>> shapeOf(const TensorInfo& tensor) {
  std::vector<std::int64_t> shape;
  for (const Dim& dim : tensor.shape) {
    if (dim.isStatic() && dim.value == 0) {
      return fail(
          Code::kUnimplemented,
          fmt::format("tensor \"{}\" has no elements, which model servers cannot state", tensor.name));
    }
    shape.push_back(dim.isStatic() ? dim.value : -1);
  }
  return shape;
}

// A string of protobuf's text format: bytes beyond printable ASCII as octal escapes.
std::string inPbtxt(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (byte < 0x20 || byte >= 0x7f)
      out += fmt::format("\\{:03o}", byte);
    else
      out += c;
  }
  return out + "\"";
}

Result<std::string> tritonTensors(std::string_view field, const std::vector<TensorInfo>& tensors) {
  std::string out;
  for (const TensorInfo& tensor : tensors) {
    KILN_ASSIGN(const std::string_view type, typeOf(tensor));
    KILN_ASSIGN(const std::vector<std::int64_t> shape, shapeOf(tensor));
    out += fmt::format("{} {{\n  name: {}\n  data_type: TYPE_{}\n", field, inPbtxt(tensor.name),
                       tensor.isText ? "STRING" : type);
    // A scalar: Triton states no shape without dimensions but as what another one is reshaped to.
    if (shape.empty())
      out += "  dims: [ 1 ]\n  reshape { shape: [ ] }\n";
    else
      out += fmt::format("  dims: [ {} ]\n", fmt::join(shape, ", "));
    out += "}\n";
  }
  return out;
}

Result<Json> settingsTensors(const std::vector<TensorInfo>& tensors) {
  Json list = Json::array();
  for (const TensorInfo& tensor : tensors) {
    KILN_ASSIGN(const std::string_view type, typeOf(tensor));
    KILN_ASSIGN(const std::vector<std::int64_t> shape, shapeOf(tensor));
    list.push_back({{"name", tensor.name}, {"datatype", type}, {"shape", shape}});
  }
  return list;
}

Status checkName(const std::string& model) {
  constexpr std::size_t kMost = 128;
  const auto isPlain = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  if (!model.empty() && model.size() <= kMost && model[0] != '.' && model[0] != '-' &&
      std::ranges::all_of(model, isPlain))
    return {};
  return fail(Code::kInvalidArgument,
              "a model's name has 1 to 128 letters, digits and \"._-\", and begins with no dot or dash");
}

// Copies the artifact below `folder`, and nothing else.
Result<std::uint64_t> copyArtifact(const node::VerifiedArtifact& artifact, const std::string& folder,
                                   node::Staging& staging) {
  KILN_ASSIGN(const ArtifactPaths paths, pathsOf(artifact));
  std::uint64_t bytes = 0;
  for (const Paths* const some : {&paths.own, &paths.evidence}) {
    for (const std::string& path : *some) {
      const std::string source = artifact.directory + "/" + path;
      KILN_ASSIGN(const Digest digest, digestOfFile(source));
      KILN_TRY(staging.copy(folder + "/" + path, digest, source));
      bytes += digest.size;
    }
  }
  return bytes;
}

constexpr std::string_view kTritonModel =
    "# Triton's Python backend reads this file; Kiln's package has the code, and the artifact is in the "
    "folder "
    "beside it.\n"
    "from kiln.serving.triton import TritonPythonModel  # noqa: F401\n";

}  // namespace

Result<std::string> tritonConfig(const Manifest& manifest, const std::string& model) {
  KILN_ASSIGN(const std::string inputs, tritonTensors("input", manifest.inputs));
  KILN_ASSIGN(const std::string outputs, tritonTensors("output", manifest.outputs));
  // Shapes are stated whole: Triton forms no batches of its own.
  return fmt::format("name: {}\nbackend: \"python\"\nmax_batch_size: 0\n{}{}", inPbtxt(model), inputs,
                     outputs);
}

Result<std::string> mlserverSettings(const Manifest& manifest, const std::string& model) {
  Json settings = {{"name", model},
                   {"implementation", "kiln.serving.mlserver.KilnModel"},
                   {"platform", "kiln"},
                   {"parameters", {{"uri", std::string("./") + kServedFolder}, {"version", "1"}}}};
  KILN_ASSIGN(settings["inputs"], settingsTensors(manifest.inputs));
  KILN_ASSIGN(settings["outputs"], settingsTensors(manifest.outputs));
  return settings.dump(2) + "\n";
}

Result<LayoutSummary> exportLayout(const node::VerifiedArtifact& artifact, ServingLayout layout,
                                   const std::string& model, const std::string& destination) {
  KILN_TRY(checkName(model));
  const bool isTriton = layout == ServingLayout::kTriton;
  KILN_ASSIGN(const std::string settings, isTriton ? tritonConfig(artifact.manifest(), model)
                                                   : mlserverSettings(artifact.manifest(), model));
  KILN_ASSIGN(auto staging, node::Staging::begin(destination));
  KILN_TRY(staging.write(isTriton ? model + "/config.pbtxt" : "model-settings.json", asBytes(settings)));
  if (isTriton) KILN_TRY(staging.write(model + "/1/model.py", asBytes(kTritonModel)));
  const std::string folder = isTriton ? model + "/1/" + kServedFolder : kServedFolder;
  KILN_ASSIGN(const std::uint64_t bytes, copyArtifact(artifact, folder, staging));
  KILN_TRY(staging.commit());
  return LayoutSummary{destination + "/" + folder, bytes + settings.size()};
}

}  // namespace kiln::client
