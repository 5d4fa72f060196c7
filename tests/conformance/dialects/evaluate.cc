#include "compiler_core/frontend/dialects/import/import.h"
#include "compiler_core/reference/evaluator.h"
#include "compiler_core/transforms/rewrite.h"
#include "tests/conformance/dialects/calculated.h"
#include "tests/conformance/dialects/run_case.h"

namespace kiln::conformance {
namespace {

Status evaluate(const CalculatedCase& given, const std::string& bytes) {
  KILN_ASSIGN(dialects::Program program, dialects::readProgram(asBytes(bytes), "the case"));
  mlir::MLIRContext context;
  frontend::prepareContext(context);
  KILN_ASSIGN(frontend::Captured captured,
              dialects::importProgram(context, std::make_shared<dialects::Program>(std::move(program)), {}));
  const auto check = [&]() -> Status {
    KILN_ASSIGN(const std::vector<reference::HostTensor> got,
                reference::evaluate(*captured.module, captured.weights, given.inputs));
    return compareResults(given, got);
  };
  KILN_TRY(check());
  KILN_TRY(transforms::rewrite(*captured.module, captured.weights));
  if (Status same = check(); !same) return fail(same.error().in("after the rewrite stage"));
  return {};
}

}  // namespace

CaseResult evaluateDialects(const DialectsCase& one) {
  const auto outcome = [&]() -> Status {
    KILN_ASSIGN(const CalculatedCase given, calculated(one));
    if (Status status = evaluate(given, given.text); !status) return fail(status.error().in("text"));
    if (Status status = evaluate(given, given.bytecode); !status) return fail(status.error().in("bytecode"));
    return {};
  };
  return toResult(outcome(), /*random=*/false);
}

}  // namespace kiln::conformance
