#include "compiler_core/frontend/onnx/import/import.h"
#include "compiler_core/reference/evaluator.h"
#include "compiler_core/transforms/rewrite.h"
#include "tests/conformance/run_case.h"

namespace kiln::conformance {
namespace {

constexpr int kMaxAttempts = 8;

Result<onnx::Captured> importOrPin(mlir::MLIRContext& context, const onnx::LoadedModel& loaded,
                                   const std::vector<NamedTensor>& inputs, Pins& pins) {
  const analysis::DimValues dims = dimsOf(loaded.model, inputs);
  const Composites sequences = sequencesOf(loaded.model, inputs);
  for (int attempt = 1;; ++attempt) {
    auto captured = onnx::importModel(context, loaded, {dims, pins, {}, sequences});
    if (captured || captured.error().code != Code::kUnimplemented || attempt == kMaxAttempts) return captured;
    Pins more = pinsAskedFor(captured.error().message, inputs, pins);
    if (more.empty()) return captured;
    pins.merge(more);
  }
}

Result<std::vector<NamedTensor>> evaluate(onnx::Captured& captured, const std::vector<NamedTensor>& inputs) {
  std::vector<HostTensor> values;
  for (const ir::Signature& wanted : captured.inputs) {
    auto found = std::find_if(inputs.begin(), inputs.end(),
                              [&](const NamedTensor& input) { return input.name == wanted.name; });
    if (found == inputs.end()) return fail(Code::kInternal, "the case has no input '" + wanted.name + "'");
    values.push_back(found->tensor);
  }
  KILN_ASSIGN(std::vector<HostTensor> results,
              reference::evaluate(*captured.module, captured.weights, values));
  std::vector<NamedTensor> named;
  for (std::size_t i = 0; i < results.size() && i < captured.outputs.size(); ++i)
    named.push_back({captured.outputs[i].name, std::move(results[i])});
  return named;
}

}  // namespace

CaseResult evaluateCase(const Case& one) {
  Pins pins;
  bool random = false;
  const auto outcome = [&]() -> Status {
    KILN_ASSIGN(onnx::LoadedModel loaded, onnx::loadModel(one.model));
    mlir::MLIRContext context;
    frontend::prepareContext(context);
    auto data = readData(one);
    const std::vector<NamedTensor> inputs = data ? data->inputs : std::vector<NamedTensor>();
    random = isRandom(loaded.model, inputs);
    KILN_ASSIGN(onnx::Captured captured, importOrPin(context, loaded, inputs, pins));
    if (!data) return fail(data.error());
    const auto compare = [&](const std::vector<NamedTensor>& got) {
      return random ? compareTypes(got, data->outputs) : compareAll(got, data->outputs, one.tolerance);
    };
    KILN_ASSIGN(std::vector<NamedTensor> imported, evaluate(captured, inputs));
    KILN_TRY(compare(imported));
    KILN_TRY(transforms::rewrite(*captured.module, captured.weights));
    KILN_ASSIGN(std::vector<NamedTensor> rewritten, evaluate(captured, inputs));
    if (auto same = compare(rewritten); !same) return fail(same.error().in("after the rewrite stage"));
    return {};
  };
  CaseResult result = toResult(outcome(), random);
  for (const auto& [name, values] : pins) result.pins.push_back(name);
  return result;
}

}  // namespace kiln::conformance
