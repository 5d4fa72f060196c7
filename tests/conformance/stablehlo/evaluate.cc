#include "compiler_core/frontend/stablehlo/import/import.h"
#include "compiler_core/frontend/stablehlo/read.h"
#include "compiler_core/reference/evaluator.h"
#include "compiler_core/transforms/rewrite.h"
#include "manifest/base/digest.h"
#include "tests/conformance/stablehlo/checks.h"
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
    return {};
  };
  made.result = toResult(outcome(), /*random=*/false);
  return made;
}

}  // namespace kiln::conformance
