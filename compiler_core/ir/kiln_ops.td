// Operations of the `kiln` dialect.
#ifndef KILN_COMPILER_CORE_IR_KILN_OPS_TD
#define KILN_COMPILER_CORE_IR_KILN_OPS_TD

include "compiler_core/ir/kiln_dialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Kiln_Op<string mnemonic, list<Trait> traits = []> : Op<Kiln_Dialect, mnemonic, traits # [Pure]>;

// The result type follows from operands and attributes: builders infer it, and the verifier compares.
class Kiln_InferredOp<string mnemonic, list<Trait> traits = []>
    : Kiln_Op<mnemonic, traits # [InferTypeOpAdaptor]>;

//===-- Data ----------------------------------------------------------------------------------------------------===//

def Kiln_WeightOp : Kiln_Op<"weight"> {
  let summary = "a tensor of the weight table";
  let description = [{
    Refers to entry `index` of the WeightTable that travels beside the module. Weights are never attributes: their
    bytes stay in the mapped model file.
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$index);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$index attr-dict `:` type($result)";
}

def Kiln_ConstantOp : Kiln_Op<"constant", [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "a small or splat constant";
  let description = [{ At most 1 KiB of payload unless it is a splat; anything larger is a `kiln.weight`. }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
  let hasVerifier = 1;
}

//===-- Elementwise ---------------------------------------------------------------------------------------------===//

def Kiln_UnaryOp : Kiln_Op<"unary", [SameOperandsAndResultType]> {
  let summary = "elementwise function of one tensor";
  let description = [{
    `not` is for i1; neg, abs, relu for every number; all others for floats. relu(NaN) is NaN. round is to nearest, ties
    to even. sigmoid(x) = 1 / (1 + exp(-x)).
  }];
  let arguments = (ins Kiln_UnaryKindAttr:$kind, Kiln_Tensor:$input);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$kind $input attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Kiln_BinaryOp : Kiln_Op<"binary", [SameOperandsAndResultType]> {
  let summary = "elementwise function of two tensors";
  let description = [{
    and, or, xor are for i1 and integers, the others for numbers, pow for floats. Integers wrap; integer division
    truncates, division by zero gives 0. max and min give NaN if either operand is NaN.
  }];
  let arguments = (ins Kiln_BinaryKindAttr:$kind, Kiln_Tensor:$lhs, Kiln_Tensor:$rhs);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Kiln_CompareOp : Kiln_InferredOp<"compare", [SameTypeOperands]> {
  let summary = "elementwise comparison, false where an operand is NaN";
  let arguments = (ins Kiln_CompareKindAttr:$kind, Kiln_Tensor:$lhs, Kiln_Tensor:$rhs);
  let results = (outs Kiln_Bool:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` type($lhs)";
}

def Kiln_SelectOp : Kiln_Op<"select", [AllTypesMatch<["onTrue", "onFalse", "result"]>,
                                       AllShapesMatch<["condition", "result"]>]> {
  let summary = "elementwise choice";
  let arguments = (ins Kiln_Bool:$condition, Kiln_Tensor:$onTrue, Kiln_Tensor:$onFalse);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$condition `,` $onTrue `,` $onFalse attr-dict `:` type($condition) `,` type($result)";
}

def Kiln_CastOp : Kiln_Op<"cast", [SameOperandsAndResultShape]> {
  let summary = "elementwise conversion of the element type";
  let description = [{
    Float to integer truncates and saturates, NaN becomes 0; anything to i1 is `!= 0`; i1 to a number is 0 or 1;
    integer to a narrower integer wraps; integer to float rounds to nearest even.
  }];
  let arguments = (ins Kiln_Tensor:$input);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasFolder = 1;
}

//===-- Shape ---------------------------------------------------------------------------------------------------===//

def Kiln_BroadcastOp : Kiln_Op<"broadcast", [SameOperandsAndResultElementType]> {
  let summary = "repeat along dimensions";
  let description = [{
    Dimensions are aligned at the right; each dimension of the input equals the result's or is 1, missing leading ones
    count as 1.
  }];
  let arguments = (ins Kiln_Tensor:$input);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Kiln_ReshapeOp : Kiln_Op<"reshape", [SameOperandsAndResultElementType]> {
  let summary = "the same elements in row-major order under another shape";
  let arguments = (ins Kiln_Tensor:$input);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Kiln_TransposeOp : Kiln_InferredOp<"transpose"> {
  let summary = "permute dimensions: result dimension i is input dimension permutation[i]";
  let arguments = (ins Kiln_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$input $permutation attr-dict `:` type($input) `to` type($result)";
  let hasFolder = 1;
}

def Kiln_ConcatOp : Kiln_InferredOp<"concat"> {
  let summary = "join along an axis";
  let arguments = (ins Variadic<Kiln_Tensor>:$inputs, ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$inputs `axis` $axis attr-dict `:` functional-type($inputs, $result)";
  let hasFolder = 1;
}

def Kiln_SliceOp : Kiln_Op<"slice", [SameOperandsAndResultElementType]> {
  let summary = "result[i] = input[offsets + i * strides] per dimension; strides are non-zero and may be negative";
  let arguments = (ins Kiln_Tensor:$input, DenseI64ArrayAttr:$offsets, DenseI64ArrayAttr:$strides);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$input `offsets` $offsets `strides` $strides attr-dict `:` type($input) `to` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Kiln_GatherOp : Kiln_InferredOp<"gather"> {
  let summary = "pick slices along an axis by index";
  let description = [{
    The result's shape is the input's with dimension `axis` replaced by the shape of `indices`. Negative indices count
    from the end; an index outside the dimension is clamped into it.
  }];
  let arguments = (ins Kiln_Tensor:$input, Kiln_Index:$indices, ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$input `[` $indices `]` `axis` $axis attr-dict `:` functional-type(operands, $result)";
}

//===-- Reductions and contractions -----------------------------------------------------------------------------===//

def Kiln_ReduceOp : Kiln_InferredOp<"reduce"> {
  let summary = "reduce over axes, which vanish from the shape";
  let description = [{
    `axes` are sorted and distinct. Elements are combined in row-major order of the reduced dimensions, starting from the
    neutral element; a schedule may split the order only as the numerics of the spec allow. max and min of NaN are NaN.
  }];
  let arguments = (ins Kiln_ReduceKindAttr:$kind, Kiln_Number:$input, DenseI64ArrayAttr:$axes);
  let results = (outs Kiln_Number:$result);
  let assemblyFormat = "$kind $input `axes` $axes attr-dict `:` type($input) `to` type($result)";
}

def Kiln_SoftmaxOp : Kiln_Op<"softmax", [SameOperandsAndResultType]> {
  let summary = "exp(x - max) / sum(exp(x - max)) along one axis";
  let arguments = (ins Kiln_Float:$input, ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let results = (outs Kiln_Float:$result);
  let assemblyFormat = "$input `axis` $axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Kiln_MatmulOp : Kiln_InferredOp<"matmul"> {
  let summary = "matrix product [B..., M, K] x [B..., K, N] -> [B..., M, N]";
  let description = [{ Both operands have the same rank of 2 or more and equal leading (batch) dimensions. }];
  let arguments = (ins Kiln_Number:$lhs, Kiln_Number:$rhs);
  let results = (outs Kiln_Number:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, $result)";
}

def Kiln_Conv2dOp : Kiln_InferredOp<"conv2d"> {
  let summary = "2-D convolution (cross-correlation): NCHW input, OIHW filter, NCHW result";
  let description = [{
    input [N, C, H, W], filter [O, C / group, KH, KW], bias [O] or absent. `strides` and `dilations` are [height, width],
    `pads` are [top, left, bottom, right] rows and columns of zeros. Output channel o belongs to group o / (O / group).
  }];
  let arguments = (ins Kiln_Float:$input, Kiln_Float:$filter, Optional<Kiln_Float>:$bias, DenseI64ArrayAttr:$strides,
                   DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations, I64Attr:$group);
  let results = (outs Kiln_Float:$result);
  let assemblyFormat = [{
    $input `,` $filter (`bias` $bias^)? `strides` $strides `pads` $pads `dilations` $dilations `group` $group attr-dict
    `:` functional-type(operands, $result)
  }];
}

def Kiln_Pool2dOp : Kiln_InferredOp<"pool2d"> {
  let summary = "2-D pooling over NCHW";
  let description = [{
    `kernel`, `strides` and `dilations` are [height, width]; `pads` [top, left, bottom, right] may exceed what the kernel
    needs only at bottom and right. Padding never wins a max; an average divides by the number of elements inside the
    input, or by the kernel's size if `count_padding`.
  }];
  let arguments = (ins Kiln_PoolKindAttr:$kind, Kiln_Float:$input, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
                   DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations, UnitAttr:$count_padding);
  let results = (outs Kiln_Float:$result);
  let assemblyFormat = [{
    $kind $input `kernel` $kernel `strides` $strides `pads` $pads `dilations` $dilations
    (`count_padding` $count_padding^)? attr-dict `:` type($input) `to` type($result)
  }];
}

def Kiln_BatchNormOp : Kiln_Op<"batch_norm", [AllTypesMatch<["input", "result"]>,
                                              AllTypesMatch<["scale", "offset", "mean", "variance"]>]> {
  let summary = "(x - mean) / sqrt(variance + epsilon) * scale + offset, per channel (dimension 1)";
  let arguments = (ins Kiln_Float:$input, Kiln_Float:$scale, Kiln_Float:$offset, Kiln_Float:$mean, Kiln_Float:$variance,
                   F64Attr:$epsilon);
  let results = (outs Kiln_Float:$result);
  let assemblyFormat = [{
    $input `,` $scale `,` $offset `,` $mean `,` $variance `epsilon` $epsilon attr-dict `:` type($input) `,` type($scale)
  }];
  let hasVerifier = 1;
}

//===-- Groups --------------------------------------------------------------------------------------------------===//

def Kiln_FusedOp : Op<Kiln_Dialect, "fused", [IsolatedFromAbove, RecursiveMemoryEffects, SingleBlock]> {
  let summary = "operations that become one kernel";
  let description = [{
    The body holds at most one contraction or pooling and the elementwise operations around it; values inside never
    reach memory of their own if the schedule can help it. The meaning is that of the body inlined.
  }];
  let arguments = (ins Variadic<Kiln_Tensor>:$inputs);
  let results = (outs Variadic<Kiln_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$inputs attr-dict `:` functional-type($inputs, $results) $body";
  let hasVerifier = 1;
}

def Kiln_YieldOp : Kiln_Op<"yield", [Terminator, HasParent<"FusedOp">]> {
  let summary = "results of a kiln.fused";
  let arguments = (ins Variadic<Kiln_Tensor>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

#endif
