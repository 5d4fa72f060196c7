#include "worker/agent/agent.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <map>
#include <thread>

#include "kiln/v1/worker.grpc.pb.h"
#include "storage/logging/log.h"
#include "storage/tracing/trace_context.h"
#include "worker/agent/pacer.h"
#include "worker/agent/reconciler.h"
#include "worker/agent/report.h"

namespace kiln::agent {

namespace asio = boost::asio;

// How long the way out may take once the drain time is over, or when nothing runs.
constexpr Duration kLastWords = std::chrono::seconds(2);

// Everything below runs on the one thread that is in run(), but for the actions' own threads and gRPC's
// callbacks, which only post.
class Agent::Loop {
 public:
  Loop(std::shared_ptr<storage::Endpoints> coordinators, Runner& runner,
       const signing::WorkerIdentity& identity, const SteadyClock& clock, AgentOptions options)
      : coordinators_(std::move(coordinators)),
        runner_(runner),
        identity_(identity),
        clock_(clock),
        options_(std::move(options)),
        reconciler_(options_.description.slots()),
        pacer_(std::hash<std::string>()(options_.description.name()) ^
               static_cast<std::uint64_t>(clock.now().time_since_epoch().count())) {
    for (const storage::Endpoint& one : coordinators_->all())
      stubs_.push_back(v1::WorkerService::NewStub(one.channel));
  }

  bool run(bool handleSignals) {
    if (handleSignals) {
      signals_.add(SIGTERM);
      signals_.add(SIGINT);
      signals_.async_wait([this](const boost::system::error_code& error, int) {
        if (!error) stop();
      });
    }
    schedule();
    io_.run();
    for (auto& [key, action] : actions_) action.thread.detach();
    return actions_.empty();
  }

  void postStop() {
    asio::post(io_, [this] { stop(); });
  }

 private:
  // For log lines.
  struct About {
    std::string job, action, trace;
  };
  struct Action {
    std::unique_ptr<sandbox::Cancel> cancel;
    std::thread thread;
    About about;
  };
  // Keeps run() from returning while gRPC or an action's thread still has something to post.
  using Work = asio::executor_work_guard<asio::io_context::executor_type>;
  struct Call {
    Call(Work guard, const storage::Endpoint& to) : work(std::move(guard)), at(to) {}
    Work work;
    const storage::Endpoint& at;
    grpc::ClientContext context;
    v1::SynchronizeRequest request;
    v1::SynchronizeResponse response;
    bool interrupted = false;
  };

