#include "api/python/native/loaded.h"

#include <unistd.h>

namespace kiln::python {
namespace {

Error withExit(Error error, int exit) {
  error.details = "{\"exitCode\":" + std::to_string(exit) + "}";
  return error;
}

Result<node::Trust> trustOf(const OpenOptions& options) {
  return node::Trust::load(options.root, options.policy, options.recalls);
}

}  // namespace

Loaded::Loaded(node::LoadedArtifact loaded, runtime::Session session)
    : loaded_(std::move(loaded)),
      session_(std::move(session)),
      digest_(loaded_.verified.verdict.artifact.text()),
      inputs_(loaded_.artifact.inputs()),
      outputs_(loaded_.artifact.outputs()),
      strings_(loaded_.artifact.strings()),
      process_(::getpid()) {}

Result<std::shared_ptr<Loaded>> Loaded::open(const OpenOptions& options) {
  std::optional<Digest> wanted;
  if (options.digest) {
    auto parsed = Digest::parse(*options.digest, 0);
    if (!parsed) return fail(parsed.error().in("digest"));
    wanted = *parsed;
  }
  KILN_ASSIGN(const auto trust, trustOf(options));
  KILN_ASSIGN(auto verified, node::openArtifact(options.directory, wanted, trust, SystemClock()));
  KILN_ASSIGN(auto loaded, node::load(std::move(verified)));
  kiln_session_options how{.threads = options.threads, .run_before_ready = 1};
  how.check_indices = options.checked ? 1 : 0;
  how.device = options.device;
  how.device_driver = options.deviceDriver ? options.deviceDriver->c_str() : nullptr;
  auto session = runtime::Session::open(loaded.artifact, how);
  if (!session) {
    const bool tooLarge = session.error().code == Code::kResourceExhausted;
    return fail(tooLarge ? withExit(std::move(session).error(), 4) : std::move(session).error());
  }
  return std::shared_ptr<Loaded>(new Loaded(std::move(loaded), std::move(*session)));
}

Status Loaded::recheck(const OpenOptions& options) const {
  KILN_ASSIGN(const auto trust, trustOf(options));
  return node::recheckArtifact(loaded_.verified, trust, SystemClock());
}

Status Loaded::checkProcess() const {
  if (::getpid() == process_) return {};
  return fail(
      withExit({Code::kFailedPrecondition,
                "the model was loaded before this process was forked off, and its threads stayed behind; "
                "load it in this process (multiprocessing: set_start_method(\"spawn\"), or load in the "
                "worker)",
                {}},
               2));
}

Status Loaded::statusOf(kiln_status* status) {
  if (status == nullptr) return {};
  Error error{runtime::codeOf(kiln_status_class(status)), kiln_status_message(status), {}};
  kiln_status_free(status);
  return fail(error.code == Code::kAborted ? withExit(std::move(error), 10) : std::move(error));
}

void release(std::shared_ptr<Loaded> loaded) {
  if (loaded && !loaded->checkProcess()) new std::shared_ptr<Loaded>(std::move(loaded));
  loaded.reset();
}

}  // namespace kiln::python
