// What a watch has seen of its job, over all the streams that brought it: the job's revision is the cursor.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "api/client/retry_policy.h"
#include "kiln/v1/job.pb.h"
#include "manifest/base/result.h"

namespace kiln::client {

// Whether a job has come to its end.
bool hasEnded(const v1::Job& job);

// Not thread safe. A stream begins with the job as it is, so one that goes on elsewhere misses nothing; what
// was shown already is not shown again.
class WatchedJob {
 public:
  // Both must outlive it.
  WatchedJob(RetryPolicy::Attempts& attempts, const std::function<Status(const v1::Job&)>& onChange)
      : attempts_(attempts), onChange_(onChange) {}

  // A stream begins, brings the job and breaks off or ends.
  void begin() { answered_.reset(); }
  void take(v1::Job job);
  void end();

  // Nothing more is to come: the job has ended, or its receiver has failed.
  bool isOver() const { return !receiver_ || (last_ && hasEnded(*last_)); }
  // Of a watch that is over.
  Result<v1::Job> result() const;

 private:
  using Clock = std::chrono::steady_clock;
  RetryPolicy::Attempts& attempts_;
  const std::function<Status(const v1::Job&)>& onChange_;
  std::optional<v1::Job> last_;
  Status receiver_;
  std::optional<Clock::time_point> answered_;  // by this stream
  // A farm is back when it says what the job is, even if that was known: but once, until there is news or it
  // has stayed for a while. Else one that says so again and again and breaks off is waited for without end.
  bool mayRepeat_ = true;
};

}  // namespace kiln::client
