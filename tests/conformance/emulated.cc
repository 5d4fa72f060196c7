#include "tests/conformance/emulated.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "manifest/json/json.h"
#include "manifest/spec/target.h"
#include "tests/conformance/program.h"
#include "tests/support/child_process.h"

namespace kiln::conformance {
namespace {

struct Emulator {
  std::string_view target, architecture, processor;
};
constexpr Emulator kEmulators[] = {
#define KILN_EMULATOR(target, architecture, processor) {target, architecture, processor},
#include "tests/support/emulators.inc"
#undef KILN_EMULATOR
};

const Emulator* emulatorOf(const std::string& target) {
  const auto* const found = std::ranges::find(kEmulators, target, &Emulator::target);
  return found == std::end(kEmulators) ? nullptr : found;
}

std::string join(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ","));
}

const NamedTensor* find(const std::vector<NamedTensor>& tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

// A program's symbol as the inputs have it; -1 where they do not.
std::int64_t valueOf(const Symbol& symbol, const std::vector<NamedTensor>& inputs) {
  const NamedTensor* const input = find(inputs, symbol.input);
  const auto index = static_cast<std::size_t>(symbol.index);
  if (input == nullptr) return -1;
  const HostTensor& tensor = input->tensor;
  if (!symbol.element) return index < tensor.shape.size() ? tensor.shape[index] : -1;
  if (index >= static_cast<std::size_t>(tensor.elements())) return -1;
  return tensor.dtype == DType::kI32 ? tensor.data<std::int32_t>()[index]
                                     : tensor.data<std::int64_t>()[index];
}

void write(const std::string& path, const std::vector<std::uint8_t>& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

// `shapes` goes on behind the line "output I dims D D" of this one.
Result<NamedTensor> outputFrom(const TensorInfo& info, const std::string& path, std::istream& shapes) {
  std::ifstream file(path, std::ios::binary);
  NamedTensor out{info.name, {info.dtype, {}, {std::istreambuf_iterator<char>(file), {}}}};
  std::string line, skipped;
  while (std::getline(shapes, line) && !line.starts_with("output ")) {
  }
  std::istringstream words(line);
  words >> skipped >> skipped >> skipped;
  for (std::int64_t extent = 0; words >> extent;) out.tensor.shape.push_back(extent);
  if (out.tensor.bytes.size() != static_cast<std::size_t>(out.tensor.elements()) * dtypeBytes(info.dtype))
    return fail(Code::kInternal, out.name + ": its bytes are not those of its shape");
  return out;
}

std::string textOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// qemu's translator of RISC-V before version 8 stops at some conversions to narrower integers, whatever the
// program: what needs them cannot be run here.
Error errorOf(const std::string& qemu, int exit, const std::string& said) {
  if (said.find("decode_save_opc: Assertion") != std::string::npos)
    return {
        Code::kUnimplemented, "this qemu cannot translate a conversion of the program; version 8 can", {}};
  return {Code::kInternal, fmt::format("{}: exit {}: {}", qemu, exit, said), {}};
}

}  // namespace

Result<Manifest> readManifest(const std::string& artifactDirectory) {
  KILN_ASSIGN(const Json json, parseJson(textOf(artifactDirectory + "/manifest.json"), {.bytes = 64u << 20}));
  return Manifest::fromJson(json);
}

bool isForEmulator(const Manifest& manifest) {
  return emulatorOf(manifest.spec.target) != nullptr;
}

Result<std::vector<NamedTensor>> runEmulated(const Manifest& manifest, const std::string& artifactDirectory,
                                             const std::vector<NamedTensor>& inputs) {
  const Emulator& emulator = *emulatorOf(manifest.spec.target);
  const std::string architecture(emulator.architecture), folder = artifactDirectory + "/../";
  const std::string runner = besideThis(architecture + "/run_program"),
                    qemu = "/usr/bin/qemu-" + architecture;
  for (const std::string& needed : {runner, qemu})
    if (!std::filesystem::exists(needed))
      return fail(Code::kNotFound, needed + " is missing (infra/setup installs it, then build again)");

  KILN_ASSIGN(const Target target, parseTarget(manifest.spec.target));
  std::vector<std::string> symbols;
  for (const Symbol& symbol : manifest.symbols) symbols.push_back(std::to_string(valueOf(symbol, inputs)));
  std::vector<std::string> command = {qemu,
                                      "-cpu",
                                      std::string(emulator.processor),
                                      "-L",
                                      "/usr/" + architecture + "-linux-gnu",
                                      runner,
                                      artifactDirectory + "/" + manifest.program.path,
                                      target.name,
                                      join(target.features),
                                      "2",
                                      join(symbols)};
  for (const ArtifactFile& weight : manifest.weights)
    command.push_back(artifactDirectory + "/" + weight.path);
  command.emplace_back("--");
  for (const TensorInfo& info : manifest.inputs) {
    const NamedTensor* const given = find(inputs, info.name);
    if (given == nullptr) return fail(Code::kInvalidArgument, "no data for the input " + info.name);
    command.push_back(fmt::format("{}in{}.bin", folder, command.size()));
    write(command.back(), given->tensor.bytes);
  }
  command.emplace_back("--");
  std::vector<std::string> paths;
  for (const TensorInfo& info : manifest.outputs) {
    paths.push_back(fmt::format("{}out{}.bin", folder, paths.size()));
    command.push_back(fmt::format("{}:{}:{}", paths.back(), dtypeBytes(info.dtype), info.shape.size()));
  }
  const std::string log = folder + "run.log";
  testing_support::ChildProcess process(command, log);
  if (const int exit = process.wait(); exit != 0) return fail(errorOf(qemu, exit, textOf(log)));
  std::istringstream shapes(textOf(log));
  std::vector<NamedTensor> results;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    KILN_ASSIGN(NamedTensor output, outputFrom(manifest.outputs[i], paths[i], shapes));
    results.push_back(std::move(output));
  }
  return results;
}

}  // namespace kiln::conformance
