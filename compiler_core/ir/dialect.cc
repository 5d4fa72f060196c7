#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/packed/packed_ops.h"
#include "compiler_core/ir/partition/partition_ops.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/DialectImplementation.h"

#include "compiler_core/ir/kiln_dialect.cc.inc"
#include "compiler_core/ir/kiln_enums.cc.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler_core/ir/kiln_attrs.cc.inc"
#define GET_OP_CLASSES
#include "compiler_core/ir/kiln_ops.cc.inc"

namespace kiln::ir {

void KilnDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "compiler_core/ir/kiln_ops.cc.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler_core/ir/partition/partition_ops.cc.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler_core/ir/packed/packed_ops.cc.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler_core/ir/kiln_attrs.cc.inc"
      >();
}

mlir::Operation* KilnDialect::materializeConstant(mlir::OpBuilder& builder, mlir::Attribute value,
                                                  mlir::Type type, mlir::Location location) {
  auto elements = llvm::dyn_cast<mlir::ElementsAttr>(value);
  if (!elements || elements.getType() != type) return nullptr;
  return ConstantOp::create(builder, location, type, elements);
}

}  // namespace kiln::ir
