#include "compiler_core/ir/partition/partition_ops.h"

#define GET_OP_CLASSES
#include "compiler_core/ir/partition/partition_ops.cc.inc"
