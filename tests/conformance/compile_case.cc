#include <filesystem>
#include <fstream>

#include "compiler_core/runtime/runtime.h"
#include "manifest/base/exit_code.h"
#include "manifest/json/json.h"
#include "tests/conformance/run_case.h"
#include "tests/support/child_process.h"

namespace kiln::conformance {
namespace {

constexpr int kMaxAttempts = 8;  // each pins at least one more input

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

// What a case's data say about its model.
struct Given {
  Given given;
  Composites sequences;
};

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

Status compile(const Case& one, const Given& given, const Pins& pins, const CompileOptions& options) {
  const std::string spec = options.scratch + "/spec.json", out = options.scratch + "/artifact";
  std::vector<std::string> arguments = {"spec",         "--model", one.model, "--target",
                                        options.target, "--out",   spec};
  for (const auto& [name, held] : given.sequences)
    arguments.push_back("--sequence=" + sequenceText(name, held));
  for (const auto& [name, value] : given.dims) {
    arguments.push_back("--profile");
    arguments.push_back(name + "=" + std::to_string(value));
  }
  for (const auto& [name, values] : pins) {
    std::string text = name + "=";
    for (std::size_t i = 0; i < values.size(); ++i) text += (i > 0 ? "," : "") + pinText(values[i]);
    arguments.push_back("--pin=" + text);
  }
  KILN_TRY(kilnCc(arguments, options));
  std::filesystem::remove_all(out);
  return kilnCc({"compile", "--model", one.model, "--spec", spec, "--out", out}, options);
}

// Compiles, pinning what a refusal asks for; `pins` gets what was pinned.
Status compileOrPin(const Case& one, const std::vector<NamedTensor>& inputs, const Given& given,
                    const CompileOptions& options, Pins& pins) {
  Status status;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    status = compile(one, given, pins, options);
    if (status || status.error().code != Code::kUnimplemented) break;
    Pins more = pinsAskedFor(status.error().message, inputs, pins);
    if (more.empty()) break;
    pins.merge(more);
  }
  return status;
}

Result<std::vector<NamedTensor>> run(const std::string& artifactDirectory,
                                     const std::vector<NamedTensor>& inputs) {
  KILN_ASSIGN(runtime::Artifact artifact, runtime::Artifact::open(artifactDirectory));
  KILN_ASSIGN(runtime::Session session,
              runtime::Session::open(artifact, {.threads = 2, .run_before_ready = 1}));
  std::vector<runtime::NamedTensor> given;
  for (const NamedTensor& input : inputs)
    given.push_back({input.name, {input.tensor.dtype, input.tensor.shape, input.tensor.bytes}});
  KILN_ASSIGN(std::vector<runtime::NamedTensor> results, session.run(given));
  std::vector<NamedTensor> got;
  for (runtime::NamedTensor& result : results)
    got.push_back({result.name, {result.tensor.dtype, result.tensor.shape, std::move(result.tensor.data)}});
  return got;
}

}  // namespace

CaseResult toResult(const Status& status, bool random) {
  const bool refused = !status && status.error().code == Code::kUnimplemented;
  if (random && (status || refused))
    return {Outcome::kNotComparable,
            "ONNX leaves the result random" + (refused ? "; " + status.error().message : ""),
            {}};
  if (status) return {Outcome::kPassed, "", {}};
  return {refused ? Outcome::kSkipped : Outcome::kFailed, status.error().message, {}};
}

CaseResult compileCase(const Case& one, const CompileOptions& options) {
  auto data = readData(one);
  const std::vector<NamedTensor> none;
  const std::vector<NamedTensor>& inputs = data ? data->inputs : none;
  analysis::DimValues dims;
  bool random = false;
  if (auto loaded = onnx::loadModel(one.model)) {
    given = {dimsOf(loaded->model, inputs), sequencesOf(loaded->model, inputs)};
    random = isRandom(loaded->model, inputs);
  }
  Pins pins;
  const auto outcome = [&]() -> Status {
    KILN_TRY(compileOrPin(one, inputs, given, options, pins));
    // What was compiled must have data that can be read.
    if (!data) return fail(Code::kInternal, "the case's data: " + data.error().message);
    auto got = run(options.scratch + "/artifact", inputs);
    // A served program that does not run is wrong, whatever the runtime calls it.
    if (!got) return fail(Code::kInternal, "the runtime: " + got.error().message);
    return random ? compareTypes(*got, data->outputs) : compareAll(*got, data->outputs, one.tolerance);
  };
  CaseResult result = toResult(outcome(), random);
  for (const auto& [name, values] : pins) result.pins.push_back(name);
  return result;
}

}  // namespace kiln::conformance
