// Recalls in force, held against the log: a row that was deleted or set back lifts no recall.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>

#include "manifest/base/digest.h"
#include "manifest/base/mutex.h"
#include "signing/follow/log_source.h"
#include "signing/recall/recalls.h"

namespace kiln::service {

// Remembers which entries of the log the trust root's recall keys have signed, and reads on as the log grows:
// all of it for a new root. Thread safe.
class LoggedRecalls {
 public:
  // `tiles`: kiln-log's directory or bucket; `trustRoot`: the path of the farm's root, read again at each
  // check.
  LoggedRecalls(const std::string& tiles, std::string trustRoot)
      : tiles_(signing::openLogSource(tiles)), trustRoot_(std::move(trustRoot)) {}

  // kUnavailable if the log holds a recall by a key of the root that `inForce` (null: none are) lacks: the
  // database has lost it, or it is about to come into force; or if the log cannot be read. kDataLoss if its
  // tiles are not what it signed. Fine where the root names no recall keys, or no log that this is.
  Status check(const signing::Recalls* inForce);

 private:
  using LogDigest = std::array<std::uint8_t, 32>;
  Status readRoot() KILN_REQUIRES(mutex_);
  Status readOn() KILN_REQUIRES(mutex_);
  Status walk(const signing::Checkpoint& checkpoint) KILN_REQUIRES(mutex_);

  const std::unique_ptr<signing::LogSource> tiles_;
  const std::string trustRoot_;
  Mutex mutex_;
  Digest root_ KILN_GUARDED_BY(mutex_);  // of the root's text
  // Nothing: the root recalls nothing, or names no log.
  std::optional<signing::TrustRoot> read_ KILN_GUARDED_BY(mutex_);
  Digest checkpoint_ KILN_GUARDED_BY(mutex_);  // of the checkpoint's text, as far as was walked
  std::uint64_t walked_ KILN_GUARDED_BY(mutex_) = 0;
  std::set<LogDigest> logged_ KILN_GUARDED_BY(mutex_);
  Digest held_ KILN_GUARDED_BY(mutex_);  // of recalls that held all of logged_
};

}  // namespace kiln::service
