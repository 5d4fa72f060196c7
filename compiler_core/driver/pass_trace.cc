#include "compiler_core/driver/pass_trace.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace kiln::driver {
namespace {

std::string nameOf(mlir::Operation& op) {
  auto symbol = llvm::dyn_cast<mlir::SymbolOpInterface>(op);
  return symbol ? symbol.getName().str() : op.getName().getStringRef().str();
}

// Generic form: no custom printer, whose choice of names may depend on what surrounds the operation.
Digest textDigest(mlir::Operation& op) {
  std::string text;
  llvm::raw_string_ostream out(text);
  mlir::OpPrintingFlags flags;
  flags.printGenericOpForm().useLocalScope().skipRegions(false);
  op.print(out, flags);
  return digestOf(text);
}

}  // namespace

void PassTrace::record(std::string_view pass, mlir::Operation& op) {
  PassRecord record{std::string(pass), {}, textDigest(op), {}};
  if (auto module = llvm::dyn_cast<mlir::ModuleOp>(op)) {
    for (mlir::Operation& inner : module.getBody()->getOperations())
      if (llvm::isa<mlir::SymbolOpInterface>(inner))
        record.functions.push_back({nameOf(inner), textDigest(inner)});
  } else {
    record.scope = nameOf(op);
  }
  records_.push_back(std::move(record));
}

void PassTrace::recordLlvm(std::string_view text) {
  PassRecord record{"stage:program", {}, digestOf(text), {}};
  constexpr std::string_view kDefine = "\ndefine ";
  for (std::size_t at = text.find(kDefine); at != std::string_view::npos;) {
    const std::size_t next = text.find(kDefine, at + 1);
    const std::string_view body = text.substr(at + 1, next == std::string_view::npos ? next : next - at - 1);
    const std::size_t name = body.find('@');
    if (name != std::string_view::npos)
      record.functions.push_back(
          {std::string(body.substr(name + 1, body.find('(', name) - name - 1)), digestOf(body)});
    at = next;
  }
  records_.push_back(std::move(record));
}

}  // namespace kiln::driver
