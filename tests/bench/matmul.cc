// GFLOP/s of compiled matrix products and convolutions beside this core's FMA peak, in one run. Ratios are
// what counts: the figures are of one machine. One thread is timed by its processor time, two by the clock.
// usage: bench_matmul [N...]
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/bench/fma_peak.h"
#include "tests/compiler_core/schedule/timed.h"

namespace {

using namespace kiln;

void report(const std::string& name, const std::string& text, double flops, double peak) {
  auto one = testing::timeText(text, 1), two = testing::timeText(text, 2);
  if (!one || !two) {
    fmt::print("{:<28} {}\n", name, (one ? two : one).error().message);
    std::exit(1);
  }
  fmt::print("{:<28} {:8.1f} GFLOP/s of one core's time ({:3.0f} % of peak), {:8.1f} on two\n", name,
             flops / *one * 1e-9, 100 * flops / *one * 1e-9 / peak, flops / *two * 1e-9);
}

std::string matmul(std::int64_t n) {
  return fmt::format(R"(
func.func @main(%a: tensor<{0}x{0}xf32>) -> tensor<{0}x{0}xf32> {{
  %w = kiln.weight 0 : tensor<{0}x{0}xf32>
  %0 = kiln.matmul %a, %w : (tensor<{0}x{0}xf32>, tensor<{0}x{0}xf32>) -> tensor<{0}x{0}xf32>
  return %0 : tensor<{0}x{0}xf32>
}})",
                     n);
}

std::string convolution(std::int64_t channels, std::int64_t size) {
  return fmt::format(R"(
func.func @main(%x: tensor<1x{0}x{1}x{1}xf32>) -> tensor<1x{0}x{1}x{1}xf32> {{
  %w = kiln.weight 0 : tensor<{0}x{0}x3x3xf32>
  %0 = kiln.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x{0}x{1}x{1}xf32>, tensor<{0}x{0}x3x3xf32>) -> tensor<1x{0}x{1}x{1}xf32>
  return %0 : tensor<1x{0}x{1}x{1}xf32>
}})",
                     channels, size);
}

}  // namespace

int main(int argc, char** argv) {
  const double peak = bench::fmaPeakGflops();
  fmt::print("{:<28} {:8.1f} GFLOP/s (f32, x86-64-v3, one core)\n", "FMA peak", peak);
  std::vector<std::int64_t> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::atoll(argv[i]));
  if (sizes.empty()) sizes = {64, 256, 512, 1000, 1024, 2048};
  for (const std::int64_t n : sizes)
    report(fmt::format("matmul {0}x{0}x{0}", n), matmul(n), 2.0 * double(n) * double(n) * double(n), peak);
  for (const auto& [channels, size] : {std::pair<std::int64_t, std::int64_t>{64, 56}, {128, 28}, {256, 14}})
    report(fmt::format("conv 3x3 {0} channels {1}x{1}", channels, size), convolution(channels, size),
           2.0 * 9 * double(channels) * double(channels) * double(size) * double(size), peak);
}