  // Arms the timer for the next call; breaks off a call in flight when something pressing came up meanwhile.
  void schedule() {
    if (done_) return;
    const TimePoint now = clock_.now();
    if (call_ && pacer_.interrupt(now)) {
      if (!call_->interrupted) call_->context.TryCancel();
      call_->interrupted = true;
      return;
    }
    if (pacer_.due() == TimePoint::max()) return;
    timer_.expires_after(std::max(pacer_.due() - now, Duration::zero()));
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error || done_) return;
      call_ ? schedule() : synchronize();
    });
  }

  void synchronize() {
    pacer_.called(clock_.now());
    call_ = std::make_unique<Call>(Work(io_.get_executor()), coordinators_->current());
    v1::SynchronizeRequest& request = call_->request;
    *request.mutable_worker() = options_.description;
    for (std::string& toolchain : runner_.warmToolchains())
      request.mutable_worker()->add_toolchains(std::move(toolchain));
    if (const std::string missing = runner_.missingGpus(); !missing.empty())
      (*request.mutable_worker()->mutable_facts())["gpu"] = "none: " + missing;
    for (v1::Device& device : runner_.devices()) {
      if (device.healthy() && !device.emulated())
        for (const std::string& target : device.runs()) request.mutable_worker()->add_runs(target);
      *request.mutable_worker()->add_devices() = std::move(device);
    }
    for (v1::LeaseReport& report : reconciler_.reports()) *request.add_leases() = std::move(report);
    request.set_draining(reconciler_.draining());
    call_->context.set_deadline(std::chrono::system_clock::now() + options_.callTimeout);
    stubs_[call_->at.place]->async()->Synchronize(
        &call_->context, &call_->request, &call_->response, [this](grpc::Status status) {
          asio::post(io_, [this, status = std::move(status)] { answered(status); });
        });
  }

  void answered(const grpc::Status& status) {
    const std::unique_ptr<Call> call = std::move(call_);
    const TimePoint now = clock_.now();
    if (!call->interrupted || status.ok()) options_.called(status.ok());
    if (status.ok()) {
      heardFrom(call->at);
      const auto& next = call->response.next_contact();
      const std::chrono::seconds seconds(std::clamp<std::int64_t>(next.seconds(), -1, 3600));
      pacer_.answered(now, seconds + Duration(next.nanos() / 1000));
      toldDraining_ = call->request.draining();
      carryOut(reconciler_.apply(call->response));
    } else if (call->interrupted && status.error_code() == grpc::StatusCode::CANCELLED) {
      pacer_.answered(now, Duration::zero());
    } else {
      if (!pacer_.away()) {
        logging::warning("call of the coordinator failed, trying again",
                         {{"worker", name()},
                          {"coordinator", call->at.name},
                          {"code", std::to_string(static_cast<int>(status.error_code()))},
                          {"message", status.error_message()}});
      }
      coordinators_->failed(call->at);
      // They are away once each of them has failed.
      ++failures_ % coordinators_->all().size() == 0 ? pacer_.failed(now) : pacer_.elsewhere(now);
    }
    endIfDrained();
    schedule();
  }

  void heardFrom(const storage::Endpoint& one) {
    coordinators_->answered(one);
    if (pacer_.away() || answers_ != &one)
      logging::info("coordinator answers", {{"worker", name()}, {"coordinator", one.name}});
    answers_ = &one;
    failures_ = 0;
  }

  void carryOut(const Changes& changes) {
    for (const LeaseKey& key : changes.stop) {
      logging::info("lease withdrawn",
                    {{"worker", name()}, {"lease", key.id}, {"epoch", std::to_string(key.epoch)}});
      cancel(key);
    }
    for (const auto& start : changes.start) begin(start.lease, start.slot);
  }

  void begin(const v1::Lease& lease, int slot) {
    const LeaseKey key{lease.id(), lease.epoch()};
    logging::info("action starts", {{"worker", name()},
                                    {"lease", key.id},
                                    {"epoch", std::to_string(key.epoch)},
                                    {"job", lease.job()},
                                    {"action", lease.action().hash()},
                                    {"trace", tracing::traceOf(lease.traceparent())},
                                    {"slot", std::to_string(slot)}});
    Action& action = actions_[key];
    action.cancel = std::make_unique<sandbox::Cancel>();
    action.about = {lease.job(), lease.action().hash(), tracing::traceOf(lease.traceparent())};
    // The thread lives until the sandbox has ended: bubblewrap dies with the thread that started it.
    action.thread = std::thread([this, lease, slot, key, cancel = action.cancel.get()] {
      auto result = runner_.run(lease, slot, *cancel, [this, key](const std::string& stage) {
        asio::post(io_, [this, key, stage] { staged(key, stage); });
      });
      v1::Finished report = makeReport(lease, std::move(result), identity_);
      asio::post(io_, [this, key, report = std::move(report)]() mutable { ended(key, std::move(report)); });
    });
  }

  void cancel(const LeaseKey& key) {
    if (const auto action = actions_.find(key); action != actions_.end()) action->second.cancel->request();
  }

  void staged(const LeaseKey& key, const std::string& stage) {
    if (!reconciler_.stage(key, stage)) return;
    pacer_.progressed(clock_.now());
    schedule();
  }

  void ended(const LeaseKey& key, v1::Finished report) {
    About about;
    if (const auto action = actions_.find(key); action != actions_.end()) {
      action->second.thread.join();
      about = std::move(action->second.about);
      actions_.erase(action);
    }
    logging::info("action ended", {{"worker", name()},
                                   {"lease", key.id},
                                   {"epoch", std::to_string(key.epoch)},
                                   {"job", about.job},
                                   {"action", about.action},
                                   {"trace", about.trace},
                                   {"exit", std::to_string(report.result().exit_code())},
                                   {"code", std::to_string(report.error_code())},
                                   {"message", report.error_message()}});
    // Even with nothing to report the coordinator may have been waiting for the slot.
    reconciler_.ended(key, std::move(report));
    pacer_.finished(clock_.now());
    endIfDrained();
    schedule();
  }

  void stop() {
    if (reconciler_.draining()) return;
    logging::info("worker drains", {{"worker", name()}, {"running", std::to_string(actions_.size())}});
    reconciler_.drain();
    pacer_.finished(clock_.now());
    drainTimer_.expires_after(actions_.empty() ? kLastWords : options_.drainTime);
    drainTimer_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      for (const LeaseKey& key : reconciler_.running()) cancel(key);
      drainTimer_.expires_after(kLastWords);
      drainTimer_.async_wait([this](const boost::system::error_code& again) {
        if (!again) end();
      });
    });
    endIfDrained();
    schedule();
  }

  // Nothing runs, and the coordinator has heard everything or is not there to hear it.
  void endIfDrained() {
    if (!reconciler_.draining() || !actions_.empty()) return;
    if ((reconciler_.idle() && toldDraining_) || pacer_.away()) end();
  }

  void end() {
    done_ = true;
    if (call_) call_->context.TryCancel();
    timer_.cancel();
    drainTimer_.cancel();
    signals_.cancel();
  }

  const std::string& name() const { return options_.description.name(); }

  asio::io_context io_;
  asio::steady_timer timer_{io_}, drainTimer_{io_};
  asio::signal_set signals_{io_};
  const std::shared_ptr<storage::Endpoints> coordinators_;
  std::vector<std::unique_ptr<v1::WorkerService::Stub>> stubs_;  // by the place of their endpoint
  Runner& runner_;
  const signing::WorkerIdentity& identity_;
  const SteadyClock& clock_;
  const AgentOptions options_;
  Reconciler reconciler_;
  Pacer pacer_;
  std::unique_ptr<Call> call_;
  const storage::Endpoint* answers_ = nullptr;  // the latest to do so
  std::size_t failures_ = 0;                    // of calls since then
  std::map<LeaseKey, Action> actions_;
  bool toldDraining_ = false, done_ = false;
};

Agent::Agent(std::shared_ptr<storage::Endpoints> coordinators, Runner& runner,
             const signing::WorkerIdentity& identity, const SteadyClock& clock, AgentOptions options)
    : loop_(std::make_unique<Loop>(std::move(coordinators), runner, identity, clock, std::move(options))) {}
Agent::~Agent() = default;
bool Agent::run(bool handleSignals) {
  return loop_->run(handleSignals);
}
void Agent::stop() {
  loop_->postStop();
}

}  // namespace kiln::agent
