// The `kiln` dialect: the graph level at which models arrive and on which Kiln rewrites them.
#ifndef KILN_COMPILER_CORE_IR_KILN_DIALECT_TD
#define KILN_COMPILER_CORE_IR_KILN_DIALECT_TD

include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Kiln_Dialect : Dialect {
  let name = "kiln";
  let cppNamespace = "::kiln::ir";
  let summary = "Graph dialect of Kiln: tensor values, one meaning per operation";
  let description = [{
    Values are ranked tensors of static shape. Every operation is pure and has exactly one meaning: what differs between
    source formats (automatic padding, implicit broadcast, operator versions, attributes that became inputs) is
    resolved by the frontend. Operand shapes are made equal by `kiln.broadcast`; nothing broadcasts implicitly.

    A model is one `func.func @main`. Its arguments and results carry `kiln.name`, the tensor's name in the model.
    Locations are the source's node names (NameLoc) and become symbols and error places.
  }];
  let hasConstantMaterializer = 1;
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
  I32EnumAttrCase<"Not", 15, "not">]>;

def Kiln_BinaryKind : Kiln_Kind<"BinaryKind", "elementwise function of two values", [
  I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Sub", 1, "sub">, I32EnumAttrCase<"Mul", 2, "mul">,
  I32EnumAttrCase<"Div", 3, "div">, I32EnumAttrCase<"Max", 4, "max">, I32EnumAttrCase<"Min", 5, "min">,
  I32EnumAttrCase<"Pow", 6, "pow">, I32EnumAttrCase<"And", 7, "and">, I32EnumAttrCase<"Or", 8, "or">,
  I32EnumAttrCase<"Xor", 9, "xor">]>;

def Kiln_CompareKind : Kiln_Kind<"CompareKind", "elementwise comparison", [
  I32EnumAttrCase<"Eq", 0, "eq">, I32EnumAttrCase<"Lt", 1, "lt">, I32EnumAttrCase<"Le", 2, "le">,
  I32EnumAttrCase<"Gt", 3, "gt">, I32EnumAttrCase<"Ge", 4, "ge">]>;

def Kiln_ReduceKind : Kiln_Kind<"ReduceKind", "reduction", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">,
  I32EnumAttrCase<"Prod", 3, "prod">]>;

def Kiln_PoolKind : Kiln_Kind<"PoolKind", "pooling", [
  I32EnumAttrCase<"Max", 0, "max">, I32EnumAttrCase<"Average", 1, "average">]>;

class Kiln_KindAttr<Kiln_Kind kind, string mnemonic> : EnumAttr<Kiln_Dialect, kind, mnemonic> {
  let assemblyFormat = "`<` $value `>`";
}
def Kiln_UnaryKindAttr : Kiln_KindAttr<Kiln_UnaryKind, "unary_kind">;
def Kiln_BinaryKindAttr : Kiln_KindAttr<Kiln_BinaryKind, "binary_kind">;
def Kiln_CompareKindAttr : Kiln_KindAttr<Kiln_CompareKind, "compare_kind">;
def Kiln_ReduceKindAttr : Kiln_KindAttr<Kiln_ReduceKind, "reduce_kind">;
def Kiln_PoolKindAttr : Kiln_KindAttr<Kiln_PoolKind, "pool_kind">;

def Kiln_Tensor : StaticShapeTensorOf<[F32, F64, I1, I32, I64]>;
def Kiln_Number : StaticShapeTensorOf<[F32, F64, I32, I64]>;
def Kiln_Float : StaticShapeTensorOf<[F32, F64]>;
def Kiln_Bool : StaticShapeTensorOf<[I1]>;
def Kiln_Index : StaticShapeTensorOf<[I32, I64]>;

#endif
