#include "storage/postgres/patience.h"

#include <algorithm>
#include <random>
#include <thread>

namespace kiln::postgres {

void pauseBeforeRetry(int attempt) {
  thread_local std::minstd_rand random{std::random_device{}()};
  const unsigned limit = 1u << attempt;
  std::this_thread::sleep_for(std::chrono::microseconds(random() % (1000u * limit)));
}

bool Patience::again() {
  if ((hurry_ && *hurry_) || Clock::now() >= until_) return false;
  pauseBeforeRetry(attempt_);
  attempt_ = std::min(attempt_ + 1, 10);
  return true;
}

}  // namespace kiln::postgres
