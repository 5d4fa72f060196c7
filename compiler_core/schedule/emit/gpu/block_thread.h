// Which thread of a block runs the code that is written. Private to compiler_core/schedule.
#pragma once

#include "mlir/IR/Value.h"

namespace kiln::schedule {

// This thread among all threads of its block.
struct BlockThread {
  mlir::Value number;      // in [0, count), of index type: the only one that differs between threads
  std::int64_t count = 0;  // a multiple of 32, at most 1024
};

}  // namespace kiln::schedule
