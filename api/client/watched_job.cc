#include "api/client/watched_job.h"

namespace kiln::client {
namespace {
constexpr std::chrono::seconds kStays{10};
}  // namespace

void WatchedJob::take(v1::Job job) {
  if (!answered_) answered_ = Clock::now();
  const bool changed = !last_ || job.revision() != last_->revision();
  if (changed || mayRepeat_) attempts_.answered();
  mayRepeat_ = changed;
  last_ = std::move(job);
  if (changed) receiver_ = onChange_(*last_);
}

void WatchedJob::end() {
  if (!answered_ || Clock::now() - *answered_ < kStays) return;
  attempts_.answered();
  mayRepeat_ = true;
}

Result<v1::Job> WatchedJob::result() const {
  if (!receiver_) return fail(receiver_.error());
  return *last_;
}

bool hasEnded(const v1::Job& job) {
  return job.state() == v1::JOB_SUCCEEDED || job.state() == v1::JOB_FAILED ||
         job.state() == v1::JOB_CANCELLED;
}

}  // namespace kiln::client
