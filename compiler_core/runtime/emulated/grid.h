// Runs the blocks of a launch on several host threads.
#pragma once

#include <string>

#include "compiler_core/runtime/emulated/block.h"
#include "compiler_core/runtime/emulated/device.h"

namespace kiln::emulated {

// Calls take turns.
class GridRunner {
 public:
  GridRunner(Order order, unsigned threads) : order_(order), count_(threads) {}

  // "" or what went wrong in some block; blocks that had not started are left out then. Blocks start
  // in the order of the settings, as threads do.
  std::string run(const LaunchOp& launch);

 private:
  const Order order_;
  const unsigned count_;
  std::vector<std::unique_ptr<BlockRunner>> runners_;
};

}  // namespace kiln::emulated
