#include "tests/conformance/stablehlo/checks.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "compiler_core/frontend/stablehlo/complex/split.h"
#include "compiler_core/frontend/stablehlo/program/element.h"
#include "compiler_core/reference/element.h"

namespace kiln::conformance {
namespace {

using reference::HostTensor;
using stablehlo::Attributes;
using stablehlo::Function;
using stablehlo::Literal;
using stablehlo::Operation;

constexpr std::string_view kPrefix = "check.expect_";

// "eq", "almost_eq_const", ... of an operation or a custom call; "" of others.
std::string_view checkName(const Operation& operation) {
  std::string_view name = operation.name;
  if (name == "custom_call") {
    const auto found = operation.attributes.find("call_target_name");
    const auto* text =
        found == operation.attributes.end() ? nullptr : std::get_if<std::string>(&found->second.value);
    if (text) name = *text;
  }
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : std::string_view();
}

double numberOf(const Attributes& attributes, std::string_view name, double fallback) {
  const auto found = attributes.find(name);
  if (found == attributes.end()) return fallback;
  if (const auto* real = std::get_if<double>(&found->second.value)) return *real;
  const auto* integer = std::get_if<std::int64_t>(&found->second.value);
  return integer ? static_cast<double>(*integer) : fallback;
}

Result<Check> checkOf(const Operation& operation, std::string_view name) {
  const bool isCall = operation.name == "custom_call";
  if (name.starts_with("eq")) return Check{Check::Kind::kEqual, 0, 0, 0};
  if (name.starts_with("almost_eq"))
    return Check{Check::Kind::kAlmost, numberOf(operation.attributes, "tolerance", isCall ? 1e-3 : 1e-4), 0,
                 0};
  if (name == "close")
    return Check{
        Check::Kind::kClose, 0,
        static_cast<std::int64_t>(numberOf(operation.attributes, "min_ulp_difference", 0)),
        static_cast<std::int64_t>(numberOf(operation.attributes, "max_ulp_difference", isCall ? 3 : 1))};
  return fail(Code::kUnimplemented, "the check " + std::string(name) + " is not read here");
}

// Adds the constant that a check holds to the function, and returns its value.
stablehlo::ValueId addConstant(Function& function, std::vector<Operation>& operations,
                               const Literal& literal) {
  const auto value = static_cast<stablehlo::ValueId>(function.types.size());
  function.types.push_back(literal.type);
  Operation constant;
  constant.name = "constant";
  constant.results = {value};
  constant.attributes["value"].value = literal;
  operations.push_back(std::move(constant));
  return value;
}

// Adds a part of a complex value, and returns it.
stablehlo::ValueId addPart(Function& function, std::vector<Operation>& operations, std::string_view part,
                           stablehlo::ValueId of) {
  const auto value = static_cast<stablehlo::ValueId>(function.types.size());
  const stablehlo::Type& type = function.types[of];
  function.types.push_back(stablehlo::tensorType(
      type.element == stablehlo::Element::kC128 ? stablehlo::Element::kF64 : stablehlo::Element::kF32,
      type.shape));
  operations.push_back({std::string(part), {of}, {value}, {}, {}, {}});
  return value;
}

// The function with its checks as results; those of complex numbers are two, part by part.
Result<std::vector<Check>> takeChecks(Function& function) {
  std::vector<Check> checks;
  std::vector<Operation> kept;
  std::vector<stablehlo::ValueId> results;
  for (Operation& operation : function.body.operations) {
    const std::string name(checkName(operation));
    if (name.empty()) {
      if (operation.name == "return") operation.operands = results;
      kept.push_back(std::move(operation));
      continue;
    }
    KILN_ASSIGN(const Check check, checkOf(operation, name));
    if (operation.operands.empty()) return fail(Code::kUnimplemented, "a check without operands");
    std::vector<stablehlo::ValueId> pair{operation.operands[0]};
    if (name.ends_with("const")) {
      const auto value = operation.attributes.find("value");
      const auto* literal =
          value == operation.attributes.end() ? nullptr : std::get_if<Literal>(&value->second.value);
      if (!literal) return fail(Code::kInternal, "a check without its constant");
      pair.push_back(addConstant(function, kept, *literal));
    } else if (operation.operands.size() == 2) {
      pair.push_back(operation.operands[1]);
    } else {
      return fail(Code::kInternal, "a check of another number of operands");
    }
    const bool isComplex = stablehlo::isComplex(function.types[pair[0]]);
    for (const std::string_view part : {"real", "imag"}) {
      for (stablehlo::ValueId value : pair)
        results.push_back(isComplex ? addPart(function, kept, part, value) : value);
      checks.push_back(check);
      if (!isComplex) break;
    }
  }
  function.body.operations = std::move(kept);
  function.results.clear();
  function.resultAttributes.clear();
  for (stablehlo::ValueId value : results) function.results.push_back(function.types[value]);
  return checks;
}

bool hasChecks(const Function& function) {
  return std::ranges::any_of(function.body.operations,
                             [](const Operation& operation) { return !checkName(operation).empty(); });
}

}  // namespace

Result<std::vector<CheckedProgram>> checkedPrograms(const stablehlo::Program& program, double allowance) {
  std::vector<CheckedProgram> all;
  for (std::size_t i = 0; i < program.functions.size(); ++i) {
    if (!hasChecks(program.functions[i])) continue;
    CheckedProgram checked{program, {}, program.functions[i].name};
    for (Function& other : checked.program.functions) other.isPublic = false;
    Function& entry = checked.program.functions[i];
    if (!entry.body.arguments.empty()) return fail(Code::kUnimplemented, "a checked function with arguments");
    entry.isPublic = true;
    KILN_ASSIGN(checked.checks, takeChecks(entry));
    for (Check& check : checked.checks) check.allowance = allowance;
    all.push_back(std::move(checked));
  }
  return all;
}

namespace {

void collect(const stablehlo::Region& region, std::set<std::string>& names) {
  for (const Operation& operation : region.operations) {
    for (const stablehlo::Region& inner : operation.regions) collect(inner, names);
    const bool isPlain =
        operation.name == "return" || operation.name == "call" || operation.name == "constant";
    if (isPlain || !checkName(operation).empty()) continue;
    names.insert(operation.name.find('.') == std::string::npos ? "stablehlo." + operation.name
                                                               : operation.name);
  }
}

}  // namespace

std::vector<std::string> operationsOf(const stablehlo::Program& program) {
  std::set<std::string> names;
  for (const Function& function : program.functions) collect(function.body, names);
  return {names.begin(), names.end()};
}

namespace {

std::int64_t orderOf(const HostTensor& tensor, std::size_t index) {
  const std::size_t width = dtypeBytes(tensor.dtype);
  std::uint64_t bits = 0;
  std::memcpy(&bits, tensor.bytes.data() + index * width, width);
  const auto shift = static_cast<int>(64 - 8 * width);
  const auto extended = static_cast<std::int64_t>(bits << shift) >> shift;
  // Negative floats count down from zero by their magnitude.
  const auto magnitude = static_cast<std::int64_t>(bits & (~std::uint64_t{0} >> (shift + 1)));
  return extended < 0 ? -magnitude : magnitude;
}

bool isFloat(DType type) {
  return type == DType::kF32 || type == DType::kF64 || type == DType::kF16 || type == DType::kBF16;
}

double numberAt(const HostTensor& tensor, std::size_t index) {
  return reference::toDouble(
      reference::readElement(tensor.dtype, tensor.bytes.data() + index * dtypeBytes(tensor.dtype)));
}

// Whether element `index` is as the check wants it.
bool agrees(const Check& check, const HostTensor& got, const HostTensor& expected, std::size_t index) {
  const std::size_t width = dtypeBytes(got.dtype);
  const std::uint8_t *a = got.bytes.data() + index * width, *b = expected.bytes.data() + index * width;
  if (!isFloat(got.dtype) && check.kind == Check::Kind::kEqual) return std::memcmp(a, b, width) == 0;
  const double x = numberAt(got, index), y = numberAt(expected, index);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  switch (check.kind) {
    case Check::Kind::kEqual:
      return std::memcmp(a, b, width) == 0;
    case Check::Kind::kAlmost:
      return x == y || std::abs(x - y) <= check.tolerance;
    case Check::Kind::kClose: {
      if (!isFloat(got.dtype)) return std::memcmp(a, b, width) == 0;
      // Magnitudes have 63 bits at most, so that their difference fits.
      const auto apart =
          static_cast<double>(orderOf(got, index)) - static_cast<double>(orderOf(expected, index));
      const std::int64_t exact =
          std::abs(apart) < 1e15 ? std::abs(orderOf(got, index) - orderOf(expected, index)) : INT64_MAX;
      return exact >= check.leastUlps && exact <= check.mostUlps;
    }
  }
  return false;
}

// NaN where either is.
double distance(const HostTensor& a, const HostTensor& b, std::size_t index) {
  return std::abs(numberAt(a, index) - numberAt(b, index));
}

double largest(const HostTensor& tensor) {
  double found = 0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    found = std::max(found, std::abs(numberAt(tensor, static_cast<std::size_t>(i))));
  return found;
}

}  // namespace

Status compare(const Check& check, const HostTensor& got, const HostTensor& expected) {
  if (got.dtype != expected.dtype || got.shape != expected.shape)
    return fail(Code::kDataLoss, "the result has another type than is expected");
  std::int64_t wrong = 0;
  std::string first;
  const double allowed = check.allowance * largest(expected);
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    const auto index = static_cast<std::size_t>(i);
    if (agrees(check, got, expected, index) || (allowed > 0 && distance(got, expected, index) <= allowed))
      continue;
    if (wrong++ > 0) continue;
    char text[128];
    std::snprintf(text, sizeof text, "element %zu is %.9g, expected %.9g", index, numberAt(got, index),
                  numberAt(expected, index));
    first = text;
  }
  if (wrong == 0) return {};
  return fail(Code::kDataLoss, first + "; " + std::to_string(wrong) + " of " +
                                   std::to_string(got.elements()) + " elements (" +
                                   std::string(dtypeName(got.dtype)) + ") differ");
}

}  // namespace kiln::conformance
