#include "worker/cluster/execution.h"

#include <fmt/core.h>
#include <google/protobuf/empty.pb.h>
#include <grpcpp/generic/generic_stub.h>
#include <poll.h>

#include <optional>
#include <thread>

#include "google/rpc/error_details.pb.h"
#include "manifest/base/printable.h"
#include "storage/remote/status.h"
#include "worker/cluster/connection.h"

namespace kiln::cluster {
namespace {

using google::longrunning::Operation;

constexpr std::chrono::milliseconds kGlance{100};  // how soon a cancellation or a limit is noticed
constexpr std::chrono::milliseconds kFirstPause{100};
constexpr int kMostLosses = 5;  // of streams of one action
constexpr Duration kGrace =
    std::chrono::seconds(60);           // beyond the time limit: for the cluster's own transfers
constexpr std::size_t kMaxName = 4096;  // of an operation
constexpr int kMostViolations = 100'000;

// The violations of type MISSING of a rich status: "blobs/HASH/SIZE".
std::vector<Digest> missingIn(const google::rpc::Status& status) {
  std::vector<Digest> missing;
  for (const auto& detail : status.details()) {
    google::rpc::PreconditionFailure failure;
    if (!detail.UnpackTo(&failure) || failure.violations_size() > kMostViolations) continue;
    for (const auto& violation : failure.violations()) {
      const std::string& subject = violation.subject();
      // An instance may stand in front.
      const std::size_t blobs = subject.rfind("blobs/"), size = subject.rfind('/');
      if (violation.type() != "MISSING" || blobs == std::string::npos || size <= blobs + 6) continue;
      reapi::Digest digest;
      digest.set_hash(subject.substr(blobs + 6, size - blobs - 6));
      digest.set_size_bytes(std::atoll(subject.c_str() + size + 1));
      if (const auto known = fromProto(digest)) missing.push_back(*known);
    }
  }
  return missing;
}

google::rpc::Status richStatus(const grpc::Status& status) {
  google::rpc::Status rich;
  if (!rich.ParseFromString(status.error_details())) rich.Clear();
  rich.set_code(status.error_code());
  rich.set_message(status.error_message());
  return rich;
}

// That a server or a connection went away, as far as a client can tell.
bool isLoss(grpc::StatusCode code) {
  return code == grpc::OK || code == grpc::UNAVAILABLE || code == grpc::CANCELLED || code == grpc::ABORTED ||
         code == grpc::INTERNAL || code == grpc::UNKNOWN || code == grpc::DEADLINE_EXCEEDED;
}

}  // namespace

bool isCancelled(const sandbox::Cancel* cancel) {
  if (!cancel) return false;
  pollfd entry{cancel->fd(), POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

// One action's way: streams come and go, the operation's name and the times stay.
class Execution::Attempt {
 public:
  Attempt(Execution& owner, const ExecutionRequest& request)
      : owner_(owner), request_(request), begun_(owner.clock_.now()) {}

  Result<Executed> run() {
    open();
    while (true) {
      if (isCancelled(request_.cancel)) return giveUp(fail(Code::kCancelled, "cancelled"));
      KILN_TRY(checkTimes());
      Operation update;
      switch (stream_->next(update, std::chrono::system_clock::now() + kGlance)) {
        case OperationStream::Event::kQuiet:
          break;
        case OperationStream::Event::kUpdate:
          KILN_TRY(take(update));
          if (update.done()) return resultOf(update);
          break;
        case OperationStream::Event::kEnded: {
          const google::rpc::Status status = richStatus(stream_->status());
          if (auto missing = missingIn(status); !missing.empty()) return Executed{{}, std::move(missing)};
          KILN_TRY(goOn(static_cast<grpc::StatusCode>(status.code()), status.message()));
        }
      }
    }
  }

 private:
  void open() {
    if (!name_.empty()) {
      reapi::WaitExecutionRequest request;
      request.set_name(name_);
      stream_.emplace(*owner_.stub_, request);
      return;
    }
    reapi::ExecuteRequest request;
    request.set_instance_name(owner_.instance_);
    request.set_skip_cache_lookup(true);
    *request.mutable_action_digest() = toProto(request_.action);
    stream_.emplace(*owner_.stub_, request);
  }

  tl::unexpected<Error> giveUp(tl::unexpected<Error> error) {
    stream_.reset();
    if (!name_.empty()) owner_.cancelOperation(name_);
    return error;
  }

  Duration sinceBegin() const { return owner_.clock_.now() - begun_; }

  static std::string seconds(Duration time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
  }

  // Nothing that a cluster says moves these limits.
  Status checkTimes() {
    if (!runs_ && sinceBegin() > request_.queueLimit)
      return giveUp(
          fail(Code::kUnavailable, "the action has waited for more than " + seconds(request_.queueLimit) +
                                       ": the cluster has no free worker of this platform, or none at all"));
    if (sinceBegin() > request_.queueLimit + request_.timeLimit + kGrace)
      return giveUp(fail(Code::kUnavailable, "the action has not ended " + seconds(kGrace) +
                                                 " after its time limit of " + seconds(request_.timeLimit)));
    return {};
  }

  // What an update says of the operation.
  Status take(const Operation& update) {
    if (update.name().size() > kMaxName)
      return giveUp(fail(Code::kDataLoss, "an operation's name of more than 4096 bytes"));
    if (!update.name().empty()) name_ = update.name();
    reapi::ExecuteOperationMetadata metadata;
    if (!update.metadata().UnpackTo(&metadata)) return {};
    if (metadata.has_action_digest()) {
      const auto action = fromProto(metadata.action_digest());
      if (!action || *action != request_.action)
        return giveUp(fail(Code::kDataLoss, "the cluster speaks of another action than it was given"));
    }
    if (metadata.stage() == reapi::ExecutionStage::EXECUTING && !runs_) {
      runs_ = true;
      request_.onStage("cluster-runs");
    }
    return {};
  }

  // After a stream ended without the operation's end.
  Status goOn(grpc::StatusCode code, const std::string& message) {
    const bool gone = !name_.empty() && (code == grpc::NOT_FOUND || code == grpc::UNIMPLEMENTED);
    const Error error = fromGrpc({code == grpc::OK ? grpc::UNAVAILABLE : code, message});
    if (!gone && !isLoss(code)) return fail(ofCluster(error, "the cluster refuses the action"));
    if (++losses_ >= kMostLosses)
      return fail(ofCluster(error, fmt::format("{} {} times",
                                               name_.empty() ? "the cluster did not take the action, asked"
                                                             : "the cluster's answer was lost",
                                               losses_)));
    if (gone) name_.clear();
    stream_.reset();
    std::this_thread::sleep_for(kFirstPause * (1 << losses_));
    open();
    return {};
  }

  Result<Executed> resultOf(const Operation& operation) {
    if (operation.has_error()) return failure(operation.error());
    reapi::ExecuteResponse response;
    if (!operation.has_response() || !operation.response().UnpackTo(&response))
      return fail(Code::kDataLoss, "the operation ended without a response");
    if (response.status().code() != 0) return failure(response.status());
    if (response.cached_result())
      return fail(Code::kDataLoss, "the cluster answered from a cache, which it was told not to");
    if (!response.has_result()) return fail(Code::kDataLoss, "the operation ended without a result");
    return Executed{std::move(*response.mutable_result()), {}};
  }

  Result<Executed> failure(const google::rpc::Status& status) {
    if (auto missing = missingIn(status); !missing.empty()) return Executed{{}, std::move(missing)};
    const Error error = fromGrpc({static_cast<grpc::StatusCode>(status.code()), status.message()});
    // It ends the job, so it is not taken on the cluster's word.
    if (error.code == Code::kDeadlineExceeded && sinceBegin() >= request_.timeLimit)
      return fail(Code::kDeadlineExceeded, "time limit: " + seconds(request_.timeLimit));
    return fail(ofCluster(error, "the cluster did not run the action"));
  }

  Execution& owner_;
  const ExecutionRequest& request_;
  const TimePoint begun_;
  std::optional<OperationStream> stream_;
  std::string name_;
  bool runs_ = false;
  int losses_ = 0;
};

Execution::Execution(std::shared_ptr<grpc::Channel> channel, std::string instance, const Clock& clock)
    : channel_(std::move(channel)),
      stub_(reapi::Execution::NewStub(channel_)),
      instance_(std::move(instance)),
      clock_(clock) {}

Result<Executed> Execution::run(const ExecutionRequest& request) {
  request.onStage("cluster-queued");
  return Attempt(*this, request).run();
}

// Some clusters end what nobody waits for, others want to be told. Its request has the one field that
// WaitExecution's has, and nobody has to answer.
void Execution::cancelOperation(const std::string& name) {
  reapi::WaitExecutionRequest request;
  request.set_name(name);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
  grpc::CompletionQueue queue;
  grpc::TemplatedGenericStub<reapi::WaitExecutionRequest, google::protobuf::Empty> operations(channel_);
  const auto call = operations.PrepareUnaryCall(&context, "/google.longrunning.Operations/CancelOperation",
                                                request, &queue);
  google::protobuf::Empty response;
  grpc::Status status;
  call->StartCall();
  call->Finish(&response, &status, this);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
}

}  // namespace kiln::cluster
