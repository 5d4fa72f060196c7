// One worker of a simulated fleet. It speaks the real protocol with the pacing and the bookkeeping of a real
// one (worker/agent), under a certificate of its own. Of an action it runs nothing: it waits as long as the
// mix says and reports, under a receipt with its signature, a tool that refused its input with exit code 4.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kiln/v1/worker.grpc.pb.h"
#include "manifest/base/steady_clock.h"
#include "signing/receipt/worker_identity.h"
#include "tests/bench/simulator/job_mix.h"
#include "tests/bench/simulator/seen.h"
#include "worker/agent/pacer.h"
#include "worker/agent/reconciler.h"

namespace kiln::fleet {

// What all workers of a fleet share. Of the fleet's thread alone.
struct Surroundings {
  boost::asio::io_context& io;
  const JobMix& mix;
  SteadyClock clock;
  Digest sandboxPolicy;  // that receipts name
  Seen seen;
  std::unordered_map<std::string, TimePoint> firstLeases;  // when an action was leased first, by its hash
  std::size_t callsInFlight = 0;
};

class SimulatedWorker {
 public:
  using Stub = v1::WorkerService::Stub;

  // `stubs`: one for each coordinator, in the order in which this worker tries them.
  SimulatedWorker(Surroundings& around, signing::WorkerIdentity identity, int slots,
                  std::vector<Stub*> stubs);

  // Calls for the first time after `delay`, and goes on until pause().
  void resume(Duration delay);
  // Breaks the call off that is under way and makes no more. What runs here goes on.
  void pause();
  // The time from now to its next answer goes into Seen::recoveries.
  void watch() { watchedSince_ = around_.clock.now(); }
  // Which of its stubs it talks to.
  std::size_t at() const { return at_; }

 private:
  struct Call {
    grpc::ClientContext context;
    v1::SynchronizeRequest request;
    v1::SynchronizeResponse response;
    TimePoint began;
    bool wantsWork = false;
    bool interrupted = false;
  };

  void schedule();
  void synchronize();
  void answered(const grpc::Status& status);
  void carryOut(const agent::Changes& changes, const Call& call);
  void begin(const v1::Lease& lease);
  void finish(const v1::Lease& lease);

  Surroundings& around_;
  const signing::WorkerIdentity identity_;
  const std::vector<Stub*> stubs_;
  v1::WorkerDescription description_;
  agent::Reconciler reconciler_;
  agent::Pacer pacer_;
  boost::asio::steady_timer timer_;
  std::map<std::string, std::unique_ptr<boost::asio::steady_timer>> running_;  // by lease
  std::unique_ptr<Call> call_;
  std::size_t at_ = 0;
  std::optional<TimePoint> watchedSince_;
  bool paused_ = true;
};

}  // namespace kiln::fleet
