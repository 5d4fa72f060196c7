#include "compiler_core/ir/types.h"

#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/MLIRContext.h"

namespace kiln::ir {

mlir::Type elementType(mlir::MLIRContext* context, DType type) {
  const auto integer = [&](unsigned width, bool isUnsigned) {
    return mlir::IntegerType::get(context, width,
                                  isUnsigned ? mlir::IntegerType::Unsigned : mlir::IntegerType::Signless);
  };
  switch (type) {
    case DType::kF32:
      return mlir::Float32Type::get(context);
    case DType::kF64:
      return mlir::Float64Type::get(context);
    case DType::kF16:
      return mlir::Float16Type::get(context);
    case DType::kBF16:
      return mlir::BFloat16Type::get(context);
    case DType::kI8:
      return integer(8, false);
    case DType::kI16:
      return integer(16, false);
    case DType::kI32:
      return integer(32, false);
    case DType::kI64:
      return integer(64, false);
    case DType::kU8:
      return integer(8, true);
    case DType::kU16:
      return integer(16, true);
    case DType::kU32:
      return integer(32, true);
    case DType::kU64:
      return integer(64, true);
    case DType::kBool:
      return integer(1, false);
    case DType::kF8E4M3FN:
      return mlir::Float8E4M3FNType::get(context);
    case DType::kF8E4M3FNUZ:
      return mlir::Float8E4M3FNUZType::get(context);
    case DType::kF8E5M2:
      return mlir::Float8E5M2Type::get(context);
    case DType::kF8E5M2FNUZ:
      return mlir::Float8E5M2FNUZType::get(context);
    case DType::kF8E8M0FNU:
      return mlir::Float8E8M0FNUType::get(context);
    case DType::kF4E2M1FN:
      return mlir::Float4E2M1FNType::get(context);
    case DType::kI4:
      return integer(4, false);
    case DType::kU4:
      return integer(4, true);
    case DType::kI2:
      return integer(2, false);
    case DType::kU2:
      return integer(2, true);
  }
  return {};
}

std::optional<DType> dtypeOf(mlir::Type element) {
  if (element.isF32()) return DType::kF32;
  if (element.isF64()) return DType::kF64;
  if (element.isF16()) return DType::kF16;
  if (element.isBF16()) return DType::kBF16;
  if (llvm::isa<mlir::Float8E4M3FNType>(element)) return DType::kF8E4M3FN;
  if (llvm::isa<mlir::Float8E4M3FNUZType>(element)) return DType::kF8E4M3FNUZ;
  if (llvm::isa<mlir::Float8E5M2Type>(element)) return DType::kF8E5M2;
  if (llvm::isa<mlir::Float8E5M2FNUZType>(element)) return DType::kF8E5M2FNUZ;
  if (llvm::isa<mlir::Float8E8M0FNUType>(element)) return DType::kF8E8M0FNU;
  if (llvm::isa<mlir::Float4E2M1FNType>(element)) return DType::kF4E2M1FN;
  auto integer = llvm::dyn_cast<mlir::IntegerType>(element);
  if (!integer || integer.isSigned()) return std::nullopt;
  const bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
    case 1:
      return isUnsigned ? std::nullopt : std::optional(DType::kBool);
    case 2:
      return isUnsigned ? DType::kU2 : DType::kI2;
    case 4:
      return isUnsigned ? DType::kU4 : DType::kI4;
    case 8:
      return isUnsigned ? DType::kU8 : DType::kI8;
    case 16:
      return isUnsigned ? DType::kU16 : DType::kI16;
    case 32:
      return isUnsigned ? DType::kU32 : DType::kI32;
    case 64:
      return isUnsigned ? DType::kU64 : DType::kI64;
    default:
      return std::nullopt;
  }
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
