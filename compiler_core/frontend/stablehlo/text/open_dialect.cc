#include "compiler_core/frontend/stablehlo/text/open_dialect.h"

#include "compiler_core/frontend/stablehlo/text/attribute_syntax.h"
#include "compiler_core/frontend/stablehlo/text/operation_syntax.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectImplementation.h"

namespace kiln::stablehlo {
namespace {

class OpenDialect : public mlir::Dialect {
 public:
  OpenDialect(llvm::StringRef name, mlir::MLIRContext* context, mlir::TypeID id)
      : Dialect(name, context, id) {
    allowUnknownOperations();
    allowUnknownTypes();
  }

  mlir::Attribute parseAttribute(mlir::DialectAsmParser& parser, mlir::Type) const override {
    return parseDialectAttribute(parser, getNamespace());
  }

  std::optional<ParseOpHook> getParseOperationHook(llvm::StringRef name) const override {
    if (!hasOperationSyntax(name)) return std::nullopt;
    return ParseOpHook(parseOperation);
  }
};

// One class for each dialect, since MLIR tells dialects apart by their classes.
class StablehloDialect final : public OpenDialect {
 public:
  explicit StablehloDialect(mlir::MLIRContext* context)
      : OpenDialect(getDialectNamespace(), context, mlir::TypeID::get<StablehloDialect>()) {}
  static llvm::StringLiteral getDialectNamespace() { return llvm::StringLiteral("stablehlo"); }
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StablehloDialect)
};
class ChloDialect final : public OpenDialect {
 public:
  explicit ChloDialect(mlir::MLIRContext* context)
      : OpenDialect(getDialectNamespace(), context, mlir::TypeID::get<ChloDialect>()) {}
  static llvm::StringLiteral getDialectNamespace() { return llvm::StringLiteral("chlo"); }
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ChloDialect)
};
class CheckDialect final : public OpenDialect {
 public:
  explicit CheckDialect(mlir::MLIRContext* context)
      : OpenDialect(getDialectNamespace(), context, mlir::TypeID::get<CheckDialect>()) {}
  static llvm::StringLiteral getDialectNamespace() { return llvm::StringLiteral("check"); }
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckDialect)
};
class InterpreterDialect final : public OpenDialect {
 public:
  explicit InterpreterDialect(mlir::MLIRContext* context)
      : OpenDialect(getDialectNamespace(), context, mlir::TypeID::get<InterpreterDialect>()) {}
  static llvm::StringLiteral getDialectNamespace() { return llvm::StringLiteral("interpreter"); }
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InterpreterDialect)
};

}  // namespace

void loadTextDialects(mlir::MLIRContext& context) {
  context.allowUnregisteredDialects();
  context.loadDialect<mlir::func::FuncDialect, StablehloDialect, ChloDialect, CheckDialect,
                      InterpreterDialect>();
}

}  // namespace kiln::stablehlo
