#include "compiler_core/frontend/stablehlo/import/import.h"
#include "compiler_core/frontend/stablehlo/read.h"
#include "compiler_core/reference/evaluator.h"
#include "compiler_core/transforms/rewrite.h"
#include "manifest/base/digest.h"
#include "tests/conformance/stablehlo/calculated.h"
#include "tests/conformance/stablehlo/run_case.h"

namespace kiln::conformance {
namespace {

Status compareResults(const CheckedProgram& checked, frontend::Captured& captured) {
  KILN_ASSIGN(const std::vector<HostTensor> results,
              reference::evaluate(*captured.module, captured.weights, {}));
  if (results.size() != 2 * checked.checks.size())
    return fail(Code::kInternal, "a check has lost its results");
  for (std::size_t i = 0; i < checked.checks.size(); ++i) {
    Status same = compare(checked.checks[i], results[2 * i], results[2 * i + 1]);
    if (!same) return fail(same.error().in("check " + std::to_string(i) + " of " + checked.function));
  }
  return {};
}

Status evaluate(const CheckedProgram& checked) {
  mlir::MLIRContext context;
  frontend::prepareContext(context);
  KILN_ASSIGN(frontend::Captured captured, stablehlo::importProgram(context, checked.program, {}));
  KILN_TRY(compareResults(checked, captured));
  KILN_TRY(transforms::rewrite(*captured.module, captured.weights));
  if (Status same = compareResults(checked, captured); !same)
    return fail(same.error().in("after the rewrite stage"));
  return {};
}

Status compareWith(const Calculated& given, const frontend::Captured& captured) {
  std::vector<HostTensor> inputs;
  for (const NamedTensor& input : given.inputs) inputs.push_back(input.tensor);
  KILN_ASSIGN(const std::vector<HostTensor> results,
              reference::evaluate(*captured.module, captured.weights, inputs));
  for (const Calculated::Expected& expected : given.expected) {
    if (expected.result >= results.size()) return fail(Code::kInternal, "the program has lost a result");
    KILN_TRY(compare(expected.check, results[expected.result], expected.tensor));
  }
  return {};
}

// Once more with inputs that the import does not know, so that nothing of them folds.
Status evaluateWithInputs(const StablehloCase& one) {
  auto given = calculated(one);
  if (!given && given.error().code == Code::kUnimplemented) return {};
  if (!given) return fail(given.error());
  KILN_ASSIGN(const stablehlo::Program program,
              stablehlo::readProgram(asBytes(given->text), one.name, nullptr));
  mlir::MLIRContext context;
  frontend::prepareContext(context);
  KILN_ASSIGN(frontend::Captured captured, stablehlo::importProgram(context, program, {}));
  KILN_TRY(compareWith(*given, captured));
  KILN_TRY(transforms::rewrite(*captured.module, captured.weights));
  if (Status same = compareWith(*given, captured); !same)
    return fail(same.error().in("after the rewrite stage"));
  return {};
}

}  // namespace

StablehloResult evaluateStablehlo(const StablehloCase& one) {
  StablehloResult made;
  const auto outcome = [&]() -> Status {
    KILN_ASSIGN(const std::string text, moduleText(one));
    KILN_ASSIGN(const stablehlo::Program program, stablehlo::readProgram(asBytes(text), one.name, nullptr));
    made.operations = operationsOf(program);
    KILN_ASSIGN(const std::vector<CheckedProgram> all, checkedPrograms(program, one.allowance));
    if (all.empty()) return fail(Code::kUnimplemented, "the module checks nothing");
    for (const CheckedProgram& checked : all) KILN_TRY(evaluate(checked));
    if (Status status = evaluateWithInputs(one); !status) return fail(status.error().in("with inputs"));
    return {};
  };
  made.result = toResult(outcome(), /*random=*/false);
  return made;
}

}  // namespace kiln::conformance
