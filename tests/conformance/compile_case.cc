#include "tests/conformance/emulated.h"
#include "tests/conformance/program.h"
#include "tests/conformance/run_case.h"

namespace kiln::conformance {
namespace {

constexpr int kMaxAttempts = 8;  // each pins at least one more input

}  // namespace

Status compileOrPin(const std::string& model, const std::vector<NamedTensor>& inputs, const Given& given,
                    const CompileOptions& options, Pins& pins) {
  Status status;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    status = compileModel(model, given, pins, options);
    if (status || status.error().code != Code::kUnimplemented) break;
    Pins more = pinsAskedFor(status.error().message, inputs, pins);
    if (more.empty()) break;
    pins.merge(more);
  }
  return status;
}

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
  const std::vector<NamedTensor> inputs = data ? data->inputs : std::vector<NamedTensor>();
  Given given;
  bool random = false;
  if (auto loaded = onnx::loadModel(one.model)) {
    given = {dimsOf(loaded->model, inputs), sequencesOf(loaded->model, inputs)};
    random = isRandom(loaded->model, inputs);
  }
  Pins pins;
  const auto outcome = [&]() -> Status {
    KILN_TRY(compileOrPin(one.model, inputs, given, options, pins));
    // What was compiled must have data that can be read.
    if (!data) return fail(Code::kInternal, "the case's data: " + data.error().message);
    const std::string artifact = options.scratch + "/artifact";
    KILN_ASSIGN(const Manifest manifest, readManifest(artifact));
    placeTexts(*data, manifest.strings);
    auto got = runArtifact(artifact, data->inputs);
    // A served program that does not run is wrong, whatever the runtime calls it.
    // What the emulator cannot translate says nothing of the program.
    if (!got && isForEmulator(manifest) && got.error().code == Code::kUnimplemented) return fail(got.error());
    if (!got) return fail(Code::kInternal, "the runtime: " + got.error().message);
    return random ? compareTypes(*got, data->outputs) : compareAll(*got, data->outputs, one.tolerance);
  };
  CaseResult result = toResult(outcome(), random);
  for (const auto& [name, values] : pins) result.pins.push_back(name);
  return result;
}

}  // namespace kiln::conformance
