#include "tests/bench/simulator/simulated_worker.h"

#include <grpcpp/client_context.h>

#include <boost/asio/post.hpp>
#include <utility>

#include "storage/tree/digest_proto.h"

namespace kiln::fleet {
namespace {

constexpr int kUnsupported = 4;                   // exit code of kiln-cc
constexpr std::chrono::seconds kCallTimeout{90};  // as of kiln-worker
constexpr char kSaid[] = "kiln-cc: error: m.onnx: simulated: the operator Nothing is not served\n";

std::uint64_t seedOf(const std::string& name) {
  return std::hash<std::string>()(name);
}

}  // namespace

SimulatedWorker::SimulatedWorker(Surroundings& around, signing::WorkerIdentity identity, int slots,
                                 std::vector<Stub*> stubs)
    : around_(around),
      identity_(std::move(identity)),
      stubs_(std::move(stubs)),
      reconciler_(slots),
      pacer_(seedOf(identity_.name())),
      timer_(around.io) {
  description_.set_name(identity_.name());
  description_.set_operator_(identity_.operatorName());
  description_.set_certificate_pem(identity_.certificatePem());
  description_.set_slots(slots);
  description_.add_targets("cpu:x86-64-v3");
  for (const auto kind : {v1::ACTION_REFERENCE, v1::ACTION_COMPILE}) description_.add_kinds(kind);
}

void SimulatedWorker::resume(Duration delay) {
  paused_ = false;
  if (call_) return;
  timer_.expires_after(delay);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && !paused_ && !call_) synchronize();
  });
}

void SimulatedWorker::pause() {
  paused_ = true;
  timer_.cancel();
  if (!call_) return;
  call_->interrupted = true;
  call_->context.TryCancel();
}

void SimulatedWorker::schedule() {
  if (paused_) return;
  const TimePoint now = around_.clock.now();
  if (call_ && pacer_.interrupt(now)) {
    if (!call_->interrupted) call_->context.TryCancel();
    call_->interrupted = true;
    return;
  }
  if (call_ || pacer_.due() == TimePoint::max()) return;
  timer_.expires_after(std::max(pacer_.due() - now, Duration::zero()));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && !paused_ && !call_) synchronize();
  });
}

void SimulatedWorker::synchronize() {
  const TimePoint now = around_.clock.now();
  pacer_.called(now);
  call_ = std::make_unique<Call>();
  call_->began = now;
  *call_->request.mutable_worker() = description_;
  for (v1::LeaseReport& report : reconciler_.reports()) *call_->request.add_leases() = std::move(report);
  call_->wantsWork = reconciler_.freeSlots() > 0;
  call_->context.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
  ++around_.callsInFlight;
  stubs_[at_]->async()->Synchronize(
      &call_->context, &call_->request, &call_->response, [this](grpc::Status status) {
        boost::asio::post(around_.io, [this, status = std::move(status)] { answered(status); });
      });
}

void SimulatedWorker::answered(const grpc::Status& status) {
  --around_.callsInFlight;
  const std::unique_ptr<Call> call = std::move(call_);
  const TimePoint now = around_.clock.now();
  if (status.ok()) {
    ++around_.seen.calls;
    if (const auto since = std::exchange(watchedSince_, std::nullopt))
      around_.seen.recoveries.push_back(std::chrono::duration<double>(now - *since).count());
    for (const auto& report : call->request.leases()) around_.seen.reports += report.has_finished();
    const auto& next = call->response.next_contact();
    pacer_.answered(now, std::chrono::seconds(next.seconds()) + Duration(next.nanos() / 1000));
    carryOut(reconciler_.apply(call->response), *call);
  } else if (call->interrupted && status.error_code() == grpc::StatusCode::CANCELLED) {
    pacer_.answered(now, Duration::zero());
  } else {
    ++around_.seen.failures[status.error_code()];
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE) at_ = (at_ + 1) % stubs_.size();
    pacer_.failed(now);
  }
  schedule();
}

void SimulatedWorker::carryOut(const agent::Changes& changes, const Call& call) {
  const TimePoint now = around_.clock.now();
  for (const agent::LeaseKey& key : changes.stop)
    if (const auto found = running_.find(key.id); found != running_.end()) {
      running_.erase(found);
      reconciler_.ended(key, {});
    }
  if (!changes.start.empty() && call.wantsWork)
    around_.seen.waits.push_back(std::chrono::duration<double>(now - call.began).count());
  for (const auto& start : changes.start) {
    ++around_.seen.leases[start.lease.instance()];
    ++around_.seen.perSecond[static_cast<int>(now.time_since_epoch() / std::chrono::seconds(1))];
    around_.firstLeases.emplace(start.lease.action().hash(), now);
    begin(start.lease);
  }
}

void SimulatedWorker::begin(const v1::Lease& lease) {
  auto& timer = running_[lease.id()];
  timer = std::make_unique<boost::asio::steady_timer>(around_.io);
  timer->expires_after(std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(around_.mix.secondsOf(lease.instance(), lease.action().hash()))));
  timer->async_wait([this, lease](const boost::system::error_code& error) {
    if (!error) finish(lease);
  });
}

void SimulatedWorker::finish(const v1::Lease& lease) {
  running_.erase(lease.id());
  v1::Finished report;
  report.mutable_result()->set_exit_code(kUnsupported);
  report.mutable_result()->set_stderr_raw(kSaid);
  signing::Receipt receipt;
  receipt.action = fromProto(lease.action()).value();
  receipt.lease = lease.id();
  receipt.epoch = lease.epoch();
  receipt.exitCode = kUnsupported;
  receipt.sandboxPolicy = around_.sandboxPolicy;
  report.set_receipt_json(identity_.sign(std::move(receipt)).value());
  reconciler_.ended({lease.id(), lease.epoch()}, std::move(report));
  pacer_.finished(around_.clock.now());
  schedule();
}

}  // namespace kiln::fleet
