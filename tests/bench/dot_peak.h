// The core's dot product instructions, by loops of independent chains as in fma_peak.h.
#pragma once

#include <cstdint>

namespace kiln::bench {

// One loop; returns the operations done, a product and a sum each. Need a processor with AVX-512 and VNNI,
// and with AVX-512 and bf16.
std::int64_t byteDotLoop(volatile std::int32_t* sink);
std::int64_t bf16DotLoop(volatile float* sink);

}  // namespace kiln::bench
