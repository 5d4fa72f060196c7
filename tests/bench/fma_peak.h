// The core's f32 fused multiply-adds, by loops of independent chains: more than the units' latency asks for,
// and fewer than spill.
#pragma once

#include <cstdint>

namespace kiln::bench {

// One loop with registers of 256 or 512 bits; returns the operations done. Need a processor with FMA
// (x86-64-v3), with AVX-512.
std::int64_t fmaLoop256(volatile float* sink);
std::int64_t fmaLoop512(volatile float* sink);

// Best of several runs with 256-bit registers, in GFLOP/s. Needs a processor with FMA.
double fmaPeakGflops();

}  // namespace kiln::bench
