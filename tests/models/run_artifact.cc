// Runs an artifact directory, such as kiln-cc writes, in the runtime; for tests on many machines and threads.
// usage: run_artifact DIR THREADS[,THREADS...] INPUT.bin[:2x3]... -- OUTPUT.bin...
// Tensors are raw bytes in the manifest's order; an input with more than one symbolic extent has its shape
// behind it. Every thread count must give the same bits; for each, one
// line says how long the second run took: "threads N seconds S".
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "compiler_core/runtime/runtime.h"

namespace kiln::runtime {
namespace {

Result<std::vector<std::uint8_t>> readAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(Code::kNotFound, path + ": cannot be read");
  return std::vector<std::uint8_t>(std::istreambuf_iterator<char>(file), {});
}

// A symbolic extent (-1) is what the bytes leave for it.
std::vector<std::int64_t> shapeFor(const TensorSpec& spec, std::size_t bytes) {
  std::vector<std::int64_t> shape = spec.shape;
  std::int64_t rest = static_cast<std::int64_t>(bytes / dtypeBytes(spec.dtype));
  for (const std::int64_t extent : shape)
    if (extent > 0) rest /= extent;
  std::ranges::replace_if(shape, [](std::int64_t extent) { return extent < 0; }, rest);
  return shape;
}

// "in.bin:2x3" as the path and the shape; no shape where there is none.
std::pair<std::string, std::vector<std::int64_t>> shapeBehind(const std::string& argument) {
  const auto colon = argument.rfind(':');
  const bool isGiven = colon != std::string::npos && colon + 1 < argument.size() &&
                       argument.find_first_not_of("0123456789x", colon + 1) == std::string::npos;
  std::vector<std::int64_t> shape;
  if (!isGiven) return {argument, shape};
  std::istringstream extents(argument.substr(colon + 1));
  for (std::string extent; std::getline(extents, extent, 'x');) shape.push_back(std::stoll(extent));
  return {argument.substr(0, colon), shape};
}

Result<std::vector<NamedTensor>> readInputs(const Artifact& artifact, const std::vector<std::string>& paths) {
  const auto specs = artifact.inputs();
  if (paths.size() != specs.size())
    return fail(Code::kInvalidArgument,
                fmt::format("{} input files for {} inputs", paths.size(), specs.size()));
  std::vector<NamedTensor> inputs;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    auto [path, shape] = shapeBehind(paths[i]);
    KILN_ASSIGN(auto bytes, readAll(path));
    if (shape.empty()) shape = shapeFor(specs[i], bytes.size());
    inputs.push_back({specs[i].name, {specs[i].dtype, std::move(shape), std::move(bytes)}});
  }
  return inputs;
}

Result<std::vector<NamedTensor>> runWith(const Artifact& artifact, std::uint32_t threads,
                                         const std::vector<NamedTensor>& inputs) {
  KILN_ASSIGN(Session session, Session::open(artifact, {.threads = threads, .run_before_ready = 1}));
  KILN_ASSIGN(auto outputs, session.run(inputs));
  const auto start = std::chrono::steady_clock::now();
  KILN_ASSIGN(auto again, session.run(inputs));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].tensor.data != again[i].tensor.data)
      return fail(Code::kDataLoss, fmt::format("{} threads: a second run gives other bits", threads));
  fmt::print("threads {} seconds {:.6f}\n", threads, took.count());
  return outputs;
}

Status run(const std::string& directory, const std::string& threadCounts,
           const std::vector<std::string>& inputPaths, const std::vector<std::string>& outputPaths) {
  KILN_ASSIGN(const Artifact artifact, Artifact::open(directory));
  KILN_ASSIGN(const auto inputs, readInputs(artifact, inputPaths));
  std::vector<NamedTensor> first;
  std::istringstream list(threadCounts);
  for (std::string count; std::getline(list, count, ',');) {
    KILN_ASSIGN(auto outputs, runWith(artifact, static_cast<std::uint32_t>(std::stoul(count)), inputs));
    if (first.empty())
      first = std::move(outputs);
    else
      for (std::size_t i = 0; i < first.size(); ++i)
        if (first[i].tensor.data != outputs[i].tensor.data)
          return fail(Code::kDataLoss, fmt::format("output {}: other bits with {} threads", i, count));
  }
  if (outputPaths.size() != first.size())
    return fail(Code::kInvalidArgument,
                fmt::format("{} output files for {} outputs", outputPaths.size(), first.size()));
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto& bytes = first[i].tensor.data;
    std::ofstream file(outputPaths[i], std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!file) return fail(Code::kInternal, outputPaths[i] + ": cannot be written");
  }
  return {};
}

int main(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) {
    fmt::print(stderr, "usage: run_artifact DIR THREADS[,THREADS...] INPUT.bin... -- OUTPUT.bin...\n");
    return 2;
  }
  const auto divider = std::find(arguments.begin() + 2, arguments.end(), "--");
  const std::vector<std::string> inputs(arguments.begin() + 2, divider);
  const std::vector<std::string> outputs(divider == arguments.end() ? divider : divider + 1, arguments.end());
  const Status status = run(arguments[0], arguments[1], inputs, outputs);
  if (status) return 0;
  fmt::print(stderr, "run_artifact: {}\n", status.error().message);
  return 1;
}

}  // namespace
}  // namespace kiln::runtime

int main(int argc, char** argv) {
  return kiln::runtime::main({argv + 1, argv + argc});
}
