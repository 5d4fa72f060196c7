// A log as anybody may read it: over HTTP, from a directory or from a bucket of S3.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "signing/follow/http.h"
#include "signing/log/checkpoint.h"
#include "signing/log/tiles.h"

namespace kiln::signing {

// Nothing that it returns may be believed before it was checked against a signed checkpoint.
class LogSource : public TileReader {
 public:
  // Its URL or directory, for messages.
  virtual const std::string& where() const = 0;
  // The newest checkpoint, a signed note. kNotFound if there is none.
  virtual Result<std::string> checkpoint() = 0;
};

// `where` is a URL ("https://log.example.org", "http://127.0.0.1:8080/log", "s3://BUCKET/PREFIX" as
// storage/s3/location.h) or a directory. `credentials` are for https.
std::unique_ptr<LogSource> openLogSource(const std::string& where, HttpCredentials credentials = {});

struct OpenedCheckpoint {
  Note note;
  Checkpoint checkpoint;
};
// A checkpoint that one of `logs` signed. Errors as parseNote and openCheckpoint; kPermissionDenied, naming
// the origin and the keys that signed, if none of `logs` has its origin: what does not verify (exit code 5).
Result<OpenedCheckpoint> openCheckpointText(const std::string& text, std::span<const VerifierKey> logs);
// The same of the source's newest one. Errors name the source; one that cannot be read is kDataLoss.
Result<OpenedCheckpoint> readCheckpoint(LogSource& source, std::span<const VerifierKey> logs);

// Of reading what a log has signed a checkpoint of: names the source, if the message does not yet. What is
// malformed or withheld is kDataLoss, never a fault of the caller's words.
Error fromLog(const LogSource& source, const Error& error);

// Reads the whole log: every entry leads to its leaf hash, every tile to the checkpoint's root. kDataLoss
// naming what does not, and the source. `seen` is called with the number of entries checked so far.
Status checkWholeLog(LogSource& source, const Checkpoint& checkpoint,
                     const std::function<void(std::uint64_t)>& seen);

}  // namespace kiln::signing
