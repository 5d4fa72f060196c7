#include "compiler_core/ir/attributes.h"

namespace kiln::ir {

namespace {

// The name of a function, kernel or module; empty for others.
std::string nameOf(mlir::Operation* op) {
  auto name = op->getAttrOfType<mlir::StringAttr>(mlir::SymbolTable::getSymbolAttrName());
  return name ? "@" + name.str() + " " : "";
}

}  // namespace

mlir::InFlightDiagnostic lacks(mlir::Operation* op, llvm::StringRef attribute) {
  return op->emitOpError() << nameOf(op) << "lacks " << attribute;
}

mlir::InFlightDiagnostic lacks(mlir::func::FuncOp function, unsigned argument, llvm::StringRef attribute) {
  return function.emitOpError() << nameOf(function) << "lacks " << attribute << " on argument " << argument;
}

tl::unexpected<Error> missing(mlir::Operation* op, llvm::StringRef attribute) {
  return fail(Code::kInternal,
              "'" + op->getName().getStringRef().str() + "' op " + nameOf(op) + "lacks " + attribute.str());
}

void setArena(mlir::Operation* function, const Arena& arena) {
  mlir::MLIRContext* context = function->getContext();
  ArenaBytesAttr::set(function, toAttribute(context, arena.bytes));
  ArenaTotalBytesAttr::set(function, toAttribute(context, arena.totalBytes));
  ArenaLiveBytesAttr::set(function, toAttribute(context, arena.liveBytes));
  ArenaBuffersAttr::set(function, toAttribute(context, static_cast<std::uint64_t>(arena.buffers)));
}

mlir::FailureOr<Arena> arenaOf(mlir::Operation* function) {
  const auto bytes = ArenaBytesAttr::require(function), total = ArenaTotalBytesAttr::require(function),
             live = ArenaLiveBytesAttr::require(function), buffers = ArenaBuffersAttr::require(function);
  if (failed(bytes) || failed(total) || failed(live) || failed(buffers)) return mlir::failure();
  return Arena{unsignedOf(*bytes), unsignedOf(*total), unsignedOf(*live), buffers->getInt()};
}

}  // namespace kiln::ir
