#include "coordinator/rpc/synchronize_call.h"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "coordinator/rpc/rpc.h"
#include "coordinator/rpc/worker_address.h"
#include "coordinator/view/job_view.h"
#include "storage/tree/digest_proto.h"

namespace kiln::service {
namespace {

using index::RunRecord;
using std::chrono::milliseconds;

constexpr int kMaxReports = 1024;
// An idle worker's call is held for a third of a lease's time, within these.
constexpr milliseconds kLeastHold{5000}, kMostHold{10'000};
constexpr milliseconds kDeadlineMargin{500};  // an answer this long before the caller gives up
constexpr milliseconds kIdleContact{10};

void setDuration(google::protobuf::Duration* out, milliseconds value) {
  out->set_seconds(value.count() / 1000);
  out->set_nanos(static_cast<std::int32_t>(value.count() % 1000 * 1'000'000));
}

v1::Lease toLease(const RunRecord& run) {
  v1::Lease lease;
  lease.set_id(run.id);
  lease.set_epoch(run.epoch);
  lease.set_instance(run.instance);
  lease.set_kind(static_cast<v1::ActionKind>(run.kind));
  *lease.mutable_action() = toProto(run.action);
  if (run.expires) setTimestamp(lease.mutable_expires(), *run.expires);
  if (run.git) {
    lease.mutable_git()->set_url(run.git->url);
    lease.mutable_git()->set_commit(run.git->commit);
    lease.mutable_git()->set_path(run.git->path);
  }
  if (run.kind == index::ActionKind::kExecute && run.toolchainDigest.size > 0)
    *lease.mutable_root() = toProto(run.toolchainDigest);
  lease.set_job(run.jobId);
  lease.mutable_time_limit()->set_seconds(run.timeLimitSeconds);
  for (const std::string& device : run.devices) lease.add_devices(device);
  return lease;
}

bool isReported(const RunRecord& run, const v1::SynchronizeRequest& request) {
  return std::ranges::any_of(request.leases(), [&](const v1::LeaseReport& report) {
    return report.lease_id() == run.id && report.epoch() == run.epoch;
  });
}

}  // namespace

class WorkerService::Call::Reactor final : public grpc::ServerUnaryReactor {
 public:
  explicit Reactor(std::shared_ptr<Call> call) : call_(std::move(call)) {}
  void OnCancel() override { call_->post(&Call::wake); }
  void OnDone() override { delete this; }

 private:
  const std::shared_ptr<Call> call_;
};

WorkerService::Call::Call(WorkerService& service, const Exchange& exchange,
                          std::optional<std::vector<std::string>> instances)
    : service_(service),
      exchange_(exchange),
      instances_(std::move(instances)),
      strand_(boost::asio::make_strand(service.threads_.get_executor())),
      timer_(strand_) {
  const auto hold = std::clamp<std::chrono::system_clock::duration>(
      service.leasing_.queue.settings().lease / 3, kLeastHold, kMostHold);
  const auto timeout =
      std::min(hold, exchange.context.deadline() - kDeadlineMargin - std::chrono::system_clock::now());
  until_ = std::chrono::steady_clock::now() + timeout;
}

grpc::ServerUnaryReactor* WorkerService::Call::begin(WorkerService& service, const Exchange& exchange,
                                                     std::optional<std::vector<std::string>> instances) {
  const std::shared_ptr<Call> call(new Call(service, exchange, std::move(instances)));
  grpc::ServerUnaryReactor* reactor = call->reactor_ = new Reactor(call);
  const bool brings = std::ranges::any_of(exchange.request.leases(), &v1::LeaseReport::has_finished);
  boost::asio::post(brings ? service.resultThreads_ : service.threads_,
                    [call] { call->run(&Call::takeResults); });
  return reactor;
}

void WorkerService::Call::post(Step step) {
  boost::asio::post(strand_, [self = shared_from_this(), step] { self->run(step); });
}

void WorkerService::Call::run(Step step) {
  try {
    (this->*step)();
  } catch (const std::exception&) {
    if (reactor_)
      finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "the coordinator is out of memory; try again"});
  }
}

