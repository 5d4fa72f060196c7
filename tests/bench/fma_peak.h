// The core's f32 fused multiply-add peak with 256-bit registers, by a loop of independent chains.
#pragma once

namespace kiln::bench {

// Best of several runs, in GFLOP/s. Needs a processor with FMA (x86-64-v3).
double fmaPeakGflops();

}  // namespace kiln::bench
