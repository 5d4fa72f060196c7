// Weights that stay packed: what the products of a decoder read.
#ifndef KILN_COMPILER_CORE_IR_PACKED_OPS_TD
#define KILN_COMPILER_CORE_IR_PACKED_OPS_TD

include "compiler_core/ir/kiln_dialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Kiln_Codes : 3DTensorOf<[UI8, I8]>;
def Kiln_BlockScales : 2DTensorOf<[F32]>;
def Kiln_BlockZeros : 2DTensorOf<[UI8, I8, F32]>;

def Kiln_DequantiseOp : Op<Kiln_Dialect, "dequantise", [Pure, InferTypeOpAdaptor]> {
  let summary = "(codes - zeros) * scales of a matrix in blocks of rows -> [rows, columns]";
  let description = [{
    The matrix has its rows in blocks of equal size, and each column of a block a scale and a zero point. codes
    [blocks, bytes, columns]: with `bits` 8 each is a code, of either sign; with 4 or 2 a byte (unsigned) holds the
    codes of 8 / bits rows that follow each other, the first in its lowest bits. scales [blocks, columns]; zeros the same
    or absent, which is 0. Result [blocks * bytes * 8 / bits, columns] in f32: the difference is exact, the product is
    rounded once. All shapes are static.
  }];
  let arguments = (ins Kiln_Codes:$codes, Kiln_BlockScales:$scales, Optional<Kiln_BlockZeros>:$zeros, I64Attr:$bits);
  let results = (outs 2DTensorOf<[F32]>:$result);
  let assemblyFormat = [{
    $codes `scales` $scales (`zeros` $zeros^)? `bits` $bits attr-dict `:` functional-type(operands, $result)
  }];
}

#endif
