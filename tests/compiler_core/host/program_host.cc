#include "tests/compiler_core/host/program_host.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <thread>

namespace kiln::testing {
namespace {

constexpr std::size_t kGuard = 4096;
constexpr unsigned char kPattern = 0xa5;

Buffer guarded(std::size_t bytes) {
  Buffer buffer(bytes + kGuard);
  std::memset(buffer.data(), kPattern, buffer.size());
  return buffer;
}

bool intact(const Buffer& buffer) {
  return std::ranges::all_of(buffer.as<unsigned char>().last(kGuard),
                             [](unsigned char c) { return c == kPattern; });
}

struct Pool {
  std::vector<Buffer> scratch;  // one per thread
  const std::function<bool(const kiln_launch&)>* onLaunch = nullptr;

  static std::int32_t launch(void* user, const kiln_launch* launch) {
    const auto& onLaunch = *static_cast<Pool*>(user)->onLaunch;
    return onLaunch && onLaunch(*launch) ? KILN_RUN_OK : KILN_RUN_DEVICE_FAILED;
  }

  static void parallelFor(void* user, kiln_kernel kernel, void* env, std::int64_t tasks) {
    auto& pool = *static_cast<Pool*>(user);
    std::atomic<std::int64_t> next = 0;
    auto work = [&](const Buffer& scratch) {
      for (std::int64_t task = next++; task < tasks; task = next++) kernel(env, task, scratch.data());
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < pool.scratch.size(); ++i)
      threads.emplace_back(work, std::cref(pool.scratch[i]));
    work(pool.scratch[0]);
    for (auto& thread : threads) thread.join();
  }
};

// One thread is timed by the processor time it had, so that a busy machine does not count; several by the
// clock.
double now(int threads) {
  timespec time{};
  ::clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

template <class Pointer>
std::vector<Pointer> pointers(std::span<const Buffer> buffers) {
  std::vector<Pointer> result;
  for (const Buffer& buffer : buffers) result.push_back(buffer.data());
  return result;
}

}  // namespace

Buffer::Buffer(std::size_t bytes)
    : bytes_(bytes),
      data_(std::aligned_alloc(KILN_ALIGNMENT, (bytes / KILN_ALIGNMENT + 1) * KILN_ALIGNMENT)) {}

Result<ProgramHost> ProgramHost::load(const std::string& elf) {
  const int file = ::memfd_create("program", MFD_CLOEXEC);
  if (file < 0) return fail(errnoError(errno, "memfd_create"));
  if (::write(file, elf.data(), elf.size()) != static_cast<ssize_t>(elf.size()))
    return fail(errnoError(errno, "write"));
  void* handle = ::dlopen(fmt::format("/proc/self/fd/{}", file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    ::close(file);
    return fail(Code::kInternal, ::dlerror());
  }
  const auto* program = static_cast<const kiln_program*>(::dlsym(handle, KILN_PROGRAM_SYMBOL));
  ProgramHost host(handle, file, program);
  if (!program) return fail(Code::kInternal, "no " KILN_PROGRAM_SYMBOL);
  return host;
}

ProgramHost::ProgramHost(ProgramHost&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)),
      file_(other.file_),
      program_(other.program_),
      launch_(std::move(other.launch_)) {}

ProgramHost::~ProgramHost() {
  if (!handle_) return;
  ::dlclose(handle_);
  ::close(file_);
}

std::vector<std::int64_t> ProgramHost::shapes(std::uint32_t profile,
                                              std::span<const std::int64_t> symbols) const {
  std::vector<std::int64_t> dims(program_->output_dim_count);
  program_->profiles[profile].shapes(symbols.data(), dims.data());
  return dims;
}

Result<std::vector<std::int64_t>> ProgramHost::run(
    std::uint32_t number, std::span<const std::int64_t> symbols, std::span<const Buffer> weights,
    std::span<const Buffer> inputs, std::span<const Buffer> outputs, int threads, double* seconds) const {
  Pool pool;
  const kiln_profile& profile = program_->profiles[number];
  for (int i = 0; i < threads; ++i) pool.scratch.push_back(guarded(profile.scratch_bytes));
  const Buffer arena = guarded(profile.arena_bytes);
  pool.onLaunch = &launch_;
  const kiln_callbacks callbacks = {&Pool::parallelFor, &pool, &Pool::launch, nullptr, nullptr, nullptr};
  const auto weightPointers = pointers<const void*>(weights), inputPointers = pointers<const void*>(inputs);
  auto outputPointers = pointers<void*>(outputs);
  std::vector<std::int64_t> dims(program_->output_dim_count, -1);
  std::optional<Buffer> counts;
  if (program_->output_count == outputs.size() + 1) {
    std::vector<std::int64_t> stated(dims.size());
    profile.shapes(symbols.data(), stated.data());
    counts.emplace(static_cast<std::size_t>(stated.back()) * sizeof(std::int64_t));
    outputPointers.push_back(counts->data());
  }
  const double start = now(threads);
  const int status = profile.run(&callbacks, arena.data(), weightPointers.data(), inputPointers.data(),
                                 outputPointers.data(), symbols.data(), dims.data());
  if (seconds) *seconds = now(threads) - start;
  if (status != 0) return fail(Code::kInternal, fmt::format("the program returned {}", status));
  if (!intact(arena)) return fail(Code::kDataLoss, "the program wrote past its arena");
  if (!std::ranges::all_of(pool.scratch, intact))
    return fail(Code::kDataLoss, "the program wrote past its scratch");
  if (counts) {
    dims.pop_back();
    const auto found = counts->as<std::int64_t>();
    outOfRange_.assign(found.begin(), found.end());
  }
  return dims;
}

Status ProgramHost::run(std::span<const Buffer> weights, std::span<const Buffer> inputs,
                        std::span<const Buffer> outputs, int threads, double* seconds) const {
  const std::vector<std::int64_t> symbols(program_->symbol_count);  // a static program reads none
  KILN_ASSIGN(const auto dims, run(0, symbols, weights, inputs, outputs, threads, seconds));
  auto stated = shapes(0, symbols);
  stated.resize(dims.size());
  if (dims != stated) return fail(Code::kDataLoss, "the program ran in other shapes than it states");
  return {};
}

}  // namespace kiln::testing
