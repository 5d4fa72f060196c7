#include "storage/s3/retry.h"

#include <algorithm>
#include <random>
#include <thread>

#include "manifest/base/steady_clock.h"

namespace kiln::s3 {
namespace {

double drawAtRandom() {
  thread_local std::minstd_rand random{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(random);
}

}  // namespace

Attempts::Attempts(const RetryPolicy& policy) : policy_(policy), since_(SteadyClock().now()) {}

bool Attempts::again() {
  if (inRow_ >= policy_.attempts) return false;
  const int doublings = std::min(inRow_ - 1, 20);
  const Duration most = std::min(policy_.longestPause, policy_.firstPause * (std::int64_t{1} << doublings));
  const double part = policy_.draw ? policy_.draw() : drawAtRandom();
  const Duration pause(static_cast<std::int64_t>(static_cast<double>(most.count()) * part));
  if (SteadyClock().now() + pause > since_ + policy_.giveUpAfter) return false;
  if (policy_.wait)
    policy_.wait(pause);
  else
    std::this_thread::sleep_for(pause);
  ++made_;
  ++inRow_;
  return true;
}

void Attempts::progressed() {
  inRow_ = 1;
  since_ = SteadyClock().now();
}

}  // namespace kiln::s3
