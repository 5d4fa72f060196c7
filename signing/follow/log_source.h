// A log as anybody may read it: over HTTP or from a directory.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "signing/log/checkpoint.h"
#include "signing/log/tiles.h"

namespace kiln::signing {

// Nothing that it returns may be believed before it was checked against a signed checkpoint.
class LogSource : public TileReader {
 public:
  // The newest checkpoint, a signed note. kNotFound if there is none.
  virtual Result<std::string> checkpoint() = 0;
};

// `where` is a URL ("https://log.example.org", "http://127.0.0.1:8080/log") or a directory.
std::unique_ptr<LogSource> openLogSource(const std::string& where);

struct OpenedCheckpoint {
  Note note;
  Checkpoint checkpoint;
};
// The source's checkpoint, if one of `logs` signed it. Errors as parseNote and openCheckpoint;
// kPermissionDenied if none of `logs` has its origin.
Result<OpenedCheckpoint> readCheckpoint(LogSource& source, std::span<const VerifierKey> logs);
Result<OpenedCheckpoint> openCheckpointText(const std::string& text, std::span<const VerifierKey> logs);

// Reads the whole log: every entry leads to its leaf hash, every tile to the checkpoint's root. kDataLoss
// naming what does not. `seen` is called with the number of entries checked so far.
Status checkWholeLog(LogSource& source, const Checkpoint& checkpoint,
                     const std::function<void(std::uint64_t)>& seen);

}  // namespace kiln::signing
