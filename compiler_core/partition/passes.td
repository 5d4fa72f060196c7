// The pass that cuts a model into partitions.
#ifndef KILN_COMPILER_CORE_PARTITION_PASSES_TD
#define KILN_COMPILER_CORE_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def PartitionPass : Pass<"kiln-partition", "::mlir::ModuleOp"> {
  let summary = "Operations marked with targets become calls of partitions with transfers between them";
  let description = [{
    @main whose operations are marked with kiln.target becomes calls of @partition_0 ... and explicit kiln.transfers
    (ir/partition/partition_ops.h), also where all is on one device. Values without inputs of their own (weights,
    constants) are copied to where they are used. A @main without marks stays as it is.
  }];
}

#endif
