#include <fstream>

#include "tests/conformance/program.h"
#include "tests/conformance/stablehlo/calculated.h"
#include "tests/conformance/stablehlo/run_case.h"

namespace kiln::conformance {

StablehloResult compileStablehlo(const StablehloCase& one, const CompileOptions& options) {
  StablehloResult made;
  const auto outcome = [&]() -> Status {
    KILN_ASSIGN(Calculated calculated, conformance::calculated(one));
    made.operations = calculated.operations;
    const std::string model = options.scratch + "/model.mlir";
    std::ofstream(model) << calculated.text;
    KILN_TRY(compileModel(model, {}, {}, options));
    auto session = openSession(options.scratch + "/artifact");
    if (!session) return fail(Code::kInternal, "the runtime: " + session.error().message);
    auto got = runSession(*session, calculated.inputs);
    // A served program that does not run is wrong, whatever the runtime calls it.
    if (!got) return fail(Code::kInternal, "the runtime: " + got.error().message);
    for (const Calculated::Expected& expected : calculated.expected) {
      if (expected.result >= got->size()) return fail(Code::kInternal, "the program has lost a result");
      KILN_TRY(compare(expected.check, (*got)[expected.result].tensor, expected.tensor));
    }
    return {};
  };
  made.result = toResult(outcome(), /*random=*/false);
  return made;
}

}  // namespace kiln::conformance
