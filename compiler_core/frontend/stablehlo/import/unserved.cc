#include "compiler_core/frontend/stablehlo/import/unserved.h"

#include <algorithm>
#include <set>

#include "compiler_core/frontend/stablehlo/complex/split.h"
#include "compiler_core/frontend/stablehlo/import/entry_arguments.h"
#include "compiler_core/frontend/stablehlo/operations/operations.h"
#include "compiler_core/frontend/stablehlo/program/attributes.h"

namespace kiln::stablehlo {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxRank = 16;

std::string_view symbolOf(const Operation& operation, std::string_view name) {
  const auto found = operation.attributes.find(name);
  const auto* symbol =
      found == operation.attributes.end() ? nullptr : std::get_if<SymbolName>(&found->second.value);
  return symbol ? std::string_view(symbol->name) : std::string_view();
}

// Whether the shape can be calculated with: no more elements than 60 bits count, with those of no extent left
// out.
bool isSensible(const Type& type) {
  std::int64_t count = 1;
  for (std::int64_t extent : type.shape) {
    if (extent == kDynamic || extent == 0) continue;
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count) || count > std::int64_t{1} << 60)
      return false;
  }
  return true;
}

// Why values of this type are not served; "" where they are.
std::string whyNot(const Type& type) {
  if (isComplex(type)) return "";  // is the operation's to say
  if (type.kind == Type::Kind::kTuple) return "tuples are not served";
  if (type.kind == Type::Kind::kOther) return "values of type " + type.text + " are not served";
  if (type.element == Element::kOther) return "tensors of type " + type.text + " are not served";
  if (type.shape.size() > kMaxRank)
    return "a rank of more than " + std::to_string(kMaxRank) + " is not served";
  return "";
}

class Surveyor {
 public:
  explicit Surveyor(const Program& program) : program_(program) {}

  Status function(const Function& function, int depth) {
    if (depth > kMaxDepth) return fail(Code::kUnimplemented, "functions call each other too deeply");
    if (std::ranges::find(calls_, &function) != calls_.end())
      return fail(Code::kInvalidArgument, "function " + function.name + " calls itself");
    if (!seen_.insert(&function).second) return {};
    for (const Type& type : function.types)
      if (!isSensible(type))
        return fail(Code::kInvalidArgument,
                    "function " + function.name + " has the absurd type " + type.text);
    ++result_.functions;
    result_.reached.push_back(&function);
    calls_.push_back(&function);
    for (std::size_t i = 0; i < function.body.arguments.size(); ++i) {
      const ValueId value = function.body.arguments[i];
      if (value >= function.types.size()) return missingType(function);
      if (depth == 0) argument(function, i, function.types[value]);
    }
    if (depth == 0 && std::ranges::any_of(function.results, isComplex))
      note("function " + function.name, "(output)",
           "complex numbers are served within a program, not as its results");
    KILN_TRY(region(function, function.body, depth));
    calls_.pop_back();
    return {};
  }

  Survey take() { return std::move(result_); }

 private:
  // Of the entry function.
  void argument(const Function& function, std::size_t index, const Type& type) {
    std::string why =
        isComplex(type) ? "complex numbers are served within a program, not as its arguments" : whyNot(type);
    std::string name;
    if (index < function.arguments.size()) {
      const Argument& argument = function.arguments[index];
      name = argument.name;
      const auto* size = attributeAs<std::string>(argument.attributes, kGlobalConstant);
      if (size && *size != kPlatformIndex)
        why = "it is the size '" + *size +
              "', and what it is the size of is not in the file; export the function with jax.export, whose "
              "programs work out their sizes themselves";
    }
    if (why.empty()) return;
    note(name.empty() ? "argument " + std::to_string(index) : "argument '" + name + "'", "(input)", why);
  }

  static tl::unexpected<Error> missingType(const Function& function) {
    return fail(Code::kInvalidArgument, "function " + function.name + ": a value has no type");
  }

  void note(std::string place, std::string op, std::string why) {
    result_.unsupported.push_back({std::move(place), std::move(op), "", 0, std::move(why)});
  }

  Status region(const Function& function, const Region& region, int depth) {
    if (depth > kMaxDepth) return fail(Code::kUnimplemented, "regions are nested too deeply");
    for (std::size_t i = 0; i < region.operations.size(); ++i) {
      const Operation& operation = region.operations[i];
      KILN_TRY(visit(function, operation, placeOf(function, i), depth));
      for (const Region& inner : operation.regions) KILN_TRY(this->region(function, inner, depth + 1));
    }
    return {};
  }

  Status visit(const Function& function, const Operation& operation, const std::string& place, int depth) {
    if (operation.name == "return") return {};
    ++result_.operations;
    ++result_.byName[fullName(operation)];
    for (const auto* list : {&operation.operands, &operation.results})
      for (ValueId value : *list)
        if (value >= function.types.size()) return missingType(function);
    std::string why = reason(operation, function);
    for (ValueId value : operation.results)
      if (why.empty()) why = whyNot(function.types[value]);
    if (!why.empty()) note(place, fullName(operation), why);
    const bool isCall = operation.name == "call";
    if (!isCall && operation.name != "composite") return {};
    const Function* callee = program_.find(symbolOf(operation, isCall ? "callee" : "decomposition"));
    if (!callee) return fail(Code::kInvalidArgument, place + ": there is no such function");
    return this->function(*callee, depth + 1);
  }

  static std::string reason(const Operation& operation, const Function& function) {
    const auto isTouched = [&](const std::vector<ValueId>& values) {
      return std::ranges::any_of(values, [&](ValueId value) { return isComplex(function.types[value]); });
    };
    if (isTouched(operation.operands) || isTouched(operation.results))
      return isSplittable(operation, function)    ? ""
             : whyMissing(operation.name).empty() ? "it is not served for complex numbers"
                                                  : std::string(whyMissing(operation.name));
    if (operation.name == "call" || operation.name == "composite") return "";
    if (!findRow(operation.name)) {
      const std::string_view why = whyMissing(operation.name);
      return why.empty() ? "the operation is not served" : std::string(why);
    }
    if (operation.name != "custom_call") return "";
    const auto found = operation.attributes.find("call_target_name");
    const auto* target =
        found == operation.attributes.end() ? nullptr : std::get_if<std::string>(&found->second.value);
    if (!target || isServedTarget(*target)) return "";
    return "the custom call '" + *target + "' is not served";
  }

  const Program& program_;
  Survey result_;
  std::set<const Function*> seen_;
  std::vector<const Function*> calls_;
};

}  // namespace

std::string fullName(const Operation& operation) {
  if (operation.name == "call" || operation.name == "return") return "func." + operation.name;
  return operation.name.find('.') == std::string::npos ? "stablehlo." + operation.name : operation.name;
}

std::string placeOf(const Function& function, std::size_t index) {
  return "function " + function.name + ": operation " + std::to_string(index);
}

Result<Survey> survey(const Program& program, const Function& entry) {
  Surveyor surveyor(program);
  KILN_TRY(surveyor.function(entry, 0));
  return surveyor.take();
}

}  // namespace kiln::stablehlo
