// Reads what a cubin says of itself and its kernels. Bounded: any bytes are safe to read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/result.h"

namespace kiln::codegen {

struct CubinKernel {
  std::string name;
  std::uint32_t registers = 0;    // of a thread
  std::uint32_t sharedBytes = 0;  // of a block, static, without what the system takes
  std::uint32_t localBytes = 0;   // of a thread: the stack, which is where spilled registers are
  std::uint32_t threads = 0;      // of a block, as .reqntid fixes them; 0: not fixed
  std::uint64_t codeBytes = 0;
};

struct Cubin {
  std::vector<CubinKernel> kernels;  // by name
  std::uint32_t toolkit = 0;         // version of the CUDA that made it, in tenths: 130 is 13.0
};

// The version stands in .note.nv.cuinfo. Sections are named after kernels (.text.NAME, .nv.shared.NAME,
// .nv.info.NAME); numbers stand in the records of .nv.info, which cuobjdump -elf prints as EIATTR_REGCOUNT,
// EIATTR_FRAME_SIZE, EIATTR_MIN_STACK_SIZE and EIATTR_REQNTID. kDataLoss: not a cubin, or one that
// contradicts itself.
Result<Cubin> readCubin(std::string_view bytes);

}  // namespace kiln::codegen
