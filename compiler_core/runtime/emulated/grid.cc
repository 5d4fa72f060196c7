#include "compiler_core/runtime/emulated/grid.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "manifest/base/mutex.h"

namespace kiln::emulated {
namespace {

#if defined(__x86_64__)
// Kernels run in a state of their own: round to nearest, subnormals kept, exceptions masked.
class FloatingPointState {
 public:
  FloatingPointState() : saved_(__builtin_ia32_stmxcsr()) { __builtin_ia32_ldmxcsr(0x1f80); }
  ~FloatingPointState() { __builtin_ia32_ldmxcsr(saved_); }

 private:
  unsigned saved_;
};
#else
struct FloatingPointState {};
#endif

// The order in which blocks start. Shuffled: steps of a length that has no factor in common with their
// number, so that each comes once.
class BlockOrder {
 public:
  BlockOrder(Order order, std::uint64_t blocks) : order_(order), blocks_(blocks) {
    if (order != Order::kShuffled || blocks < 3) return;
    constexpr std::uint64_t kFirst = 0x9E37'79B9;
    step_ = kFirst % blocks;
    while (std::gcd(step_, blocks) != 1) ++step_;
  }
  std::uint64_t at(std::uint64_t number) const {
    if (order_ == Order::kDescending) return blocks_ - 1 - number;
    if (order_ == Order::kAscending) return number;
    const auto steps = static_cast<Wide>(number) * step_ + blocks_ / 2;
    return static_cast<std::uint64_t>(steps % blocks_);
  }

 private:
  __extension__ using Wide = unsigned __int128;
  const Order order_;
  const std::uint64_t blocks_;
  std::uint64_t step_ = 1;
};

struct Failure {
  Mutex mutex;
  std::string first KILN_GUARDED_BY(mutex);
};

}  // namespace

std::string GridRunner::run(const LaunchOp& launch) {
  const std::uint64_t blocks = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  const BlockOrder order(order_, blocks);
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> failed{false};
  Failure failure;
  const auto work = [&](BlockRunner& runner) {
    const FloatingPointState state;
    for (std::uint64_t i = next++; i < blocks && !failed; i = next++) {
      const std::uint64_t block = order.at(i);
      const BlockWork one{launch.kernel,
                          launch.arguments.data(),
                          static_cast<std::uint32_t>(block % launch.grid[0]),
                          static_cast<std::uint32_t>(block / launch.grid[0] % launch.grid[1]),
                          static_cast<std::uint32_t>(block / launch.grid[0] / launch.grid[1]),
                          block};
      const std::string wrong = runner.run(one);
      if (wrong.empty()) continue;
      const MutexLock lock(failure.mutex);
      if (!failed) failure.first = "block " + std::to_string(block) + ": " + wrong;
      failed = true;
    }
  };
  const auto threads = static_cast<unsigned>(std::min<std::uint64_t>(count_, blocks));
  while (runners_.size() < threads) runners_.push_back(std::make_unique<BlockRunner>(order_));
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i) others.emplace_back([&, i] { work(*runners_[i]); });
  work(*runners_[0]);
  for (std::thread& other : others) other.join();
  const MutexLock lock(failure.mutex);
  return failure.first;
}

}  // namespace kiln::emulated
