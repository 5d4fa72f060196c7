// How far this machine has seen logs come, through whoever serves them: one who shows less, or something
// else, is behind or lies. Kept in a file "<root>.logs" beside the trust root; none of it is believed but as
// far as the root's logs signed it.
#pragma once

#include <map>
#include <string>

#include "api/node/trust.h"
#include "manifest/base/clock.h"
#include "signing/follow/log_source.h"

namespace kiln::pull {

// Not thread safe; other processes may use the same file.
class SeenLogs {
 public:
  // Of the root at `rootPath`. kDataLoss if the file is damaged.
  static Result<SeenLogs> open(const std::string& rootPath);

  // The newest checkpoint that `source` shows, once it is found to continue what was seen: signed by a log of
  // the root under a key that is valid now, its tiles lead to it, and it begins with the newest checkpoint
  // seen of that log and has all that the recalls known here are proven by. "" if the root names no log.
  // kDataLoss (exitCode 5) says how it is behind or what does not fit; kUnavailable.
  Result<std::string> check(signing::LogSource& source, const node::Trust& trust, TimePoint now) const;

  // Durable on return. Never overwrites a newer one; where the folder cannot be written, nothing is kept.
  Status remember(const std::string& checkpoint);

 private:
  explicit SeenLogs(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::map<std::string, std::string> newest_;  // notes by origin
};

// Whether the recalls that somebody offers with an artifact, "" for none, are as new as those that `trust`
// knows. kDataLoss (exitCode 5) if they are older or missing; what they say is for Trust::learnCarried().
Status checkRecallsFresh(const std::string& offered, const node::Trust& trust);

}  // namespace kiln::pull
