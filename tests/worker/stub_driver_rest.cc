// The rest of the driver's functions: they succeed. stub_driver.cc has the others.
#include "compiler_core/runtime/device/cuda_api.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

using namespace kiln::runtime::cuda;

#define KILN_STUB(member, symbol, parameters)                   \
  extern "C" __attribute__((weak)) CUresult symbol parameters { \
    return kSuccess;                                            \
  }
KILN_CUDA_FUNCTIONS(KILN_STUB)
