#include "compiler_core/frontend/dialects/import/survey.h"

#include <set>

#include "compiler_core/frontend/dialects/import/operation_table.h"
#include "llvm/Support/raw_ostream.h"
#include "manifest/base/printable.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/SymbolTable.h"

namespace kiln::dialects {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::int64_t kMaxRank = 16;

// Whether the shape can be calculated with: no more elements than 60 bits count.
bool isSensible(mlir::ShapedType type) {
  std::int64_t count = 1;
  for (const std::int64_t extent : type.getShape()) {
    if (mlir::ShapedType::isDynamic(extent) || extent == 0) continue;
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count) || count > std::int64_t{1} << 60)
      return false;
  }
  return true;
}

class Surveyor {
 public:
  Status function(mlir::func::FuncOp function, int depth) {
    if (depth > kMaxDepth) return fail(Code::kUnimplemented, "functions call each other too deeply");
    const std::string name = printable(std::string_view(function.getName()));
    if (llvm::is_contained(calls_, function))
      return fail(Code::kInvalidArgument, "function " + name + " calls itself");
    if (!seen_.insert(function.getOperation()).second) return {};
    if (!llvm::hasSingleElement(function.getBody()))
      return fail(Code::kUnimplemented, "function " + name + " has several blocks, which are not served");
    ++result_.functions;
    calls_.push_back(function);
    for (auto [i, argument] : llvm::enumerate(function.getArguments()))
      if (std::string why = whyNot(argument.getType()); !why.empty() && depth == 0)
        note("argument " + std::to_string(i), "(input)", why);
    std::int64_t index = 0;
    KILN_TRY(region(function.getBody(), name, index, depth));
    calls_.pop_back();
    return {};
  }

  Survey take() { return std::move(result_); }

 private:
  void note(std::string place, std::string op, std::string why) {
    result_.unsupported.push_back({std::move(place), std::move(op), "", 0, std::move(why)});
  }

  Status region(mlir::Region& region, const std::string& function, std::int64_t& index, int depth) {
    if (depth > kMaxDepth) return fail(Code::kUnimplemented, "regions are nested too deeply");
    if (region.empty()) return {};
    for (mlir::Operation& operation : region.front()) {
      KILN_TRY(visit(operation, placeOf(function, index++), depth));
      for (mlir::Region& inner : operation.getRegions())
        KILN_TRY(this->region(inner, function, index, depth + 1));
    }
    return {};
  }

  Status visit(mlir::Operation& operation, const std::string& place, int depth) {
    if (isTerminator(operation)) return {};
    ++result_.operations;
    const std::string name = printable(std::string_view(operation.getName().getStringRef()));
    ++result_.byName[name];
    std::string why = whyMissing(operation);
    if (why.empty() && llvm::any_of(operation.getRegions(), [](mlir::Region& region) {
          return !region.empty() && !llvm::hasSingleElement(region);
        }))
      why = "a region of several blocks is not served";
    for (const mlir::Type type : operation.getResultTypes())
      if (why.empty()) why = whyNot(type);
    if (!why.empty()) note(place, name, why);
    if (name != "func.call") return {};
    const mlir::func::FuncOp callee = calleeOf(operation);
    if (!callee) return fail(Code::kInvalidArgument, place + ": there is no such function with a body");
    return this->function(callee, depth + 1);
  }

  Survey result_;
  std::set<mlir::Operation*> seen_;
  std::vector<mlir::func::FuncOp> calls_;
};

}  // namespace

std::string textOf(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  type.print(stream);
  return printable(text);
}

std::string whyNot(mlir::Type type) {
  if (llvm::isa<mlir::tosa::shapeType>(type)) return {};
  if (const auto shaped = llvm::dyn_cast<mlir::ShapedType>(type)) {
    if (!llvm::isa<mlir::RankedTensorType>(type))
      return "values of type " + textOf(type) + " are not served: tensors with a rank are";
    if (shaped.getRank() > kMaxRank)
      return "a rank of more than " + std::to_string(kMaxRank) + " is not served";
    if (!isSensible(shaped)) return "a tensor of the absurd type " + textOf(type) + " is not served";
    type = shaped.getElementType();
  }
  if (kilnElement(type.getContext(), type)) return {};
  return "numbers of type " + textOf(type) + " are not served";
}

mlir::func::FuncOp entryOf(mlir::ModuleOp module) {
  mlir::func::FuncOp only;
  bool isOnly = true;
  for (mlir::func::FuncOp function : module.getOps<mlir::func::FuncOp>()) {
    if (function.isExternal()) continue;
    if (function.getName() == "main") return function;
    if (!function.isPublic()) continue;
    isOnly = !only;
    only = function;
  }
  return isOnly ? only : mlir::func::FuncOp();
}

mlir::func::FuncOp calleeOf(mlir::Operation& call) {
  auto function = mlir::SymbolTable::lookupNearestSymbolFrom<mlir::func::FuncOp>(
      &call, llvm::cast<mlir::func::CallOp>(call).getCalleeAttr());
  return function && !function.isExternal() ? function : mlir::func::FuncOp();
}

std::string placeOf(const std::string& function, std::int64_t index) {
  return "function " + function + ": operation " + std::to_string(index);
}

std::string nodeName(mlir::Operation& operation, std::int64_t index) {
  constexpr std::size_t kMost = 256;
  if (const auto name = operation.getLoc()->findInstanceOf<mlir::NameLoc>())
    if (!name.getName().empty()) return printable(std::string_view(name.getName().strref()), kMost);
  return operation.getName().stripDialect().str() + "/" + std::to_string(index);
}

std::vector<std::string> argumentNames(mlir::func::FuncOp entry) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (auto [i, argument] : llvm::enumerate(entry.getArguments())) {
    const auto location = argument.getLoc()->findInstanceOf<mlir::NameLoc>();
    std::string wanted = location ? printable(std::string_view(location.getName().strref())) : std::string();
    if (wanted.empty()) wanted = "arg" + std::to_string(i);
    std::string name = wanted;
    for (int next = 2; !taken.insert(name).second; ++next) name = wanted + "." + std::to_string(next);
    names.push_back(std::move(name));
  }
  return names;
}

Result<Survey> survey(mlir::func::FuncOp entry) {
  Surveyor surveyor;
  KILN_TRY(surveyor.function(entry, 0));
  return surveyor.take();
}

}  // namespace kiln::dialects
