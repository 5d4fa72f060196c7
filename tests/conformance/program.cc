#include "tests/conformance/program.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compiler_core/runtime/program/cpu_features.h"
#include "manifest/base/exit_code.h"
#include "manifest/json/json.h"
#include "manifest/spec/target.h"
#include "manifest/spec/target_device.h"
#include "tests/conformance/emulated.h"
#include "tests/support/child_process.h"

namespace kiln::conformance {
namespace {

// The error that kiln-cc prints as its last line.
Error errorOf(const std::string& log, int exit) {
  std::ifstream file(log);
  std::string line, last;
  while (std::getline(file, line))
    if (!line.empty()) last = line;
  if (exit > 128) return {Code::kInternal, "kiln-cc was killed by signal " + std::to_string(exit - 128), {}};
  const auto json = parseJson(last);
  Error error{Code::kInternal, "kiln-cc: exit " + std::to_string(exit) + ": " + last, {}};
  if (!json || !json->is_object() || !json->contains("error")) return error;
  error.message = json->at("error").value("message", std::string());
  if (exit == kExitUnsupported) error.code = Code::kUnimplemented;
  if (exit == kExitInvalidModel || exit == kExitNotFound) error.code = Code::kInvalidArgument;
  return error;
}

Status kilnCc(const std::vector<std::string>& arguments, const CompileOptions& options) {
  std::vector<std::string> command = {options.compiler};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const std::string log = options.scratch + "/log";
  testing_support::ChildProcess process(command, log);
  const int exit = process.wait();
  if (exit == 0) return {};
  return fail(errorOf(log, exit));
}

// "x=[2,3],[]"
std::string sequenceText(const std::string& name, const Composite& held) {
  if (!held.present) return name + "=none";
  if (held.tensors.empty()) return name + "=0";
  std::string text = name + "=";
  for (std::size_t i = 0; i < held.tensors.size(); ++i) {
    text += i > 0 ? ",[" : "[";
    for (std::size_t d = 0; d < held.tensors[i]->size(); ++d)
      text += (d > 0 ? "," : "") + std::to_string((*held.tensors[i])[d]);
    text += "]";
  }
  return text;
}

}  // namespace

std::string besideThis(const std::string& name) {
  std::error_code ignored;
  return (std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / name).string();
}

bool isForDevice(const CompileOptions& options) {
  return wantsDevice(options.target);
}

std::string hostTarget() {
#if defined(__aarch64__)
  return "cpu:aarch64-neoverse-n1";
#else
  for (const char* name : {"cpu:x86-64-v4", "cpu:x86-64-v3"}) {
    auto target = parseTarget(name);
    if (target && runtime::checkHostFeatures(target->features, name)) return name;
  }
  return "cpu:x86-64-v3";
#endif
}

std::string compilerBeside() {
  return besideThis("kiln-cc");
}

Status compileModel(const std::string& model, const Given& given, const Pins& pins,
                    const CompileOptions& options) {
  const std::string spec = options.scratch + "/spec.json", out = options.scratch + "/artifact";
  std::vector<std::string> arguments = {"spec", "--model", model, "--target", options.target, "--out", spec};
  for (const auto& [name, held] : given.sequences)
    arguments.push_back("--sequence=" + sequenceText(name, held));
  for (const auto& [name, value] : given.dims) {
    arguments.push_back("--profile");
    arguments.push_back(name + "=" + std::to_string(value));
  }
  for (const analysis::ProfileDim& dim : given.ranges) {
    arguments.push_back("--profile");
    arguments.push_back(dim.name + "=" + std::to_string(dim.min) + ":" + std::to_string(dim.opt) + ":" +
                        std::to_string(dim.max));
  }
  for (const auto& [name, values] : pins) {
    std::string text = name + "=";
    for (std::size_t i = 0; i < values.size(); ++i) text += (i > 0 ? "," : "") + pinText(values[i]);
    arguments.push_back("--pin=" + text);
  }
  KILN_TRY(kilnCc(arguments, options));
  std::filesystem::remove_all(out);
  std::vector<std::string> compile = {"compile", "--model", model, "--spec", spec, "--out", out};
  const std::string emulation = options.scratch + "/emulation";
  std::filesystem::remove_all(emulation);
  if (options.target.find("cuda:") != std::string::npos) {
    std::filesystem::create_directory(emulation);
    compile.insert(compile.end(), {"--emulation", emulation});
  }
  return kilnCc(compile, options);
}

Result<runtime::Session> openSession(const std::string& artifactDirectory) {
  KILN_ASSIGN(runtime::Artifact artifact, runtime::Artifact::open(artifactDirectory));
  const std::string emulation = artifactDirectory + "/../emulation";
  ::setenv("KILN_EMULATED_KERNELS", emulation.c_str(), 1);
  const std::string emulated = besideThis("libkiln-emulated-cuda.so");
  // What has no emulation runs on the first device of Vulkan's loader.
  const char* const driver = std::filesystem::exists(emulation) ? emulated.c_str() : nullptr;
  return runtime::Session::open(artifact, {.threads = 2, .run_before_ready = 1, .device_driver = driver});
}

Result<std::vector<NamedTensor>> runSession(runtime::Session& session,
                                            const std::vector<NamedTensor>& inputs) {
  std::vector<runtime::NamedTensor> given;
  for (const NamedTensor& input : inputs)
    given.push_back({input.name, {input.tensor.dtype, input.tensor.shape, input.tensor.bytes}});
  KILN_ASSIGN(std::vector<runtime::NamedTensor> results, session.run(given));
  std::vector<NamedTensor> got;
  for (runtime::NamedTensor& result : results)
    got.push_back({result.name, {result.tensor.dtype, result.tensor.shape, std::move(result.tensor.data)}});
  return got;
}

Result<std::vector<NamedTensor>> runArtifact(const std::string& artifactDirectory,
                                             const std::vector<NamedTensor>& inputs) {
  KILN_ASSIGN(const Manifest manifest, readManifest(artifactDirectory));
  if (isForEmulator(manifest)) return runEmulated(manifest, artifactDirectory, inputs);
  KILN_ASSIGN(runtime::Session session, openSession(artifactDirectory));
  return runSession(session, inputs);
}

}  // namespace kiln::conformance
