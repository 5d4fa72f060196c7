// What the processor itself can do, run on request as bench_session is: fused multiply-adds of f32, or dot
// products of bytes or bf16, without memory, or copies, or reads.
// usage: bench_peaks fma|int8|bf16 THREADS | bench_peaks copy|read THREADS BYTES
// Says "ready 0 0 0 WORK": the floating-point operations or bytes read and written of one run; then for each
// line "N" on standard input runs N times and answers with N times in seconds on one line.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "compiler_core/runtime/parallel/thread_pool.h"
#include "tests/bench/dot_peak.h"
#include "tests/bench/fma_peak.h"
#include "tests/bench/read_peak.h"

namespace {

std::int64_t adds() {
  volatile float sink = 0;
  return __builtin_cpu_supports("avx512f") ? kiln::bench::fmaLoop512(&sink) : kiln::bench::fmaLoop256(&sink);
}

std::int64_t byteDots() {
  volatile std::int32_t sink = 0;
  return kiln::bench::byteDotLoop(&sink);
}
std::int64_t bf16Dots() {
  volatile float sink = 0;
  return kiln::bench::bf16DotLoop(&sink);
}

using Loop = std::int64_t (*)();

// Null for what is no loop, or one that this processor has no instruction for.
Loop loopOf(const std::string& what) {
  __builtin_cpu_init();
  if (what == "fma") return adds;
  if (what == "int8" && __builtin_cpu_supports("avx512vnni")) return byteDots;
  if (what == "bf16" && __builtin_cpu_supports("avx512bf16")) return bf16Dots;
  return nullptr;
}

struct Copy {
  std::vector<char> from, to;
  std::size_t piece;
};

// Shared by the threads in equal pieces.
struct Read {
  std::unique_ptr<char, decltype(&std::free)> data{nullptr, &std::free};
  std::size_t piece = 0;
  std::atomic<std::int64_t> sum = 0;  // is looked at by nobody
};

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  Loop loop = loopOf(what);
  if (!(loop && argc == 3) && !((what == "copy" || what == "read") && argc == 4)) {
    std::fprintf(stderr,
                 "usage: bench_peaks fma|int8|bf16 THREADS | bench_peaks copy|read THREADS BYTES\n"
                 "(int8, bf16: on processors with the instruction)\n");
    return 2;
  }
  const auto threads = static_cast<unsigned>(std::stoul(argv[2]));
  auto pool = kiln::runtime::ThreadPool::start(threads);
  if (!pool) {
    std::fprintf(stderr, "bench_peaks: %s\n", pool.error().message.c_str());
    return 1;
  }
  Copy copy;
  Read read;
  double work = 0;
  if (loop) {
    work = static_cast<double>(loop()) * threads;
  } else if (what == "read") {
    constexpr std::size_t kGrain = 256;
    read.piece = std::stoull(argv[3]) / threads / kGrain * kGrain;
    const std::size_t bytes = read.piece * threads;
    read.data.reset(static_cast<char*>(std::aligned_alloc(kGrain, bytes)));
    std::memset(read.data.get(), 1, bytes);
    work = static_cast<double>(bytes);
  } else {
    const std::size_t bytes = std::stoull(argv[3]);
    copy = {std::vector<char>(bytes, 1), std::vector<char>(bytes, 2), bytes / threads};
    work = 2.0 * static_cast<double>(copy.piece) * threads;
  }
  fmt::print("ready 0 0 0 {:.0f}\n", work);
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    std::string answer;
    for (int left = std::stoi(line); left > 0; --left) {
      const auto start = std::chrono::steady_clock::now();
      if (loop)
        (*pool)->run([](void* own, std::int64_t, void*) { (*static_cast<Loop*>(own))(); }, &loop, threads,
                     {});
      else if (read.data)
        (*pool)->run(
            [](void* environment, std::int64_t task, void*) {
              auto& [data, piece, sum] = *static_cast<Read*>(environment);
              sum += kiln::bench::readLoop(data.get() + static_cast<std::size_t>(task) * piece, piece);
            },
            &read, threads, {});
      else
        (*pool)->run(
            [](void* environment, std::int64_t task, void*) {
              auto& [from, to, piece] = *static_cast<Copy*>(environment);
              const std::size_t at = static_cast<std::size_t>(task) * piece;
              std::memcpy(to.data() + at, from.data() + at, piece);
            },
            &copy, threads, {});
      answer += fmt::format("{:.9f} ",
                            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    fmt::print("{}\n", answer);
    std::fflush(stdout);
  }
  return 0;
}
