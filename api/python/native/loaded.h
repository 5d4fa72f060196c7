// An artifact in the runtime with its session, without anything of Python.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/node/load.h"

namespace kiln::python {

struct OpenOptions {
  std::string directory, root;
  std::optional<std::string> digest, policy, recalls;
  std::uint32_t threads = 0;
  bool checked = false;
  std::optional<std::string> deviceDriver;
  std::int32_t device = 0;
};

// Thread safe, as the runtime's sessions are.
class Loaded {
 public:
  // Verifies, loads and opens a session. Errors as node::openArtifact() and runtime::Session::open(); what
  // memory does not hold has exitCode 4.
  static Result<std::shared_ptr<Loaded>> open(const OpenOptions& options);

  const std::string& digest() const { return digest_; }
  const std::vector<runtime::TensorSpec>& inputs() const { return inputs_; }
  const std::vector<runtime::TensorSpec>& outputs() const { return outputs_; }
  const std::vector<std::string>& strings() const { return strings_; }
  runtime::Session& session() { return session_; }

  // The same of a newer recalls.json: whether the artifact would still be accepted.
  Status recheck(const OpenOptions& options) const;
  // kFailedPrecondition in a process that was forked off after opening: the session's threads are not there.
  Status checkProcess() const;

  // From a call of the runtime's C interface, which it frees; a failed numerical check has exitCode 10.
  static Status statusOf(kiln_status* status);

 private:
  Loaded(node::LoadedArtifact loaded, runtime::Session session);

  node::LoadedArtifact loaded_;
  runtime::Session session_;
  std::string digest_;
  std::vector<runtime::TensorSpec> inputs_, outputs_;
  std::vector<std::string> strings_;
  pid_t process_;
};

// The last owner lets it go: in a process that was forked off it stays, for its threads and its directory are
// the parent's.
void release(std::shared_ptr<Loaded> loaded);

}  // namespace kiln::python
