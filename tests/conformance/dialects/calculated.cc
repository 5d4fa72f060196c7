#include "tests/conformance/dialects/calculated.h"

#include "compiler_core/frontend/dialects/import/import.h"
#include "compiler_core/reference/evaluator.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kiln::conformance {
namespace {

// The module with this function alone, as @main.
mlir::OwningOpRef<mlir::ModuleOp> only(mlir::ModuleOp module, llvm::StringRef name) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  for (mlir::func::FuncOp function : llvm::make_early_inc_range(copy->getOps<mlir::func::FuncOp>()))
    if (function.getName() != name) function.erase();
  for (mlir::func::FuncOp function : copy->getOps<mlir::func::FuncOp>()) {
    function.setName("main");
    function.setPublic();
  }
  return copy;
}

std::string textOf(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

std::string bytecodeOf(mlir::ModuleOp module) {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  return mlir::writeBytecodeToFile(module, stream).succeeded() ? bytes : std::string();
}

// What a function without arguments returns.
Result<std::vector<reference::HostTensor>> tensorsOf(mlir::ModuleOp module, llvm::StringRef name) {
  auto function = module.lookupSymbol<mlir::func::FuncOp>(name);
  if (!function) return fail(Code::kInvalidArgument, "the case has no @" + name.str());
  if (function.getNumResults() == 0) return std::vector<reference::HostTensor>();
  const std::string text = textOf(only(module, name).get());
  KILN_ASSIGN(dialects::Program program, dialects::readProgram(asBytes(text), name.str()));
  mlir::MLIRContext context;
  frontend::prepareContext(context);
  KILN_ASSIGN(const frontend::Captured captured,
              dialects::importProgram(context, std::make_shared<dialects::Program>(std::move(program)), {}));
  return reference::evaluate(captured.module.get(), captured.weights, {});
}

double attributeOf(mlir::ModuleOp module, llvm::StringRef name) {
  const auto value = module->getAttrOfType<mlir::FloatAttr>(name);
  return value ? value.getValueAsDouble() : 0;
}

}  // namespace

Result<CalculatedCase> calculated(const DialectsCase& one) {
  KILN_ASSIGN(dialects::Program program, dialects::readProgram(asBytes(one.text), one.name));
  mlir::ModuleOp module = program.module.get();
  CalculatedCase made;
  made.tolerance = {attributeOf(module, "check.rtol"), attributeOf(module, "check.atol")};
  const mlir::OwningOpRef<mlir::ModuleOp> main = only(module, "main");
  made.text = textOf(main.get());
  made.bytecode = bytecodeOf(main.get());
  KILN_ASSIGN(made.inputs, tensorsOf(module, "inputs"));
  KILN_ASSIGN(made.expected, tensorsOf(module, "expected"));
  return made;
}

Status compareResults(const CalculatedCase& given, const std::vector<reference::HostTensor>& got) {
  if (got.size() != given.expected.size()) return fail(Code::kInternal, "it gives another number of results");
  for (std::size_t i = 0; i < got.size(); ++i) {
    const reference::HostTensor& wanted = given.expected[i];
    const std::string place = "result " + std::to_string(i);
    if (got[i].dtype != wanted.dtype || got[i].shape != wanted.shape)
      return fail(Code::kInternal, place + " is of another type or shape");
    const bool isFloat = wanted.dtype == DType::kF16 || wanted.dtype == DType::kBF16 ||
                         wanted.dtype == DType::kF32 || wanted.dtype == DType::kF64;
    const runtime::Tolerance tolerance =
        isFloat ? runtime::toleranceFor(wanted.dtype, given.tolerance) : runtime::Tolerance{0, 0};
    KILN_ASSIGN(const runtime::Comparison compared,
                runtime::compare(wanted.dtype, got[i].bytes, wanted.bytes, tolerance));
    if (!compared.passed()) return fail(Code::kInternal, place + ": " + compared.text());
  }
  return {};
}

}  // namespace kiln::conformance
