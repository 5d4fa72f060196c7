// The `kiln` dialect: the graph level at which models arrive and on which Kiln rewrites them.
#ifndef KILN_COMPILER_CORE_IR_KILN_DIALECT_TD
#define KILN_COMPILER_CORE_IR_KILN_DIALECT_TD

include "compiler_core/ir/kiln_attributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Kiln_Dialect : Dialect {
  let name = "kiln";
  let cppNamespace = "::kiln::ir";
  let summary = "Graph dialect of Kiln: tensor values, one meaning per operation";
  let description = [{
    Values are ranked tensors. A dimension that the compiler does not know is an expression over the symbols of the
    model (dims.h): the type is dynamic there and carries the expressions as its encoding, an affine map without
    dimensions and one result per dimension of the tensor. Two types are equal if and only if their expressions are.
    Every operation is pure and has exactly one meaning: what differs between
    source formats (automatic padding, implicit broadcast, operator versions, attributes that became inputs) is
    resolved by the frontend. Operand shapes are made equal by `kiln.broadcast`; nothing broadcasts implicitly.

    A model is one `func.func @main`. Its arguments and results carry `kiln.name`, the tensor's name in the model.
    Locations are the source's node names (NameLoc) and become symbols and error places.

    What one stage knows and another needs stands on the IR as a discardable attribute of this dialect
    (kiln_attributes.td).
  }];
  let discardableAttrs = !con(Kiln_ModelAttributes, Kiln_ArgumentAttributes, Kiln_ScheduleAttributes,
                              Kiln_MemoryAttributes, Kiln_CodegenAttributes);
  let hasConstantMaterializer = 1;
  // MLIR prints an attribute by its dialect wherever no operation's own format prints it, as in a diagnostic.
  let useDefaultAttributePrinterParser = 1;
}

// Families that share shape rule, verifier and lowering are one operation with an enum: a new function is one case
// here and one scalar rule in each consumer.
class Kiln_Kind<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::kiln::ir";
  let genSpecializedAttr = 0;
}

def Kiln_UnaryKind : Kiln_Kind<"UnaryKind", "elementwise function of one value", [
  I32EnumAttrCase<"Neg", 0, "neg">, I32EnumAttrCase<"Abs", 1, "abs">, I32EnumAttrCase<"Exp", 2, "exp">,
  I32EnumAttrCase<"Log", 3, "log">, I32EnumAttrCase<"Sqrt", 4, "sqrt">, I32EnumAttrCase<"Reciprocal", 5, "reciprocal">,
  I32EnumAttrCase<"Tanh", 6, "tanh">, I32EnumAttrCase<"Erf", 7, "erf">, I32EnumAttrCase<"Sigmoid", 8, "sigmoid">,
  I32EnumAttrCase<"Relu", 9, "relu">, I32EnumAttrCase<"Ceil", 10, "ceil">, I32EnumAttrCase<"Floor", 11, "floor">,
  I32EnumAttrCase<"Round", 12, "round">, I32EnumAttrCase<"Sin", 13, "sin">, I32EnumAttrCase<"Cos", 14, "cos">,
  I32EnumAttrCase<"Not", 15, "not">, I32EnumAttrCase<"Tan", 16, "tan">, I32EnumAttrCase<"Asin", 17, "asin">,
  I32EnumAttrCase<"Acos", 18, "acos">, I32EnumAttrCase<"Atan", 19, "atan">, I32EnumAttrCase<"Sinh", 20, "sinh">,
  I32EnumAttrCase<"Cosh", 21, "cosh">, I32EnumAttrCase<"Asinh", 22, "asinh">, I32EnumAttrCase<"Acosh", 23, "acosh">,
  I32EnumAttrCase<"Atanh", 24, "atanh">, I32EnumAttrCase<"Sign", 25, "sign">, I32EnumAttrCase<"Log1p", 26, "log1p">,
  I32EnumAttrCase<"Expm1", 27, "expm1">]>;

def Kiln_BinaryKind : Kiln_Kind<"BinaryKind", "elementwise function of two values", [
  I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Sub", 1, "sub">, I32EnumAttrCase<"Mul", 2, "mul">,
  I32EnumAttrCase<"Div", 3, "div">, I32EnumAttrCase<"Max", 4, "max">, I32EnumAttrCase<"Min", 5, "min">,
  I32EnumAttrCase<"Pow", 6, "pow">, I32EnumAttrCase<"And", 7, "and">, I32EnumAttrCase<"Or", 8, "or">,
  I32EnumAttrCase<"Xor", 9, "xor">, I32EnumAttrCase<"Mod", 10, "mod">, I32EnumAttrCase<"Rem", 11, "rem">,
  I32EnumAttrCase<"Shl", 12, "shl">, I32EnumAttrCase<"Shr", 13, "shr">]>;

