// A witness: cosigns checkpoints of the logs that it knows, each of which continues the last one it cosigned.
// Source: C2SP tlog-witness.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/base/file.h"
#include "manifest/base/mutex.h"
#include "signing/log/checkpoint.h"
#include "signing/witness/add_checkpoint.h"

namespace kiln::signing {

struct WitnessAnswer {
  int status = 500;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

// Thread safe. What it has cosigned is durable before it says so, so that no crash makes it sign two
// histories. One process at a time on a state directory.
class Witness {
 public:
  // `name` is that of its key. Of a log whose key changes, `logs` holds both until a checkpoint under the new
  // one was cosigned: they share what is kept. kUnavailable if another process holds `directory`. `clock`
  // outlives it.
  static Result<std::unique_ptr<Witness>> open(const std::string& directory, std::string name,
                                               Ed25519PrivateKey key, std::vector<VerifierKey> logs,
                                               const Clock& clock);

  // The answer to a POST of add-checkpoint: 200 and its cosignature; 400 malformed, or an old size beyond the
  // checkpoint's; 404 a log that it does not know; 403 not signed by the log; 409 and the size that it
  // cosigned last (text/x.tlog.size), if the request begins elsewhere, or has another tree of that size; 422
  // the proof does not hold.
  WitnessAnswer addCheckpoint(std::string_view request);
  // Has each of its answers told, by status, on the thread that asked. Before anybody asks.
  void onAnswer(std::function<void(int status)> told) { told_ = std::move(told); }

  // The last checkpoint that it cosigned, with its cosignature. kNotFound if there is none.
  Result<std::string> last(const std::string& origin);

 private:
  Witness(std::string directory, std::string name, Ed25519PrivateKey key, std::vector<VerifierKey> logs,
          const Clock& clock, UniqueFd lock)
      : directory_(std::move(directory)),
        name_(std::move(name)),
        key_(std::move(key)),
        logs_(std::move(logs)),
        clock_(clock),
        lock_(std::move(lock)) {}
  WitnessAnswer decide(std::string_view request);
  std::string pathOf(const std::string& origin) const;
  std::vector<VerifierKey> keysOf(const std::string& origin) const;
  // `keys` are those of `origin`.
  Result<Checkpoint> latest(const std::string& origin, std::span<const VerifierKey> keys) const
      KILN_REQUIRES(mutex_);

  const std::string directory_;
  const std::string name_;
  const Ed25519PrivateKey key_;
  const std::vector<VerifierKey> logs_;
  const Clock& clock_;
  const UniqueFd lock_;
  std::function<void(int)> told_ = [](int) {};
  Mutex mutex_;  // from reading a log's last checkpoint until the next one is durable
};

}  // namespace kiln::signing
