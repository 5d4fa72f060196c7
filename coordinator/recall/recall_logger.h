// Recalls in the farm's log: taken in, and proven to be there.
#pragma once

#include <string>

#include "coordinator/signatures/log_growth.h"
#include "manifest/base/clock.h"
#include "signing/follow/log_source.h"
#include "signing/recall/recalls.h"

namespace kiln::service {

// Thread safe. What is passed by reference must outlive it.
class RecallLogger {
 public:
  // `tiles`: kiln-log's directory or bucket. `timeout`: how long logged() waits for a checkpoint.
  RecallLogger(postgres::Pool& database, const Clock& clock, LogGrowth& growth, const std::string& tiles,
               std::chrono::milliseconds timeout = std::chrono::seconds(20))
      : database_(database),
        clock_(clock),
        growth_(growth),
        tiles_(signing::openLogSource(tiles)),
        timeout_(timeout) {}

  // The file of `recalls` with the proof that the log holds each of its entries, under the newest
  // checkpoint, whose key is valid if any is, once it covers them all and is not before the one that the
  // issuers name. Takes in what the log lacks, once,
  // whoever asks again. `keys` are the recall keys of the root under which their signatures hold.
  // kUnavailable if no checkpoint came in time: the same again waits on. kDataLoss if the issuers name a
  // checkpoint that this log contradicts.
  Result<std::string> logged(const signing::Recalls& recalls, const signing::RecallKeys& keys);
  // The same without waiting: nothing while no checkpoint covers them.
  Result<std::optional<std::string>> loggedAlready(const signing::Recalls& recalls,
                                                   const signing::RecallKeys& keys);
  // The newest checkpoint of the log, a signed note; "" before the first.
  Result<std::string> checkpoint();

 private:
  Status takeIn(const signing::Recalls& recalls, const signing::RecallKeys& keys);
  Result<std::optional<std::string>> prove(const signing::Recalls& recalls);

  postgres::Pool& database_;
  const Clock& clock_;
  LogGrowth& growth_;
  const std::unique_ptr<signing::LogSource> tiles_;
  const std::chrono::milliseconds timeout_;
};

}  // namespace kiln::service
