// The scalar code of each elementwise operation, below the graph level. Private to compiler_core/schedule.
//
// An element is stored as storageOf(its type): i1 as i8 (vectors of i1 are packed bits in memory, tensors of
// the ABI are bytes), unsigned integers as signless ones, f16 and bf16 as i16, all that is narrower than a
// byte and the 8-bit floats as i8. It is calculated with as what unpack() gives: small floats as f32,
// everything else as stored. `element` is always the type of the graph level, which alone knows the sign of
// integers.
#pragma once

#include "compiler_core/ir/ir.h"

namespace kiln::schedule {

mlir::Type storageOf(mlir::Type element);
bool isSmallFloat(mlir::Type element);

mlir::Value unpack(mlir::OpBuilder& b, mlir::Location loc, mlir::Value stored, mlir::Type element);
mlir::Value pack(mlir::OpBuilder& b, mlir::Location loc, mlir::Value value, mlir::Type element);

// On unpacked values.
mlir::Value unaryScalar(mlir::OpBuilder& b, mlir::Location loc, ir::UnaryKind kind, mlir::Value x,
                        mlir::Type element);
mlir::Value binaryScalar(mlir::OpBuilder& b, mlir::Location loc, ir::BinaryKind kind, mlir::Value x,
                         mlir::Value y, mlir::Type element);
// The same for floats and signed integers, whose values tell their type.
mlir::Value binaryScalar(mlir::OpBuilder& b, mlir::Location loc, ir::BinaryKind kind, mlir::Value x,
                         mlir::Value y);
// Gives a stored i1.
mlir::Value compareScalar(mlir::OpBuilder& b, mlir::Location loc, ir::CompareKind kind, mlir::Value x,
                          mlir::Value y, mlir::Type element);
// How a value becomes a small float, as kiln.cast says.
struct CastRules {
  bool overflow = false;
  ir::CastRounding rounding = ir::CastRounding::Nearest;
};
// Between stored values.
mlir::Value castScalar(mlir::OpBuilder& b, mlir::Location loc, mlir::Value x, mlir::Type from, mlir::Type to,
                       const CastRules& rules = {});
// The same bits; only what is stored beside an element below a byte changes.
mlir::Value bitcastScalar(mlir::OpBuilder& b, mlir::Location loc, mlir::Value x, mlir::Type from,
                          mlir::Type to);
// A number of type `element`; infinities become the largest and smallest (signed) integers.
mlir::Value numberOf(mlir::OpBuilder& b, mlir::Location loc, mlir::Type element, double value);

// small_float.cc: from and to the code of a small float; `value` is f32 or f64.
mlir::Value decodeFloat(mlir::OpBuilder& b, mlir::Location loc, mlir::Value code, mlir::Type element);
mlir::Value encodeFloat(mlir::OpBuilder& b, mlir::Location loc, mlir::Value value, mlir::Type element,
                        const CastRules& rules);

// integer.cc: what integers do beyond single instructions. Nothing traps.
mlir::Value divideInt(mlir::OpBuilder& b, mlir::Location loc, mlir::Value x, mlir::Value y, bool isSigned);
// `floors`: the sign of the divisor, else that of the dividend.
mlir::Value remainderInt(mlir::OpBuilder& b, mlir::Location loc, mlir::Value x, mlir::Value y, bool isSigned,
                         bool floors);
mlir::Value powerInt(mlir::OpBuilder& b, mlir::Location loc, mlir::Value x, mlir::Value y, bool isSigned);
mlir::Value shiftInt(mlir::OpBuilder& b, mlir::Location loc, mlir::Value x, mlir::Value y, bool isSigned,
                     bool left);
// Truncation that saturates to `width` bits, 0 for NaN; the result has storage type `to`.
mlir::Value floatToInt(mlir::OpBuilder& b, mlir::Location loc, mlir::Value x, mlir::IntegerType to,
                       unsigned width, bool isSigned);

}  // namespace kiln::schedule
