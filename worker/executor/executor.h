// Executor: from an Action digest to an ActionResult. Only the Action decides what runs and what it sees;
// which worker, slot, path or time it was leaves no trace in the outputs of a well-behaved tool.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "storage/blob/blob_store.h"
#include "storage/tree/digest_proto.h"
#include "worker/executor/action_plan.h"
#include "worker/executor/tree_cache.h"
#include "worker/sandbox/sandbox.h"

namespace kiln::executor {

// What the worker adds for what measures or checks its machine, beside what the action says.
struct HostAddition {
  std::vector<std::string> arguments;  // after the action's
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<sandbox::Bind> binds;
};

struct ActionRequest {
  std::string instance;
  Digest action;
  int slot = 0;          // below the number of slots; used by one action at a time
  Duration timeLimit{};  // zero: the Action's own, else the shorter of the two
  const sandbox::Cancel* cancel = nullptr;
  std::function<void(const std::string&)> onStage;  // each stageOf() a line of stderr; on the calling thread
  std::function<void(Duration)> onSandboxEnd;       // told how long the sandbox ran; on the calling thread
  HostAddition addition;
  Profile profile = Profile::kCompiler;
  std::optional<Digest> root;  // kForeign: the tree that the lease puts at /
  std::string worker;          // kForeign: its name for the result's metadata
  // An output file that counts, alone and as a success, if the action was cancelled, ran into its time or
  // memory limit, or was ended by a signal after it was written; "" for none.
  std::string keptWhenEnded;
};

// The stage named by a line of stderr: "stage: codegen" -> "codegen", at most 32 characters of a-z, 0-9, "-"
// and "_"; a tuner's line ("tune: kernel 3/12 ...") as it is, at most 160 printable characters. "" for any
// other line.
std::string stageOf(std::string_view line);

// A program of the worker's own that actions run instead of one in their input tree: its name is argument 0
// of their command. It sees the host's libraries.
struct HostProgram {
  std::string name;  // "kiln-check"
  std::string path;  // on the host
};

// Thread safe for distinct slots.
class Executor {
 public:
  // `state` is a directory of this worker's own; everything in it is removed. Keeps toolchains up to
  // `toolchainBytes`. The store and the sandbox must outlive it.
  static Result<std::unique_ptr<Executor>> make(storage::BlobStore& store, const sandbox::Sandbox& sandbox,
                                                std::string state, std::uint64_t toolchainBytes = 8ull << 30);
  // The same for actions that run `program` and nothing else.
  static Result<std::unique_ptr<Executor>> makeFor(HostProgram program, storage::BlobStore& store,
                                                   const sandbox::Sandbox& sandbox, std::string state);

  // Runs the action; a tool's own failure is a result with its exit code, not an error. A foreign action's
  // result has what it left and ExecutedActionMetadata even so; a compiler's that failed has no outputs.
  // Errors: kInvalidArgument (a malformed or unserved action, or unacceptable outputs), kNotFound (a blob is
  // missing), kDeadlineExceeded, kCancelled, kResourceExhausted (memory, disk), kOutOfRange (output limits),
  // and the store's.
  Result<reapi::ActionResult> run(const ActionRequest& request);

  // Puts the policy that all actions run under into the store. Its digest.
  Result<Digest> storePolicy(const std::string& instance);

  // Toolchain trees ready to use, in hex.
  std::vector<std::string> warmToolchains() const { return trees_.held(); }
  // How often actions found their toolchain here.
  TreeCache::Uses toolchainUses() const { return trees_.uses(); }

 private:
  Executor(storage::BlobStore& store, const sandbox::Sandbox& sandbox, std::string state, std::uint64_t bytes)
      : store_(store), sandbox_(sandbox), state_(std::move(state)), trees_(state_ + "/toolchains", bytes) {}

  Result<ActionPlan> plan(const ActionRequest& request);
  Result<sandbox::Command> commandOf(const ActionPlan& plan, const ActionRequest& request) const;
  Result<sandbox::RunResult> runInSandbox(const sandbox::Command& command, const ActionPlan& plan,
                                          const ActionRequest& request) const;

  storage::BlobStore& store_;
  const sandbox::Sandbox& sandbox_;
  const std::string state_;
  TreeCache trees_;
  std::optional<HostProgram> program_;
};

}  // namespace kiln::executor