def Kiln_CompareKind : Kiln_Kind<"CompareKind", "elementwise comparison", [
  I32EnumAttrCase<"Eq", 0, "eq">, I32EnumAttrCase<"Lt", 1, "lt">, I32EnumAttrCase<"Le", 2, "le">,
  I32EnumAttrCase<"Gt", 3, "gt">, I32EnumAttrCase<"Ge", 4, "ge">]>;

def Kiln_ReduceKind : Kiln_Kind<"ReduceKind", "reduction", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">,
  I32EnumAttrCase<"Prod", 3, "prod">]>;

def Kiln_PoolKind : Kiln_Kind<"PoolKind", "pooling", [
  I32EnumAttrCase<"Max", 0, "max">, I32EnumAttrCase<"Average", 1, "average">, I32EnumAttrCase<"Sum", 2, "sum">]>;

def Kiln_PadMode : Kiln_Kind<"PadMode", "what padding holds", [
  I32EnumAttrCase<"Constant", 0, "constant">, I32EnumAttrCase<"Edge", 1, "edge">,
  I32EnumAttrCase<"Reflect", 2, "reflect">, I32EnumAttrCase<"Wrap", 3, "wrap">]>;

def Kiln_ScatterKind : Kiln_Kind<"ScatterKind", "how an update meets what is there", [
  I32EnumAttrCase<"Set", 0, "set">, I32EnumAttrCase<"Add", 1, "add">, I32EnumAttrCase<"Mul", 2, "mul">,
  I32EnumAttrCase<"Max", 3, "max">, I32EnumAttrCase<"Min", 4, "min">]>;

def Kiln_CastRounding : Kiln_Kind<"CastRounding", "direction of rounding to a float of powers of two", [
  I32EnumAttrCase<"Nearest", 0, "nearest">, I32EnumAttrCase<"Up", 1, "up">, I32EnumAttrCase<"Down", 2, "down">]>;

class Kiln_KindAttr<Kiln_Kind kind, string mnemonic> : EnumAttr<Kiln_Dialect, kind, mnemonic> {
  let assemblyFormat = "`<` $value `>`";
}
def Kiln_UnaryKindAttr : Kiln_KindAttr<Kiln_UnaryKind, "unary_kind">;
def Kiln_BinaryKindAttr : Kiln_KindAttr<Kiln_BinaryKind, "binary_kind">;
def Kiln_CompareKindAttr : Kiln_KindAttr<Kiln_CompareKind, "compare_kind">;
def Kiln_ReduceKindAttr : Kiln_KindAttr<Kiln_ReduceKind, "reduce_kind">;
def Kiln_PoolKindAttr : Kiln_KindAttr<Kiln_PoolKind, "pool_kind">;

def Kiln_PadModeAttr : Kiln_KindAttr<Kiln_PadMode, "pad_mode">;
def Kiln_ScatterKindAttr : Kiln_KindAttr<Kiln_ScatterKind, "scatter_kind">;
def Kiln_CastRoundingAttr : Kiln_KindAttr<Kiln_CastRounding, "cast_rounding">;

// Element types. Signed integers are signless, unsigned ones ui8...; the types below a byte take one byte each in
// memory. F8, F4, 4- and 2-bit integers only move, are cast, and meet no arithmetic.
defvar Kiln_SmallTypes = [F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0FNU, F4E2M1FN, I<4>, UI<4>, I<2>, UI<2>];
defvar Kiln_FloatTypes = [F16, BF16, F32, F64];
defvar Kiln_IntegerTypes = [I8, I16, I32, I64, UI8, UI16, UI32, UI64];
def Kiln_Tensor : RankedTensorOf<!listconcat(Kiln_FloatTypes, Kiln_IntegerTypes, Kiln_SmallTypes, [I1])>;
def Kiln_Number : RankedTensorOf<!listconcat(Kiln_FloatTypes, Kiln_IntegerTypes)>;
def Kiln_Float : RankedTensorOf<Kiln_FloatTypes>;
def Kiln_Bool : RankedTensorOf<[I1]>;
def Kiln_Index : RankedTensorOf<[I32, I64]>;
def Kiln_I64 : RankedTensorOf<[I64]>;

#endif
