// What a mirror asks of a farm. Nothing of the answers is believed: artifacts are verified, the log proves
// itself, and recalls are signed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/client/client.h"
#include "api/node/fetch.h"
#include "signing/follow/log_source.h"

namespace kiln::mirror {

struct ArtifactPage {
  std::vector<Digest> artifacts;
  std::string next;  // token of the next page; "" on the last
};

// An entry of the farm's log that is about this instance.
struct LoggedStatement {
  std::optional<Digest> bundle;  // of a statement about an artifact, where the index has it
  std::string statement;         // the payload, where no index has it (yet); else ""
};
struct LoggedPage {
  std::vector<LoggedStatement> statements;
  std::uint64_t next = 0;  // the place after the last entry of this page
  bool last = false;       // the farm knows of no further one
  bool hasLog = false;     // it has a log at all
};

// Errors are of the farm being asked, and kDataLoss (exitCode 5) for answers that cannot be read. Not thread
// safe.
class Farm {
 public:
  virtual ~Farm() = default;
  // Artifacts by their digest, a page at a time; "" is the first page's token.
  virtual Result<ArtifactPage> artifacts(const std::string& pageToken) = 0;
  // What is logged from this place on.
  virtual Result<LoggedPage> logged(std::uint64_t from) = 0;
  // Where an artifact's parts are, without recalls. kNotFound.
  virtual Result<node::ArtifactRef> find(const Digest& artifact) = 0;
  // The newest recalls.json; "" for none.
  virtual Result<std::string> recalls() = 0;
  virtual storage::BlobStore& blobs() = 0;
  // Null if none was named.
  virtual signing::LogSource* log() = 0;
};

// Of the coordinator that `client` reaches, which must outlive it; its caller there needs the role auditor.
// `log` may be null.
std::unique_ptr<Farm> farmOf(client::Client& client, std::unique_ptr<signing::LogSource> log);

}  // namespace kiln::mirror
