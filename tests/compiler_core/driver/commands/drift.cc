#include "tests/compiler_core/driver/commands/drift.h"

#include <cmath>
#include <cstdio>
#include <memory>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/SymbolTable.h"

namespace kiln::testing_support {
namespace {

// The function that an operation lies in, outermost below the module.
std::string functionOf(mlir::Operation* op) {
  std::string name;
  for (; op != nullptr; op = op->getParentOp())
    if (auto symbol = llvm::dyn_cast<mlir::SymbolOpInterface>(op))
      if (op->getParentOp() != nullptr) name = symbol.getName().str();
  return name;
}

bool change(mlir::Operation& root) {
  mlir::arith::ConstantOp victim;
  root.walk([&](mlir::arith::ConstantOp constant) {
    auto value = llvm::dyn_cast<mlir::FloatAttr>(constant.getValue());
    // A sum with infinity would change nothing.
    if (!value || !value.getType().isF32() || std::abs(value.getValueAsDouble()) > 1000)
      return mlir::WalkResult::advance();
    victim = constant;
    return mlir::WalkResult::interrupt();
  });
  if (!victim) return false;
  auto value = llvm::cast<mlir::FloatAttr>(victim.getValue());
  victim.setValueAttr(mlir::FloatAttr::get(value.getType(), value.getValueAsDouble() + 0.125));
  std::fprintf(stderr, "drifted in %s\n", functionOf(victim).c_str());
  return true;
}

}  // namespace

std::function<void(std::string_view pass, mlir::Operation& op)> driftAfter(std::string pass) {
  return [pass = std::move(pass), done = std::make_shared<bool>(false)](std::string_view name,
                                                                        mlir::Operation& op) {
    if (!*done && name == pass) *done = change(op);
  };
}

}  // namespace kiln::testing_support
