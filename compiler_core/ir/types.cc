#include "compiler_core/ir/types.h"

#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/MLIRContext.h"

namespace kiln::ir {

mlir::Type elementType(mlir::MLIRContext* context, DType type) {
  switch (type) {
    case DType::kF32:
      return mlir::Float32Type::get(context);
    case DType::kF64:
      return mlir::Float64Type::get(context);
    case DType::kI32:
      return mlir::IntegerType::get(context, 32);
    case DType::kI64:
      return mlir::IntegerType::get(context, 64);
    case DType::kBool:
      return mlir::IntegerType::get(context, 1);
    default:
      return {};
  }
}

std::optional<DType> dtypeOf(mlir::Type element) {
  if (element.isF32()) return DType::kF32;
  if (element.isF64()) return DType::kF64;
  if (element.isInteger(32)) return DType::kI32;
  if (element.isInteger(64)) return DType::kI64;
  if (element.isInteger(1)) return DType::kBool;
  return std::nullopt;
}

std::optional<std::int64_t> checkedElements(llvm::ArrayRef<std::int64_t> shape) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 62;
  if (llvm::is_contained(shape, 0)) return 0;
  std::int64_t count = 1;
  for (std::int64_t dim : shape) {
    if (dim < 0 || count > kLimit / dim) return std::nullopt;
    count *= dim;
  }
  return count;
}

std::optional<std::int64_t> checkedBytes(mlir::RankedTensorType type) {
  auto dtype = dtypeOf(type.getElementType());
  auto count = checkedElements(type.getShape());
  if (!dtype || !count) return std::nullopt;
  auto width = static_cast<std::int64_t>(dtypeBytes(*dtype));
  if (*count > (std::int64_t{1} << 62) / width) return std::nullopt;
  return *count * width;
}

std::string typeText(DType dtype, llvm::ArrayRef<std::int64_t> shape) {
  std::string text(dtypeName(dtype));
  llvm::raw_string_ostream stream(text);
  stream << '[';
  llvm::interleave(shape, stream, ",");
  stream << ']';
  return text;
}

std::vector<std::string> nodeNames(mlir::Location location) {
  std::vector<std::string> names;
  location->walk([&](mlir::Location part) {
    if (auto name = llvm::dyn_cast<mlir::NameLoc>(part))
      if (!llvm::is_contained(names, name.getName().str())) names.push_back(name.getName().str());
    return mlir::WalkResult::advance();
  });
  return names;
}

std::string nodeName(mlir::Location location) {
  auto names = nodeNames(location);
  return names.empty() ? std::string() : names.front();
}

}  // namespace kiln::ir
