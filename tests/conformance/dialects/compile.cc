#include <fstream>

#include "tests/conformance/dialects/calculated.h"
#include "tests/conformance/dialects/run_case.h"
#include "tests/conformance/program.h"

namespace kiln::conformance {

CaseResult compileDialects(const DialectsCase& one, const CompileOptions& options) {
  const auto outcome = [&]() -> Status {
    KILN_ASSIGN(const CalculatedCase given, calculated(one));
    const std::string model = options.scratch + "/model.mlirbc";
    std::ofstream(model) << given.bytecode;
    KILN_TRY(compileModel(model, {}, {}, options));
    auto session = openSession(options.scratch + "/artifact");
    if (!session) return fail(Code::kInternal, "the runtime: " + session.error().message);
    std::vector<NamedTensor> inputs;
    for (std::size_t i = 0; i < given.inputs.size(); ++i)
      inputs.push_back({"arg" + std::to_string(i), given.inputs[i]});
    auto got = runSession(*session, inputs);
    // A served program that does not run is wrong, whatever the runtime calls it.
    if (!got) return fail(Code::kInternal, "the runtime: " + got.error().message);
    std::vector<reference::HostTensor> tensors;
    for (NamedTensor& result : *got) tensors.push_back(std::move(result.tensor));
    return compareResults(given, tensors);
  };
  return toResult(outcome(), /*random=*/false);
}

}  // namespace kiln::conformance
