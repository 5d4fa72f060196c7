#include "tests/compiler_core/dynamic/model.h"

#include <fmt/format.h>

#include <fstream>
#include <optional>
#include <sstream>

#include "compiler_core/driver/compiler.h"
#include "compiler_core/driver/evaluate_reference.h"
#include "compiler_core/runtime/compare/compare.h"
#include "tests/compiler_core/host/program_host.h"
#include "tests/support/temp_directory.h"

namespace kiln::testing {
namespace {

using Dims = std::map<std::string, std::int64_t>;

std::string textOf(const Dims& dims) {
  std::string text;
  for (const auto& [name, value] : dims) text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
  return text;
}

struct Program {
  driver::CompileResult result;
  std::optional<ProgramHost> host;
  std::vector<Buffer> weights;
};

Result<Program> build(const std::string& model, const std::vector<analysis::Profile>& profiles) {
  const testing_support::TempDirectory directory;
  driver::CompileRequest request;
  request.model = model;
  KILN_ASSIGN(request.target, parseTarget("cpu:x86-64-v3"));
  request.profiles = profiles;
  request.toolchainLib = KILN_TOOLCHAIN_LIB;
  request.out = directory.path();
  Program program;
  KILN_ASSIGN(program.result, driver::compile(request));
  const auto read = [&](const std::string& path) {
    std::ifstream file(directory / path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  };
  KILN_ASSIGN(auto host, ProgramHost::load(read("program.so")));
  program.host.emplace(std::move(host));
  for (const auto& weight : program.result.weights) {
    const std::string bytes = read(weight.path);
    program.weights.push_back(Buffer::of<char>(std::span<const char>(bytes)));
  }
  return program;
}

struct Ran {
  std::vector<std::int64_t> dims;
  std::vector<std::vector<std::uint8_t>> outputs;
  bool operator==(const Ran&) const = default;
};

Result<Ran> run(const Program& program, std::uint32_t profile, const Dims& dims,
                const driver::ReferenceResult& reference, int threads) {
  std::vector<std::int64_t> symbols;
  for (const auto& symbol : program.result.symbols) symbols.push_back(dims.at(symbol.name));
  std::vector<Buffer> inputs, outputs;
  for (const auto& input : reference.inputValues) inputs.push_back(Buffer::of<std::uint8_t>(input.bytes));
  // As large as `shapes` states.
  const auto stated = program.host->shapes(profile, symbols);
  auto next = stated.begin();
  for (const auto& output : reference.outputValues) {
    std::size_t bytes = dtypeBytes(output.dtype);
    for (std::size_t i = 0; i < output.shape.size(); ++i) bytes *= static_cast<std::size_t>(*next++);
    if (bytes < output.bytes.size())
      return fail(Code::kDataLoss, "the program states less than its outputs need");
    outputs.emplace_back(bytes);
  }
  Ran ran;
  KILN_ASSIGN(ran.dims, program.host->run(profile, symbols, program.weights, inputs, outputs, threads));
  auto got = ran.dims.begin();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::size_t bytes = dtypeBytes(reference.outputValues[i].dtype);
    for (std::size_t k = 0; k < reference.outputValues[i].shape.size(); ++k, ++got) {
      if (*got != reference.outputValues[i].shape[k])
        return fail(Code::kDataLoss, fmt::format("output {} dimension {} is {}, the reference has {}", i, k,
                                                 *got, reference.outputValues[i].shape[k]));
      bytes *= static_cast<std::size_t>(*got);
    }
    const auto all = outputs[i].as<std::uint8_t>();
    ran.outputs.emplace_back(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(bytes));
  }
  return ran;
}

Status checkRun(const std::string& model, const Program& program, std::uint32_t profile, const Dims& dims,
                const ModelCheck& check) {
  KILN_ASSIGN(const auto reference, driver::evaluateReference(model, dims, {}, {}, 1));
  analysis::Profile fixed;
  for (const auto& [name, value] : dims) fixed.dims.push_back({name, value, value, value});
  auto alone = build(model, {fixed});
  if (!alone) return fail(alone.error().in("static"));
  auto expected = run(*alone, 0, dims, reference, 1);
  if (!expected) return fail(expected.error().in("static"));
  for (int threads : {1, 2, 7}) {
    KILN_ASSIGN(const Ran got, run(program, profile, dims, reference, threads));
    if (got != *expected)
      return fail(Code::kDataLoss,
                  fmt::format("other bits than the static compile with {} threads", threads));
    for (std::size_t i = 0; i < got.outputs.size(); ++i) {
      KILN_ASSIGN(const auto comparison,
                  runtime::compare(reference.outputValues[i].dtype, got.outputs[i],
                                   reference.outputValues[i].bytes, {check.relative, check.absolute}));
      if (!comparison.passed())
        return fail(Code::kDataLoss,
                    fmt::format("output {} against the reference: {}", i, comparison.text()));
    }
  }
  return {};
}

}  // namespace

Status checkModel(const ModelCheck& check) {
  const testing_support::TempDirectory directory;
  const std::string model = directory / "model.onnx";
  std::ofstream(model, std::ios::binary) << check.model.build();
  KILN_ASSIGN(const Program program, build(model, check.profiles));
  for (std::uint32_t i = 0; i < check.profiles.size(); ++i) {
    std::vector<Dims> runs = check.runs;
    if (runs.empty()) {
      runs.resize(3);
      for (const analysis::ProfileDim& dim : check.profiles[i].dims) {
        runs[0][dim.name] = dim.min;
        runs[1][dim.name] = dim.opt;
        runs[2][dim.name] = dim.max;
      }
    }
    for (const Dims& dims : runs)
      if (auto passed = checkRun(model, program, i, dims, check); !passed)
        return fail(passed.error().in(fmt::format("profile {} at {}", check.profiles[i].name, textOf(dims))));
  }
  return {};
}

}  // namespace kiln::testing
