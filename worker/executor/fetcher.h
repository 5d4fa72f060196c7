// Fetcher: a git source to blobs. The program kiln-fetcher does it in a sandbox of its own: with the network,
// without keys, sockets or files of the farm beside it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/blob/blob_store.h"
#include "storage/tree/digest_proto.h"
#include "worker/sandbox/sandbox.h"

namespace kiln::executor {

struct FetchOptions {
  std::string program;             // kiln-fetcher on the host
  std::vector<std::string> hosts;  // that may be fetched from
  // A directory for private repositories, "" for none: the file `git` (storage/source/secrets.h) and the ssh
  // keys it names as /credentials/NAME. Each fetch gets its own copy, gone when it ends.
  std::string credentials;
  std::string caFile;  // certificate authorities instead of the system's; "" for those
  std::string proxy;   // URL; "" for none
};

struct FetchRequest {
  std::string instance;
  std::string url, commit, path;
  int slot = 0;
  Duration timeLimit{};
  const sandbox::Cancel* cancel = nullptr;
  std::function<void(Duration)> onSandboxEnd = {};  // as ActionRequest::onSandboxEnd
};

// Thread safe for distinct slots.
class Fetcher {
 public:
  // `state` as for Executor::make. The store must outlive the fetcher; `sandbox` has the fetch policy.
  static Result<std::unique_ptr<Fetcher>> make(storage::BlobStore& store, sandbox::Sandbox sandbox,
                                               std::string state, FetchOptions options);

  // Outputs "output/model.onnx" and whatever external data came with it; exit code and stderr are the
  // program's, or exit code 4 with an error line where the source went beyond the sandbox's memory or output.
  Result<reapi::ActionResult> run(const FetchRequest& request);

  // As Executor::storePolicy.
  Result<Digest> storePolicy(const std::string& instance);

 private:
  Fetcher(storage::BlobStore& store, sandbox::Sandbox sandbox, std::string state, FetchOptions options)
      : store_(store), sandbox_(std::move(sandbox)), state_(std::move(state)), options_(std::move(options)) {}

  storage::BlobStore& store_;
  const sandbox::Sandbox sandbox_;
  const std::string state_;
  const FetchOptions options_;
};

}  // namespace kiln::executor
