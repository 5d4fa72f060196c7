#include "compiler_core/frontend/dialects/import/literal.h"

#include <cstring>

#include "compiler_core/analysis/constant_values.h"
#include "compiler_core/frontend/dialects/import/survey.h"
#include "compiler_core/frontend/graph/tensors.h"
#include "compiler_core/ir/types.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

namespace kiln::dialects {
namespace {

Bytes bytesOf(llvm::ArrayRef<char> data) {
  return {reinterpret_cast<const std::uint8_t*>(data.data()), data.size()};
}

// Of elements whose place in the attribute is not what it is in a weight.
std::vector<std::uint8_t> unpacked(mlir::DenseIntElementsAttr elements, DType dtype, bool onlyFirst) {
  const std::size_t width = dtypeBytes(dtype);
  std::vector<std::uint8_t> bytes;
  for (const llvm::APInt& value : elements.getValues<llvm::APInt>()) {
    const bool isSigned = dtype != DType::kBool;
    const auto number = isSigned ? static_cast<std::uint64_t>(value.getSExtValue()) : value.getZExtValue();
    const std::size_t at = bytes.size();
    bytes.resize(at + width);
    std::memcpy(bytes.data() + at, &number, width);
    if (onlyFirst) break;
  }
  return bytes;
}

// Bytes of a constant that are as a weight has them; nothing where they must be unpacked.
std::optional<Bytes> plainBytes(mlir::ElementsAttr elements, std::size_t width) {
  const mlir::Type element = elements.getElementType();
  if (element.isIndex() || element.getIntOrFloatBitWidth() != 8 * width) return std::nullopt;
  if (const auto resource = llvm::dyn_cast<mlir::DenseResourceElementsAttr>(elements)) {
    const mlir::AsmResourceBlob* blob = resource.getRawHandle().getBlob();
    return blob ? bytesOf(blob->getData()) : Bytes();
  }
  const auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(elements);
  return dense ? std::optional(bytesOf(dense.getRawData())) : std::nullopt;
}

}  // namespace

Result<Value> literalValue(mlir::OpBuilder& builder, mlir::Location location, ir::WeightTable& weights,
                           mlir::ElementsAttr elements, const std::string& name,
                           const std::shared_ptr<const void>& owner) {
  frontend::GraphBuilder graph(builder, location);
  const mlir::ShapedType type = elements.getShapedType();
  if (std::string why = whyNot(type); !why.empty()) return unserved(std::move(why));
  if (!type.hasStaticShape()) return invalid("a constant has no static shape");
  const mlir::Type element = kilnElement(builder.getContext(), type.getElementType());
  const std::optional<DType> dtype = ir::dtypeOf(element);
  if (!dtype) return unserved("constants of type " + textOf(type) + " are not served");
  const llvm::ArrayRef<std::int64_t> shape = type.getShape();
  const auto count = ir::checkedElements(shape);
  if (!count) return invalid("a constant is absurdly large");
  if (*count == 0) return graph.filled(element, Dims(shape), 0);
  const std::size_t width = dtypeBytes(*dtype);
  std::shared_ptr<const void> keeps = owner;
  std::optional<Bytes> bytes = plainBytes(elements, width);
  const auto dense = llvm::dyn_cast<mlir::DenseIntElementsAttr>(elements);
  if (!bytes) {
    if (!dense) return unserved("constants of this kind are not served: dense ones are");
    const auto own = std::make_shared<const std::vector<std::uint8_t>>(
        unpacked(dense, *dtype, /*onlyFirst=*/dense.isSplat()));
    bytes = Bytes(*own);
    keeps = own;
  }
  if (llvm::isa<mlir::DenseElementsAttr>(elements) && elements.isSplat() && bytes->size() == width)
    return graph.constant(analysis::toElements(builder.getContext(), *dtype, shape, *bytes));
  if (bytes->size() != static_cast<std::size_t>(*count) * width)
    return invalid("a constant has " + std::to_string(bytes->size()) + " bytes, its type needs " +
                   std::to_string(static_cast<std::size_t>(*count) * width));
  return frontend::addTensor(weights, builder, location, {name, *dtype, shape.vec(), *bytes, keeps});
}

}  // namespace kiln::dialects
