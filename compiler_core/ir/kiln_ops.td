// Operations of the `kiln` dialect.
#ifndef KILN_COMPILER_CORE_IR_KILN_OPS_TD
#define KILN_COMPILER_CORE_IR_KILN_OPS_TD

include "compiler_core/ir/kiln_dialect.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Kiln_Buffer : AnyTypeOf<[AnyRankedTensor, AnyMemRef]>;

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
    `not` is for i1 and integers (every bit); neg, abs, relu, sign for every number; all others for floats. relu(NaN) and
    sign(NaN) are NaN. round is to nearest, ties to even. sigmoid(x) = 1 / (1 + exp(-x)).
  }];
  let arguments = (ins Kiln_UnaryKindAttr:$kind, Kiln_Tensor:$input);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$kind $input attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Kiln_BinaryOp : Kiln_Op<"binary", [SameOperandsAndResultType]> {
  let summary = "elementwise function of two tensors";
  let description = [{
    and, or, xor are for i1 and integers, shl and shr for integers, the others for numbers. Integers wrap; integer
    division truncates, division by zero gives 0, so do mod and rem. mod has the sign of the divisor, rem that of the
    dividend (C's fmod for floats). Shifts by the width or more give 0; shr fills with zeros for unsigned, with the
    sign for signed. Integer pow wraps; a negative exponent gives the truncated quotient (0, 1 or -1; 0 for base 0).
    max and min give NaN if either operand is NaN.
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
    integer to a narrower integer wraps; integer to float rounds to nearest even, float to a narrower float too.
    To an 8-bit float, a value out of range becomes the largest finite one, or with `overflow` what the format has
    beyond it (infinity, or NaN where it has none). f4E2M1FN always saturates. `rounding` is for f8E8M0FNU alone.
  }];
  let arguments = (ins Kiln_Tensor:$input, UnitAttr:$overflow, OptionalAttr<Kiln_CastRoundingAttr>:$rounding);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$input (`rounding` $rounding^)? attr-dict `:` type($input) `to` type($result)";
  let hasFolder = 1;
}

def Kiln_BitcastOp : Kiln_Op<"bitcast", [SameOperandsAndResultShape]> {
  let summary = "the same bits under another element type of the same width";
  let arguments = (ins Kiln_Tensor:$input);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
}

def Kiln_IotaOp : Kiln_Op<"iota"> {
  let summary = "result[i0, i1, ...] = i<axis>";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let results = (outs Kiln_Number:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Kiln_ShapeValueOp : Kiln_Op<"shape_value"> {
  let summary = "integers that are expressions over the model's symbols";
  let description = [{ `values` has no dimensions and one result per element of the rank-1 result. }];
  let arguments = (ins AffineMapAttr:$values);
  let results = (outs Kiln_I64:$result);
  let assemblyFormat = "$values attr-dict `:` type($result)";
  let hasVerifier = 1;
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
  let description = [{
    `symbolic_offsets`, where given, has one expression over the model's symbols per dimension and replaces `offsets`.
  }];
  let arguments = (ins Kiln_Tensor:$input, DenseI64ArrayAttr:$offsets, DenseI64ArrayAttr:$strides,
                   OptionalAttr<AffineMapAttr>:$symbolic_offsets);
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

def Kiln_PadOp : Kiln_InferredOp<"pad"> {
  let summary = "surround a tensor";
  let description = [{
    Per dimension `low` elements before, `high` after (both 0 or more) and, for `constant` alone, `interior` between two
    neighbours. `value` is a scalar, used by `constant`. `reflect` mirrors without repeating the edge and may bounce
    several times; `wrap` is periodic; `edge`, `reflect` and `wrap` of an empty dimension are refused.
  }];
  let arguments = (ins Kiln_PadModeAttr:$mode, Kiln_Tensor:$input, Kiln_Tensor:$value, DenseI64ArrayAttr:$low,
                   DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$interior);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = [{
    $mode $input `,` $value `low` $low `high` $high `interior` $interior attr-dict `:` type($input) `,` type($value) `to`
    type($result)
  }];
}

def Kiln_TruncateOp : Kiln_Op<"truncate"> {
  let summary = "keep the first `count` along an axis";
  let description = [{
    This is where a size becomes known at run time only: the result's dimension `axis` is symbol number `symbol`, whose
    value is `count` (a scalar i64, clamped to the input's extent). Several may define one symbol by the same count.
  }];
  let arguments = (ins Kiln_Tensor:$input, Kiln_I64:$count,
                   ConfinedAttr<I64Attr, [IntNonNegative]>:$axis, ConfinedAttr<I64Attr, [IntNonNegative]>:$symbol);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $count `axis` $axis `symbol` $symbol attr-dict `:` type($input) `,` type($count) `to` type($result)
  }];
  let hasVerifier = 1;
}

//===-- Irregular -----------------------------------------------------------------------------------------------===//

def Kiln_ScatterOp : Kiln_Op<"scatter", [AllTypesMatch<["data", "result"]>]> {
  let summary = "a copy of `data` with rows replaced or combined";
  let description = [{
    data [R, S...], indices [N], updates [N, S...]: for n from 0 to N-1, row indices[n] becomes updates[n], or its
    combination with it, in this order. An index outside [0, R) is ignored.
  }];
  let arguments = (ins Kiln_ScatterKindAttr:$kind, Kiln_Tensor:$data, Kiln_I64:$indices, Kiln_Tensor:$updates);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$kind $data `[` $indices `]` `,` $updates attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def Kiln_SortOp : Kiln_InferredOp<"sort"> {
  let summary = "stable sort along an axis, with the positions from which the elements came";
  let description = [{ Ascending, or descending; equal elements stay in order of position either way; NaN is the largest. }];
  let arguments = (ins Kiln_Tensor:$input, ConfinedAttr<I64Attr, [IntNonNegative]>:$axis, UnitAttr:$descending);
  let results = (outs Kiln_Tensor:$values, Kiln_I64:$indices);
  let assemblyFormat = "$input `axis` $axis attr-dict `:` type($input) `to` type($values) `,` type($indices)";
}

def Kiln_ArgReduceOp : Kiln_InferredOp<"arg_reduce"> {
  let summary = "position of the largest or smallest element along an axis, which vanishes from the shape";
  let description = [{ `kind` is max or min. Of equals the first, or with `last` the last; NaN wins over numbers. }];
  let arguments = (ins Kiln_ReduceKindAttr:$kind, Kiln_Tensor:$input, ConfinedAttr<I64Attr, [IntNonNegative]>:$axis,
                   UnitAttr:$last);
  let results = (outs Kiln_I64:$result);
  let assemblyFormat = "$kind $input `axis` $axis attr-dict `:` type($input) `to` type($result)";
}

def Kiln_CumulativeOp : Kiln_Op<"cumulative", [SameOperandsAndResultType]> {
  let summary = "running sum or product along an axis, in order";
  let description = [{
    `kind` is sum or prod. `exclusive` leaves the element itself out (the first result is the neutral element), `reverse`
    runs from the end.
  }];
  let arguments = (ins Kiln_ReduceKindAttr:$kind, Kiln_Number:$input, ConfinedAttr<I64Attr, [IntNonNegative]>:$axis,
                   UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs Kiln_Number:$result);
  let assemblyFormat = "$kind $input `axis` $axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Kiln_CompressOp : Kiln_InferredOp<"compress"> {
  let summary = "positions of the true elements of mask [N], ascending, and how many there are";
  let description = [{ indices [N] is 0 from position count on; count is a scalar. }];
  let arguments = (ins Kiln_Bool:$mask);
  let results = (outs Kiln_I64:$indices, Kiln_I64:$count);
  let assemblyFormat = "$mask attr-dict `:` type($mask) `to` type($indices) `,` type($count)";
}

def Kiln_UniqueOp : Kiln_InferredOp<"unique"> {
  let summary = "the distinct rows of input [N, S...]";
  let description = [{
    indices [N]: where each distinct row occurs first, in the order of the rows' values (lexicographic) if `sorted`, else
    of occurrence; inverse [N]: for each row, the number of its distinct row; counts [N]: how often each occurs; count: a
    scalar. indices and counts are 0 from position count on.
  }];
  let arguments = (ins Kiln_Tensor:$input, UnitAttr:$sorted);
  let results = (outs Kiln_I64:$indices, Kiln_I64:$inverse, Kiln_I64:$counts, Kiln_I64:$count);
  let assemblyFormat = "$input attr-dict `:` functional-type($input, results)";
}

def Kiln_NmsOp : Kiln_InferredOp<"nms"> {
  let summary = "non-maximum suppression";
  let description = [{
    boxes [B, K, 4] (y1, x1, y2, x2 in any order of corners, or centre x, y, width, height with `center`), scores
    [B, C, K] of the same float type; max_per_class, a scalar i64, iou_threshold and score_threshold, scalar f32. Per
    batch and class, boxes with a score above score_threshold are taken from the highest score down (ties: lower
    position first), up to max_per_class, unless their IoU with one already taken is above iou_threshold. selected
    [B * C * K, 3] holds (batch, class, box), count is a scalar; rows from count on are 0.
  }];
  let arguments = (ins Kiln_Float:$boxes, Kiln_Float:$scores, Kiln_I64:$max_per_class, Kiln_Float:$iou_threshold,
                   Kiln_Float:$score_threshold, UnitAttr:$center);
  let results = (outs Kiln_I64:$selected, Kiln_I64:$count);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
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

def Kiln_AttentionOp : Kiln_InferredOp<"attention"> {
  let summary = "softmax(query x key^T * scale + mask) x value";
  let description = [{
    query [B, H, L, E], key [B, H, S, E], value [B, H, S, F], mask [B, H, L, S] or absent, all of one float type; the
    softmax runs along S and, like the products, in f32 or wider. Result [B, H, L, F]. A row that is masked by -infinity
    everywhere gives zeros.
  }];
  let arguments = (ins Kiln_Float:$query, Kiln_Float:$key, Kiln_Float:$value, Optional<Kiln_Float>:$mask, F64Attr:$scale);
  let results = (outs Kiln_Float:$result);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? `scale` $scale attr-dict `:` functional-type(operands, $result)
  }];
}

def Kiln_ConvOp : Kiln_InferredOp<"conv"> {
  let summary = "convolution (cross-correlation): N, C, spatial dimensions";
  let description = [{
    input [N, C, D...], filter [O, C / group, K...], bias [O] or absent, with one to three spatial dimensions D. `strides`
    and `dilations` have one entry per spatial dimension, `pads` all beginnings, then all ends: 2-D [top, left, bottom,
    right] rows and columns of zeros. Output channel o belongs to group o / (O / group).
  }];
  let arguments = (ins Kiln_Number:$input, Kiln_Number:$filter, Optional<Kiln_Number>:$bias, DenseI64ArrayAttr:$strides,
                   DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations, I64Attr:$group);
  let results = (outs Kiln_Number:$result);
  let assemblyFormat = [{
    $input `,` $filter (`bias` $bias^)? `strides` $strides `pads` $pads `dilations` $dilations `group` $group attr-dict
    `:` functional-type(operands, $result)
  }];
}

def Kiln_PoolOp : Kiln_InferredOp<"pool"> {
  let summary = "pooling over N, C, spatial dimensions";
  let description = [{
    One to three spatial dimensions; `kernel`, `strides` and `dilations` have one entry for each, `pads` all beginnings,
    then all ends. Padding never wins a max and adds 0 to a sum; an average divides by the number of elements inside the
    input, or by the kernel's size if `count_padding`.
  }];
  let arguments = (ins Kiln_PoolKindAttr:$kind, Kiln_Number:$input, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
                   DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations, UnitAttr:$count_padding);
  let results = (outs Kiln_Number:$result);
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

//===-- Control flow --------------------------------------------------------------------------------------------===//

def Kiln_IfOp : Op<Kiln_Dialect, "if", [RecursiveMemoryEffects, SingleBlock]> {
  let summary = "one of two bodies, by a scalar i1";
  let description = [{ The bodies have no arguments and see the values around them; both yield the result types. }];
  let arguments = (ins Kiln_Bool:$condition);
  let results = (outs Variadic<Kiln_Tensor>:$results);
  let regions = (region SizedRegion<1>:$then_body, SizedRegion<1>:$else_body);
  let assemblyFormat = "$condition attr-dict `:` type($condition) `to` type($results) $then_body `else` $else_body";
  let hasVerifier = 1;
}

def Kiln_LoopOp : Op<Kiln_Dialect, "loop", [AttrSizedOperandSegments, RecursiveMemoryEffects, SingleBlock]> {
  let summary = "repeat a body";
  let description = [{
    The body's arguments are the iteration number (scalar i64) and the carried values; it sees the values around it. It
    runs while the iteration number is below `trip` (scalar i64; without it: no limit) and the condition is true.
    `condition` (scalar i1) is that of the first iteration; where it is given, the body yields the next one first, then
    the carried values. The last result is the number of iterations run (scalar i64), after the carried values.
    Carried values keep their types. One of trip and condition is given.
  }];
  let arguments = (ins Optional<Kiln_I64>:$trip, Optional<Kiln_Bool>:$condition, Variadic<Kiln_Tensor>:$carried);
  let results = (outs Variadic<Kiln_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`trip` $trip^ `:` type($trip))? (`condition` $condition^ `:` type($condition))? `carried` `(` $carried `)` attr-dict
    `:` functional-type($carried, $results) $body
  }];
  let hasVerifier = 1;
}

def Kiln_YieldOp : Kiln_Op<"yield", [Terminator, ParentOneOf<["FusedOp", "IfOp", "LoopOp"]>]> {
  let summary = "results of a kiln.fused, kiln.if or kiln.loop";
  let arguments = (ins Variadic<Kiln_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

//===-- Below the graph level -----------------------------------------------------------------------------------===//

def Kiln_CallOp : Op<Kiln_Dialect, "call", [AttrSizedOperandSegments, DestinationStyleOpInterface,
                                            DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a function of the kernel library, in destination style";
  let description = [{
    Operands are tensors before and buffers after bufferising; `inits` are results and scratch, those listed in
    `reads_init` (positions in inits) are read as well. Tensor results correspond to the inits one by one. `parameters`
    are passed as they are. compiler_core/kernels/README.md has the calling convention.
  }];
  let arguments = (ins StrAttr:$callee, Variadic<Kiln_Buffer>:$inputs,
                   Variadic<Kiln_Buffer>:$inits, DenseI64ArrayAttr:$parameters, DenseI64ArrayAttr:$reads_init);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $callee `(` $inputs `)` `outs` `(` $inits `)` `parameters` $parameters `reads` $reads_init attr-dict `:`
    functional-type(operands, $results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{ mlir::MutableOperandRange getDpsInitsMutable() { return getInitsMutable(); } }];
}

#endif
