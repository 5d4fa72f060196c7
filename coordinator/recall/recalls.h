// The recalls that are in force on this farm.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "coordinator/farm/observers.h"
#include "coordinator/recall/recall_logger.h"
#include "coordinator/recall/recall_source.h"
#include "signing/recall/recalls.h"
#include "storage/index/rows/records.h"

namespace kiln::service {

struct RecallSettings {
  std::string trustRoot;           // path of the farm's root; "" if it was given none
  RecallLogger* logger = nullptr;  // null if the farm cannot prove what is in its log
};

// The newest that were published, whose signatures hold under the root that they were published with; null if
// there are none. kDataLoss if the row holds something else; kUnavailable if the log holds recalls that it
// lacks (RecallSource::logged): then nobody can say what is recalled.
Result<std::shared_ptr<const signing::Recalls>> recallsInForce(const RecallSource& source);

// The newest for whoever asks for them, and holds them against the log for himself: what came into force
// before the root named a log is taken into the log now, and proven as soon as a checkpoint covers it.
Result<std::shared_ptr<const signing::Recalls>> recallsToServe(const RecallSource& source,
                                                               const RecallSettings& settings);

// Puts a newer version in force, once the log holds it where the root names one; its file then has the
// proofs. Killed anywhere, the same again goes on. Errors as RecallService.PublishRecalls.
Result<signing::Recalls> publishRecalls(const RecallSource& source, const RecallSettings& settings,
                                        const std::string& document, const Clock& clock,
                                        const Observers& observers);

// kPermissionDenied, as what does not verify (exit code 5), if any of these bytes was recalled: what is made
// of them would be, too.
Status checkNotRecalled(const RecallSource& source, std::span<const Digest> content);

// Why nothing that this worker makes from now on counts ("recalled on ..."): the worker, its operator or its
// key was recalled. "" where it was not. `recalls` may be null.
std::string recallOfWorker(const signing::Recalls* recalls, TimePoint now, const std::string& worker,
                           const std::string& operatorName, const Digest& key);

// Who left a result.
struct Maker {
  std::string worker, operatorName;
  std::string keyId = {};  // of its certificate; "" where that is not known
};
// kInvalidArgument if its certificate is none.
Result<Maker> makerOf(const index::ResultRecord& result);
// The recall that takes from a statement what the maker did; null if none does.
const signing::RecallEntry* touchesMaker(const signing::Recalls& recalls,
                                         const signing::StatementPlace& place, const Maker& maker);

// A statement that is about to be signed.
struct NewStatement {
  signing::StatementPlace place;
  std::vector<Maker> makers;              // whose work it tells of
  std::string keyId = {};                 // that signs it; "" where that is judged by others
  std::vector<std::string> sources = {};  // "git+URL@COMMIT#PATH"
  std::vector<std::string> devices = {};
};
// kPermissionDenied, as for checkNotRecalled(), where it would not count for `wanted` of its makers.
Status checkCounts(const RecallSource& source, const NewStatement& statement, std::size_t wanted = 1);

}  // namespace kiln::service