void WorkerService::Call::takeResults() {
  const v1::SynchronizeRequest& request = exchange_.request;
  if (request.leases_size() > kMaxReports)
    return finish({grpc::StatusCode::INVALID_ARGUMENT, "too many lease reports"});
  auto caller = service_.identify(request.worker());
  if (!caller) return finish(toGrpc(caller.error()));
  caller->claim.worker.instances = std::move(instances_);
  caller->peerAddress = peerAddress(exchange_.context.peer());
  if (const Status known = service_.remember(*caller, request.draining()); !known)
    return finish(toGrpc(known.error()));
  if (const Status taken = service_.takeResults(*caller, request, exchange_.response); !taken)
    return finish(toGrpc(taken.error()));
  slots_ = request.draining() ? 0 : std::clamp(request.worker().slots(), 0, kMaxSlots);
  caller_ = std::move(*caller);
  post(&Call::look);
}

void WorkerService::Call::look() {
  queue::ChangeFeed& feed = service_.leasing_.feed;
  if (!watch_) {
    const queue::Claim& claim = caller_->claim;
    std::vector<std::string> deviceTargets = queue::servedBy(claim.devices, false);
    for (std::string& target : queue::servedBy(claim.devices, true))
      deviceTargets.push_back(std::move(target));
    watch_.emplace(
        feed, queue::Interest{claim.kinds, claim.targets, std::move(deviceTargets), claim.worker.instances},
        [call = weak_from_this()] {
          if (const auto self = call.lock()) self->post(&Call::wake);
        });
  }
  // An answer that names no lease would end what the worker runs.
  if (feed.closed() && !exchange_.request.leases().empty())
    return finish(
        {grpc::StatusCode::UNAVAILABLE, "the coordinator is stopping; call the next one, or again"});
  // A caller that is gone would hold what it is given until the lease ends.
  if (exchange_.context.IsCancelled() || feed.closed()) return answer();
  watch_->looks();
  const std::size_t before = runs_.size();
  auto runs = service_.fill(*caller_, slots_);
  if (!runs) return finish(toGrpc(runs.error()));
  runs_ = std::move(*runs);
  if (!exchange_.request.leases().empty())
    if (const Status taken = service_.takeProgress(*caller_, exchange_.request, runs_, exchange_.response);
        !taken)
      return finish(toGrpc(taken.error()));
  watch_->looked(runs_.size() > before);
  const bool idle = runs_.empty() && slots_ > 0 && exchange_.request.leases().empty();
  if (!idle || std::chrono::steady_clock::now() >= until_) return answer();
  wait();
}

void WorkerService::Call::wait() {
  // A worker has one call. However many it makes, one of them waits.
  if (const auto older = service_.replaceWaiting(*caller_, shared_from_this()))
    older->post(&Call::timeIsOver);
  waiting_ = true;
  timer_.expires_at(until_);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) self->run(&Call::timeIsOver);
  });
}

void WorkerService::Call::wake() {
  if (!waiting_) return;
  waiting_ = false;
  timer_.cancel();
  look();
}

void WorkerService::Call::timeIsOver() {
  if (!waiting_) return;
  waiting_ = false;
  timer_.cancel();
  answer();
}

void WorkerService::Call::answer() {
  for (const RunRecord& run : runs_) {
    v1::Lease& lease = *exchange_.response.add_run() = toLease(run);
    // What the worker has begun it knows the trace of.
    if (isReported(run, exchange_.request)) continue;
    const auto job = spanOf(service_.tracing_, service_.stores_.database, {run.instance, run.jobId});
    if (const auto span = spanOf(job, run)) lease.set_traceparent(tracing::traceparent(*span));
  }
  const bool waits = runs_.empty() && slots_ > 0;
  setDuration(exchange_.response.mutable_next_contact(), waits ? kIdleContact : service_.busyContact());
  finish(grpc::Status::OK);
}

void WorkerService::Call::finish(const grpc::Status& status) {
  watch_.reset();
  std::exchange(reactor_, nullptr)->Finish(status);
}

}  // namespace kiln::service
