#include "tests/conformance/emulated.h"

#include <fmt/format.h>

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

// What qemu-user emulates a target as; as in tests/support/compiled.py.
struct Emulator {
  std::string_view target, architecture, processor;
};
constexpr Emulator kEmulators[] = {
    {"cpu:aarch64", "aarch64", "neoverse-n1"},
    {"cpu:aarch64-neoverse-n1", "aarch64", "neoverse-n1"},
    {"cpu:aarch64-neoverse-v2", "aarch64", "max,sve-default-vector-length=16"},
    {"cpu:riscv64-rva22+v", "riscv64", "rv64,v=true,vext_spec=v1.0,zba=true,zbb=true,zbs=true"},
};

const Emulator* emulatorOf(const std::string& target) {
  const auto* const found = std::ranges::find(kEmulators, target, &Emulator::target);
  return found == std::end(kEmulators) ? nullptr : found;
}

Result<Json> manifestOf(const std::string& artifactDirectory) {
  std::ifstream file(artifactDirectory + "/manifest.json");
  return parseJson(std::string(std::istreambuf_iterator<char>(file), {}), {.bytes = 64u << 20});
}

std::string targetOf(const Json& manifest) {
  return manifest.at("spec").at("target").at("name");
}

Result<std::string> inputFile(const Json& wanted, const std::vector<NamedTensor>& given,
                              const std::string& path) {
  const std::string name = wanted.at("name");
  const auto found = std::ranges::find(given, name, &NamedTensor::name);
  if (found == given.end()) return fail(Code::kInvalidArgument, "no data for the input " + name);
  const auto& bytes = found->tensor.bytes;
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return path;
}

Result<NamedTensor> outputFrom(const Json& output, const std::string& path, std::istream& shapes) {
  KILN_ASSIGN(const DType dtype, parseDType(output.at("dtype").get<std::string>()));
  std::ifstream file(path, std::ios::binary);
  NamedTensor out{output.at("name"), {dtype, {}, {std::istreambuf_iterator<char>(file), {}}}};
  std::string line, skipped;
  while (std::getline(shapes, line) && !line.starts_with("output ")) {
  }
  std::istringstream words(line);
  words >> skipped >> skipped >> skipped;
  for (std::int64_t extent = 0; words >> extent;) out.tensor.shape.push_back(extent);
  if (out.tensor.bytes.size() != static_cast<std::size_t>(out.tensor.elements()) * dtypeBytes(dtype))
    return fail(Code::kInternal, out.name + ": its bytes are not those of its shape");
  return out;
}

std::string textOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

Result<bool> isForEmulator(const std::string& artifactDirectory) {
  KILN_ASSIGN(const Json manifest, manifestOf(artifactDirectory));
  return emulatorOf(targetOf(manifest)) != nullptr;
}

Result<std::vector<NamedTensor>> runEmulated(const std::string& artifactDirectory,
                                             const std::vector<NamedTensor>& inputs) {
  KILN_ASSIGN(const Json manifest, manifestOf(artifactDirectory));
  const Json& program = manifest.at("program");
  const std::string target = targetOf(manifest), folder = artifactDirectory + "/../";
  const Emulator& emulator = *emulatorOf(target);
  const std::string architecture(emulator.architecture);
  const std::string runner = besideThis(architecture + "/run_program"),
                    qemu = "/usr/bin/qemu-" + architecture;
  for (const std::string& needed : {runner, qemu})
    if (!std::filesystem::exists(needed))
      return fail(Code::kNotFound, needed + " is missing (infra/setup installs it, then build again)");

  std::string features;
  for (const Json& feature : manifest.at("spec").at("target").at("features"))
    features += (features.empty() ? "" : ",") + feature.get<std::string>();
  std::vector<std::string> command = {
      qemu,
      "-cpu",
      std::string(emulator.processor),
      "-L",
      fmt::format("/usr/{}-linux-gnu", architecture),
      runner,
      artifactDirectory + "/" + program.at("file").at("path").get<std::string>(),
      target,
      features,
      "2"};
  for (const Json& weight : program.at("weights"))
    command.push_back(artifactDirectory + "/" + weight.at("path").get<std::string>());
  command.emplace_back("--");
  for (const Json& input : program.at("inputs")) {
    KILN_ASSIGN(std::string path,
                inputFile(input, inputs, fmt::format("{}in{}.bin", folder, command.size())));
    command.push_back(std::move(path));
  }
  command.emplace_back("--");
  std::vector<std::string> paths;
  for (const Json& output : program.at("outputs")) {
    KILN_ASSIGN(const DType dtype, parseDType(output.at("dtype").get<std::string>()));
    paths.push_back(fmt::format("{}out{}.bin", folder, paths.size()));
    command.push_back(fmt::format("{}:{}:{}", paths.back(), dtypeBytes(dtype), output.at("shape").size()));
  }
  const std::string log = folder + "run.log";
  testing_support::ChildProcess process(command, log);
  if (const int exit = process.wait(); exit != 0)
    return fail(Code::kInternal, fmt::format("{}: exit {}: {}", qemu, exit, textOf(log)));
  std::istringstream shapes(textOf(log));
  std::vector<NamedTensor> results;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    KILN_ASSIGN(NamedTensor output, outputFrom(program.at("outputs")[i], paths[i], shapes));
    results.push_back(std::move(output));
  }
  return results;
}

}  // namespace kiln::conformance
