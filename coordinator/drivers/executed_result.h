// Results of foreign actions: what is taken of a worker's report, and which of those that are stored answer a
// client's later calls. None is evidence of an artifact.
#pragma once

#include "coordinator/farm/action_results.h"
#include "coordinator/farm/digest_cache.h"
#include "coordinator/planning/planning.h"
#include "storage/blob/blob_store.h"
#include "storage/index/rows/records.h"

namespace kiln::service {

// When a lease was given, and its result came, by the coordinator's clock.
struct LeaseTimes {
  TimePoint leased, reported;
};

// The result as it is kept, once the store has every byte of it, rehashed: files, directories in each
// form that was asked for, logs. kInvalidArgument for what the action's command does not name; kNotFound or
// kDataLoss for bytes that are not there.
Result<reapi::ActionResult> takeExecuted(storage::BlobStore& blobs, const index::RunRecord& run,
                                         const LeaseTimes& times, const reapi::ActionResult& reported);

// What workers of this farm left: the newest success of the action that its receipt proves, that was not
// recalled and that is complete. That a receipt proves its result is remembered for the same row and recalls,
// for as long as the certificates are valid. Thread safe; `planning` must outlive it.
class ExecutedResults final : public ActionResults {
 public:
  explicit ExecutedResults(const Planning& planning) : planning_(planning) {}
  Result<std::optional<reapi::ActionResult>> find(const std::string& instance, const Digest& action) override;

 private:
  struct Proven {
    TimePoint until;
  };
  // `recalls`: those in force, or none.
  bool provesItself(const index::ResultRecord& result, const signing::Recalls* recalls);

  const Planning& planning_;
  DigestCache<Proven> proven_{10'000};
};

}  // namespace kiln::service
