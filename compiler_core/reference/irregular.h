// Operations of sequential algorithms, some with several results.
#pragma once

#include <vector>

#include "compiler_core/reference/kernels.h"

namespace kiln::reference {

std::vector<HostTensor> evaluate(ir::SortOp operation, Operands operands);
std::vector<HostTensor> evaluate(ir::CompressOp operation, Operands operands);
std::vector<HostTensor> evaluate(ir::UniqueOp operation, Operands operands);
std::vector<HostTensor> evaluate(ir::NmsOp operation, Operands operands);
HostTensor evaluate(ir::ScatterOp operation, Operands operands);
HostTensor evaluate(ir::ArgReduceOp operation, Operands operands);
HostTensor evaluate(ir::CumulativeOp operation, Operands operands);

}  // namespace kiln::reference
