#include "tests/conformance/dynamic/poisoned_run.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "compiler_core/runtime/session/artifact.h"
#include "compiler_core/runtime/session/guards.h"
#include "compiler_core/runtime/session/profiles.h"
#include "tests/compiler_core/host/program_host.h"

namespace kiln::conformance {
namespace {

using testing::Buffer;

constexpr std::size_t kGuard = 256;
constexpr std::uint8_t kPattern = 0x5a;
constexpr int kThreads = 2;

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

Result<std::vector<NamedTensor>> poisonedRun(const std::string& artifactDirectory,
                                             const std::vector<NamedTensor>& inputs) {
  KILN_ASSIGN(const auto artifact, runtime::LoadedArtifact::load(artifactDirectory));
  const Manifest& manifest = artifact->manifest;
  std::vector<std::string> types;
  for (const NamedTensor& input : inputs) types.emplace_back(dtypeName(input.tensor.dtype));
  std::vector<kiln_tensor> given;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const HostTensor& tensor = inputs[i].tensor;
    given.push_back({inputs[i].name.c_str(), types[i].c_str(), tensor.shape.data(), tensor.shape.size(),
                     tensor.bytes.data(), tensor.bytes.size()});
  }
  KILN_ASSIGN(const runtime::BoundInputs bound, runtime::bindInputs(manifest, given));
  KILN_ASSIGN(const runtime::ProfileChoice choice, runtime::chooseProfile(manifest, bound.symbols));
  const auto profile = static_cast<std::uint32_t>(choice.profile);

  KILN_ASSIGN(const auto host,
              testing::ProgramHost::load(read(artifactDirectory + "/" + manifest.program.path)));
  std::vector<Buffer> weights, arguments, outputs;
  for (const ArtifactFile& file : manifest.weights) {
    const std::string bytes = read(artifactDirectory + "/" + file.path);
    weights.push_back(Buffer::of<char>(std::span<const char>(bytes)));
  }
  for (const kiln_tensor* tensor : bound.tensors)
    arguments.push_back(
        Buffer::of<char>(std::span<const char>(static_cast<const char*>(tensor->data), tensor->bytes)));

  // Outputs that depend on values are stated at their bound.
  const auto shapesOf = [&](const std::vector<std::int64_t>& dims) {
    std::vector<std::vector<std::int64_t>> shapes;
    auto next = dims.begin();
    for (const TensorInfo& output : manifest.outputs) {
      const auto end = next + static_cast<std::ptrdiff_t>(output.shape.size());
      shapes.emplace_back(next, end);
      next = end;
    }
    return shapes;
  };
  std::vector<NamedTensor> results;
  const auto stated = shapesOf(host.shapes(profile, bound.symbols));
  for (std::size_t i = 0; i < stated.size(); ++i) {
    results.push_back({manifest.outputs[i].name, HostTensor::zeros(manifest.outputs[i].dtype, stated[i])});
    outputs.emplace_back(results[i].tensor.bytes.size() + kGuard);
    std::ranges::fill(outputs[i].as<std::uint8_t>(), kPattern);
  }
  KILN_ASSIGN(const auto dims, host.run(profile, bound.symbols, weights, arguments, outputs, kThreads));
  const auto actual = shapesOf(dims);
  for (std::size_t i = 0; i < results.size(); ++i) {
    HostTensor& tensor = results[i].tensor;
    const auto bytes = outputs[i].as<std::uint8_t>();
    if (!std::ranges::all_of(bytes.last(kGuard), [](std::uint8_t byte) { return byte == kPattern; }))
      return fail(Code::kDataLoss, "the program wrote past its output '" + results[i].name + "'");
    for (std::size_t k = 0; k < actual[i].size(); ++k)
      if (actual[i][k] < 0 || actual[i][k] > stated[i][k])
        return fail(Code::kDataLoss, "output '" + results[i].name + "' has dimension " +
                                         std::to_string(actual[i][k]) + ", stated was " +
                                         std::to_string(stated[i][k]));
    tensor = HostTensor::zeros(tensor.dtype, actual[i]);
    std::copy_n(bytes.begin(), tensor.bytes.size(), tensor.bytes.begin());
  }
  return results;
}

}  // namespace kiln::conformance
