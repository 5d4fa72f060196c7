// Runs kernels of an emulation, one fiber per thread; for tests of code generation alone. The emulated device
// proper is compiler_core/runtime/emulated.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler_core/runtime/emulated/emulated_abi.h"
#include "manifest/base/result.h"

namespace kiln::testing {

class Emulation {
 public:
  static Result<Emulation> load(const std::string& elf);

  const kiln_emulation& table() const { return *table_; }
  const kiln_emulated_entry& kernel(const std::string& name) const;

  // Runs one block of `kernel`. Threads take turns at barriers and tensor core steps, in descending order
  // when asked for; shared memory begins as NaNs. kInternal: threads that wait for others which have ended.
  Status run(const kiln_emulated_entry& kernel, const std::vector<std::uint64_t>& arguments,
             std::uint32_t block, bool descending = false) const;

 private:
  struct Close {
    void operator()(void* library) const;
  };
  std::unique_ptr<void, Close> library_;
  const kiln_emulation* table_ = nullptr;
};

// D = A * B + C of a warp's registers, as mma.sync lays them out: 32 threads with KILN_COLLECTIVE_MMA_INPUTS
// words each, to 32 with KILN_COLLECTIVE_MMA_OUTPUTS.
void multiplyFragments(std::uint32_t kind, const std::vector<const std::uint32_t*>& in,
                       const std::vector<std::uint32_t*>& out);

}  // namespace kiln::testing
