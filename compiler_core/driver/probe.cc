#include "compiler_core/driver/probe.h"

#include <fmt/format.h>

#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/dims.h"
#include "compiler_core/ir/index_checks.h"
#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/profile.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/reference/evaluator.h"
#include "compiler_core/transforms/specialise.h"

namespace kiln::driver {
namespace {

std::string operationText(mlir::Operation& operation) {
  if (auto fused = llvm::dyn_cast<ir::FusedOp>(operation)) {
    std::string text;
    for (mlir::Operation& inner : fused.getBody().front().without_terminator())
      text += (text.empty() ? "" : " + ") + operationText(inner);
    return text;
  }
  std::string text = operation.getName().getStringRef().str();
  if (auto unary = llvm::dyn_cast<ir::UnaryOp>(operation))
    text += (" " + ir::stringifyUnaryKind(unary.getKind())).str();
  if (auto binary = llvm::dyn_cast<ir::BinaryOp>(operation))
    text += (" " + ir::stringifyBinaryKind(binary.getKind())).str();
  if (auto reduce = llvm::dyn_cast<ir::ReduceOp>(operation))
    text += (" " + ir::stringifyReduceKind(reduce.getKind())).str();
  return text;
}

ir::Signature signatureOf(mlir::Value value, std::string name, llvm::ArrayRef<std::string> symbols) {
  auto type = ir::tensorType(value);
  ir::Signature signature{std::move(name), *ir::dtypeOf(type.getElementType()), {}, {}};
  for (const ir::Dim& dim : ir::shapeOf(type)) {
    signature.shape.push_back(dim.isStatic() ? dim.value() : analysis::kSymbolic);
    signature.dimNames.push_back(dim.isStatic() ? "" : dim.text(symbols));
  }
  return signature;
}

// Without expected values.
std::vector<Probe> expose(mlir::ModuleOp module, std::vector<ir::Signature>& outputs) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>(ir::kMain);
  mlir::Block& block = main.front();
  mlir::Operation* end = block.getTerminator();
  llvm::SmallVector<mlir::Value> results(end->getOperands());
  std::vector<std::string> symbols;
  for (const ir::Symbol& symbol : ir::symbolsOf(module)) symbols.push_back(symbol.name);
  llvm::SmallVector<mlir::DictionaryAttr> attributes;
  for (unsigned i = 0; i < results.size(); ++i) attributes.push_back(main.getResultAttrDict(i));
  // Counts stay the last result.
  const auto counters = ir::countersOf(main);
  mlir::Value counts;
  mlir::DictionaryAttr countsAttribute;
  if (!ir::indexChecksOf(main).empty()) {
    counts = results.pop_back_val();
    countsAttribute = attributes.pop_back_val();
  }
  mlir::OpBuilder builder(module.getContext());
  std::vector<Probe> probes;
  for (mlir::Operation& operation : block.without_terminator()) {
    if (llvm::isa<ir::ConstantOp, ir::WeightOp>(operation) || counters.contains(&operation)) continue;
    for (mlir::Value value : operation.getResults()) {
      auto found = llvm::find(results, value);
      probes.push_back({ir::nodeNames(operation.getLoc()),
                        operationText(operation),
                        static_cast<std::size_t>(found - results.begin()),
                        {}});
      if (found != results.end()) continue;
      outputs.push_back(signatureOf(value, fmt::format("kiln.probe.{}", results.size()), symbols));
      attributes.push_back(
          builder.getDictionaryAttr(ir::NameAttr::named(builder.getStringAttr(outputs.back().name))));
      results.push_back(value);
    }
  }
  if (counts) {
    results.push_back(counts);
    attributes.push_back(countsAttribute);
  }
  end->setOperands(results);
  main.setFunctionType(mlir::FunctionType::get(module.getContext(), main.getArgumentTypes(),
                                               mlir::TypeRange(mlir::ValueRange(results))));
  main.setAllResultAttrs(attributes);
  return probes;
}

}  // namespace

Result<std::vector<Probe>> probeGraph(const ProbeRequest& request, mlir::ModuleOp module,
                                      frontend::Captured& captured) {
  std::vector<Probe> probes = expose(module, captured.outputs);
  std::vector<ir::SymbolRange> numbers;
  for (const ir::Symbol& symbol : captured.symbols) {
    auto found = request.dims.find(symbol.name);
    const std::int64_t value = found == request.dims.end() ? symbol.range.min : found->second;
    numbers.push_back({value, value, value});
  }
  mlir::OwningOpRef<mlir::ModuleOp> one(module.clone());
  transforms::specialise(*one, numbers);
  KILN_ASSIGN(auto expected, reference::evaluate(*one, captured.weights, request.inputs));
  for (Probe& probe : probes) probe.expected = std::move(expected[probe.output]);
  return probes;
}

}  // namespace kiln::driver
