// Agent: the worker's loop. Calls Synchronize, starts and stops actions as the Reconciler says, reports
// stages and results. A coordinator that is away changes nothing here: what runs keeps running and is
// reported when it is back.
#pragma once

#include <functional>
#include <memory>

#include "manifest/base/steady_clock.h"
#include "signing/receipt/worker_identity.h"
#include "storage/remote/endpoints.h"
#include "worker/agent/runner.h"

namespace kiln::agent {

struct AgentOptions {
  v1::WorkerDescription description;             // without what the runner says: toolchains, devices
  Duration drainTime = std::chrono::seconds(5);  // how long actions may go on after SIGTERM
  Duration callTimeout = std::chrono::seconds(90);
  // Told of each call of the coordinator that ended by itself, on the thread of run().
  std::function<void(bool answered)> called = [](bool) {};
};

class Agent {
 public:
  // All references must outlive the agent. A call goes to the next of several coordinators at once where one
  // fails.
  Agent(std::shared_ptr<storage::Endpoints> coordinators, Runner& runner,
        const signing::WorkerIdentity& identity, const SteadyClock& clock, AgentOptions options);
  ~Agent();

  // Runs until stop() or, if `handleSignals`, SIGTERM or SIGINT, and the drain that follows. Blocks. False if
  // an action would not end in time: its thread still uses this agent, so the process must end without
  // destroying anything.
  bool run(bool handleSignals);
  // Takes nothing new, gives actions the drain time, ends the rest, reports, returns from run(). Thread safe.
  void stop();

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace kiln::agent
