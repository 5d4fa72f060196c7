#include "tests/conformance/stablehlo/calculated.h"

#include "compiler_core/frontend/stablehlo/complex/split.h"
#include "compiler_core/frontend/stablehlo/import/import.h"
#include "compiler_core/frontend/stablehlo/read.h"
#include "compiler_core/reference/evaluator.h"
#include "manifest/base/digest.h"
#include "tests/conformance/stablehlo/with_arguments.h"

namespace kiln::conformance {
namespace {

// What a program without inputs gives.
Result<std::vector<HostTensor>> resultsOf(const stablehlo::Program& program) {
  mlir::MLIRContext context;
  frontend::prepareContext(context);
  KILN_ASSIGN(const frontend::Captured captured, stablehlo::importProgram(context, program, {}));
  return reference::evaluate(*captured.module, captured.weights, {});
}

// Of the private function @inputs.
Result<std::vector<HostTensor>> inputsOf(stablehlo::Program program) {
  const stablehlo::Function* inputs = program.find("inputs");
  if (!inputs) return fail(Code::kUnimplemented, "the module has no @inputs");
  for (stablehlo::Function& function : program.functions) function.isPublic = &function == inputs;
  return resultsOf(program);
}

}  // namespace

Result<Calculated> calculated(const StablehloCase& one) {
  Calculated result;
  KILN_ASSIGN(const std::string text, moduleText(one));
  KILN_ASSIGN(const stablehlo::Program program, stablehlo::readProgram(asBytes(text), one.name, nullptr));
  KILN_ASSIGN(const std::vector<CheckedProgram> all, checkedPrograms(program, one.allowance));
  const stablehlo::Function* main = program.find("main");
  if (all.size() != 1 || !main || all[0].function != "main")
    return fail(Code::kUnimplemented,
                "the module is not of the form that is compiled: its checks are not in @main");
  const stablehlo::Function* inputsFunction = program.find("inputs");
  const bool hasComplexEdge =
      std::ranges::any_of(main->results, stablehlo::isComplex) ||
      (inputsFunction && std::ranges::any_of(inputsFunction->results, stablehlo::isComplex));
  if (hasComplexEdge)
    return fail(Code::kUnimplemented,
                "the module is not of the form that is compiled: its inputs or results are complex");
  result.operations = operationsOf(program);
  KILN_ASSIGN(result.text, withArguments(text));
  KILN_ASSIGN(std::vector<HostTensor> inputs, inputsOf(program));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    result.inputs.push_back({"arg" + std::to_string(i), std::move(inputs[i])});
  KILN_ASSIGN(std::vector<HostTensor> values, resultsOf(all[0].program));
  const auto& returned = main->body.operations.back().operands;
  const auto& checked = all[0].program.find("main")->body.operations.back().operands;
  for (std::size_t i = 0; i < all[0].checks.size(); ++i) {
    const auto found = std::ranges::find(returned, checked[2 * i]);
    if (found == returned.end())
      return fail(Code::kUnimplemented,
                  "the module is not of the form that is compiled: it returns something else");
    result.expected.push_back(
        {static_cast<std::size_t>(found - returned.begin()), all[0].checks[i], std::move(values[2 * i + 1])});
  }
  return result;
}

}  // namespace kiln::conformance
