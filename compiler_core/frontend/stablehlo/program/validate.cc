#include "compiler_core/frontend/stablehlo/program/validate.h"

#include <set>

#include "compiler_core/frontend/stablehlo/program/name.h"

namespace kiln::stablehlo {
namespace {

// Checks one function; `visible` says which of its values the current region may use.
class FunctionCheck {
 public:
  explicit FunctionCheck(const Function& function)
      : function_(function), visible_(function.types.size()), defined_(function.types.size()) {}

  Status body() {
    if (function_.arguments.size() != function_.body.arguments.size())
      return fail(Code::kInvalidArgument, "has " + std::to_string(function_.body.arguments.size()) +
                                              " values for " + std::to_string(function_.arguments.size()) +
                                              " arguments");
    if (!function_.resultAttributes.empty() && function_.resultAttributes.size() != function_.results.size())
      return fail(Code::kInvalidArgument,
                  "has attributes of " + std::to_string(function_.resultAttributes.size()) +
                      " results, but " + std::to_string(function_.results.size()) + " results");
    KILN_TRY(region(function_.body, 1));
    const std::size_t returned = function_.body.operations.back().operands.size();
    if (returned == function_.results.size()) return {};
    return fail(Code::kInvalidArgument, "returns " + std::to_string(returned) + " values, but has " +
                                            std::to_string(function_.results.size()) + " results");
  }

 private:
  Status region(const Region& region, int depth) {
    if (depth > kMaxRegionDepth)
      return fail(Code::kUnimplemented,
                  "regions nested deeper than " + std::to_string(kMaxRegionDepth) + " are not served");
    std::vector<ValueId> own;
    KILN_TRY(define(region.arguments, own));
    for (std::size_t i = 0; i < region.operations.size(); ++i) {
      const Operation& operation = region.operations[i];
      Status checked = this->operation(operation, i + 1 == region.operations.size(), depth);
      if (checked) checked = define(operation.results, own);
      if (!checked) return fail(checked.error().in(operationPlace(i, operation.name)));
    }
    if (region.operations.empty() || region.operations.back().name != "return")
      return fail(Code::kInvalidArgument, "a region does not end in a return");
    for (const ValueId value : own) visible_[value] = false;
    return {};
  }

  Status operation(const Operation& operation, bool isLast, int depth) {
    if (operation.name == "return" && !isLast)
      return fail(Code::kInvalidArgument, "stands before the end of its region");
    for (const ValueId operand : operation.operands)
      if (operand >= visible_.size() || !visible_[operand])
        return fail(Code::kInvalidArgument, "uses a value that is not defined before it");
    for (const Region& nested : operation.regions) KILN_TRY(region(nested, depth + 1));
    return {};
  }

  Status define(const std::vector<ValueId>& values, std::vector<ValueId>& own) {
    for (const ValueId value : values) {
      if (value >= defined_.size() || defined_[value])
        return fail(Code::kInvalidArgument, "defines a value without a type, or a second time");
      defined_[value] = visible_[value] = true;
      own.push_back(value);
    }
    return {};
  }

  const Function& function_;
  std::vector<bool> visible_, defined_;
};

}  // namespace

std::string operationPlace(std::size_t index, std::string_view name) {
  return "operation " + std::to_string(index) + " (" + std::string(name) + ")";
}

Status validate(const Program& program) {
  constexpr std::size_t kMaxName = 4096;
  std::set<std::string_view> names;
  for (const Function& function : program.functions) {
    if (function.name.empty() || function.name.size() > kMaxName || !isName(function.name))
      return fail(Code::kInvalidArgument, "the name of function " + std::to_string(names.size()) +
                                              " is empty, too long, or has characters that cannot be shown");
    if (!names.insert(function.name).second)
      return fail(Code::kInvalidArgument, "two functions are called '" + function.name + "'");
    if (Status checked = FunctionCheck(function).body(); !checked)
      return fail(checked.error().in("function " + function.name));
  }
  return {};
}

}  // namespace kiln::stablehlo
