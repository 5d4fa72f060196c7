#include "compiler_core/driver/evaluate_reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler_core/driver/import_profiles.h"
#include "compiler_core/driver/reference_effort.h"
#include "compiler_core/frontend/frontends.h"
#include "compiler_core/ir/index_checks.h"
#include "compiler_core/reference/evaluator.h"
#include "compiler_core/reference/inputs.h"

namespace kiln::driver {
namespace {

// Weights that are kept in 16 bits and cast are as exact as others.
DType coarsestOf(mlir::ModuleOp module) {
  DType coarsest = DType::kF32;
  const auto note = [&](mlir::TypeRange types) {
    for (const mlir::Type type : types) {
      const mlir::Type element = mlir::getElementTypeOrSelf(type);
      if (element.isBF16() || (element.isF16() && coarsest != DType::kBF16))
        coarsest = element.isBF16() ? DType::kBF16 : DType::kF16;
    }
  };
  module.walk([&](mlir::Operation* op) {
    if (auto function = mlir::dyn_cast<mlir::func::FuncOp>(op)) return note(function.getArgumentTypes());
    if (!mlir::isa<ir::WeightOp, ir::ConstantOp>(op)) note(op->getResultTypes());
  });
  return coarsest;
}

bool hasBytes(mlir::ModuleOp module) {
  const auto isByte = [](mlir::Type type) { return mlir::getElementTypeOrSelf(type).isInteger(8); };
  return module
      .walk([&](mlir::Operation* op) {
        auto function = mlir::dyn_cast<mlir::func::FuncOp>(op);
        const bool found = function ? llvm::any_of(function.getArgumentTypes(), isByte)
                                    : llvm::any_of(op->getResultTypes(), isByte);
        return found ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

}  // namespace

Result<ReferenceResult> evaluateReference(const ModelPaths& paths,
                                          const std::map<std::string, std::int64_t>& dims, const Pins& pins,
                                          const Composites& sequences, std::uint64_t seed,
                                          const std::map<std::string, reference::HostTensor>& given) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  frontend::prepareContext(context);
  KILN_ASSIGN(const frontend::LoadedModel loaded, frontend::loadModel(paths.model, paths.parameters));
  auto imported = loaded->import(context, {dims, pins, {}, sequences});
  if (!imported) {
    analysis::Profile sizes;
    for (const auto& [name, size] : dims) sizes.dims.push_back({name, size, size, size});
    CompileRequest request;
    request.pins = pins;
    request.sequences = sequences;
    return fail(withSizes(context, *loaded, request, {sizes}, imported.error()));
  }
  frontend::Captured captured = std::move(*imported);
  ReferenceResult result{captured.inputs,           captured.outputs, {}, {}, coarsestOf(*captured.module),
                         hasBytes(*captured.module)};
  for (const auto& [name, value] : given)
    if (llvm::none_of(captured.inputs, [&](const ir::Signature& input) { return input.name == name; }))
      return fail(Code::kFailedPrecondition, fmt::format("the model has no input '{}'", name));
  KILN_TRY(checkEffort(effortOf(*captured.module)));  // before anything is made
  for (const ir::Signature& input : captured.inputs) {
    if (auto own = given.find(input.name); own != given.end()) {
      if (own->second.dtype != input.dtype || own->second.shape != input.shape)
        return fail(Code::kFailedPrecondition,
                    fmt::format("input '{}': expected {}[{}], got {}[{}]", input.name, dtypeName(input.dtype),
                                fmt::join(input.shape, ","), dtypeName(own->second.dtype),
                                fmt::join(own->second.shape, ",")));
      result.inputValues.push_back(own->second);
      continue;
    }
    result.inputValues.push_back(reference::makeInput(input.name, input.dtype, input.shape, seed));
    reference::HostTensor& value = result.inputValues.back();
    if (auto pin = pins.find(input.name); pin != pins.end()) {
      KILN_ASSIGN(value.bytes, pinBytes(input.dtype, pin->second));
    }
    for (const ir::Symbol& symbol : captured.symbols) {
      if (!symbol.element || symbol.input != input.name) continue;
      const auto at = static_cast<std::size_t>(symbol.index);
      if (input.dtype == DType::kI64)
        value.data<std::int64_t>()[at] = symbol.range.min;
      else
        value.data<std::int32_t>()[at] = static_cast<std::int32_t>(symbol.range.min);
    }
  }
  KILN_ASSIGN(result.outputValues,
              reference::evaluate(*captured.module, captured.weights, result.inputValues));
  const auto checks = ir::indexChecksOf(captured.module->lookupSymbol<mlir::func::FuncOp>(ir::kMain));
  if (checks.empty()) return result;
  for (std::size_t i = 0; i < checks.size(); ++i)
    if (const std::int64_t count = result.outputValues.back().data<std::int64_t>()[i]; count != 0)
      result.outOfRange[checks[i]] = count;
  result.outputValues.pop_back();
  return result;
}

}  // namespace kiln::driver
