// Operations of a @main that is cut into partitions.
#ifndef KILN_COMPILER_CORE_IR_PARTITION_OPS_TD
#define KILN_COMPILER_CORE_IR_PARTITION_OPS_TD

include "compiler_core/ir/kiln_dialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Kiln_TransferOp : Op<Kiln_Dialect, "transfer", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "a tensor of one target's memory in another's";
  let description = [{
    Stands in @main between the calls of partitions; `from` and `to` are targets, or "host" for the
    caller's own memory. It is a copy and never vanishes.
  }];
  let arguments = (ins Kiln_Tensor:$input, StrAttr:$from, StrAttr:$to);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$input `from` $from `to` $to attr-dict `:` type($input)";
}

#endif
