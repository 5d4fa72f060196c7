#include "compiler_core/frontend/graph/pinned.h"

#include "compiler_core/analysis/constant_values.h"
#include "compiler_core/frontend/graph/graph_builder.h"

namespace kiln::frontend {
namespace {

Result<mlir::Value> constantOf(mlir::OpBuilder& builder, mlir::Location location, const ir::Signature& input,
                               const std::vector<PinValue>& values) {
  std::int64_t elements = 1;
  for (std::int64_t extent : input.shape) elements *= extent;
  if (elements != static_cast<std::int64_t>(values.size()))
    return fail(Code::kFailedPrecondition, "the pin has " + std::to_string(values.size()) +
                                               " values, shape " + shapeText(input.shape) + " has " +
                                               std::to_string(elements) + " elements; give --pin " +
                                               input.name + "= all of them");
  auto bytes = pinBytes(input.dtype, values);
  if (!bytes) {
    Error error = bytes.error();
    if (error.code == Code::kInvalidArgument)
      error.code = Code::kFailedPrecondition;  // not the model's fault
    return fail(std::move(error));
  }
  if (bytes->size() > static_cast<std::size_t>(ir::kMaxConstantBytes))
    return fail(Code::kUnimplemented, "a pin of " + std::to_string(bytes->size()) + " bytes; at most " +
                                          std::to_string(ir::kMaxConstantBytes) + " are served");
  Bytes data = *bytes;
  const std::size_t width = dtypeBytes(input.dtype);
  if (analysis::isSplat(data, width)) data = data.first(width);
  auto held = analysis::toElements(builder.getContext(), input.dtype, input.shape, data);
  return ir::ConstantOp::create(builder, location, held.getType(), held).getResult();
}

}  // namespace

Result<mlir::Value> pinnedValue(mlir::OpBuilder& builder, mlir::Location location, const ir::Signature& input,
                                const std::vector<PinValue>& values) {
  auto value = constantOf(builder, location, input, values);
  if (!value) return fail(value.error().in("pinned input '" + input.name + "'"));
  return value;
}

Status checkPins(const Pins& pins, llvm::ArrayRef<ir::Signature> inputs) {
  for (const auto& [name, values] : pins) {
    if (llvm::any_of(inputs, [&](const ir::Signature& input) { return input.name == name; })) continue;
    std::string known;
    for (const ir::Signature& input : inputs) known += (known.empty() ? "'" : ", '") + input.name + "'";
    return fail(Code::kFailedPrecondition, "a value is pinned for '" + name +
                                               "', which is no input of the model; its inputs are " + known);
  }
  return {};
}

}  // namespace kiln::frontend
