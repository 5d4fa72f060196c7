// Reconciler: which leases run here, which have ended, and what an answer of the coordinator changes. Pure:
// no clock, no RPC, no threads. The coordinator's answer states everything this worker should be running; the
// reconciler turns the difference into starts and stops. Losing a call or an answer therefore costs nothing
// but time.
//
// A lease is running, stopping (told to end, its thread still there) or finished (its report not yet taken).
// Reports are repeated until the coordinator says to forget the lease.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kiln/v1/worker.pb.h"

namespace kiln::agent {

struct LeaseKey {
  std::string id;
  std::uint64_t epoch = 0;
  auto operator<=>(const LeaseKey&) const = default;
};

struct Changes {
  struct Start {
    v1::Lease lease;
    int slot = 0;
  };
  std::vector<Start> start;
  std::vector<LeaseKey> stop;
};

// Not thread safe.
class Reconciler {
 public:
  explicit Reconciler(int slots) : slots_(slots) {}

  // What an answer asks for. Leases beyond the free slots wait: the coordinator names them again.
  Changes apply(const v1::SynchronizeResponse& response);

  // From the running action. False if that lease is not running here (any more).
  bool stage(const LeaseKey& key, const std::string& stage);
  // The action's thread is about to end; its slot is free. The report is dropped if the lease was told to
  // stop, but for a tuner's result: what it had measured by then counts. True if there is something to
  // report.
  bool ended(const LeaseKey& key, v1::Finished report);

  std::vector<v1::LeaseReport> reports() const;

  // From now on nothing starts.
  void drain() { draining_ = true; }
  bool draining() const { return draining_; }
  // Keys of what runs, to be ended when the time for draining is over.
  std::vector<LeaseKey> running() const;
  // No action here, and no report that has not been taken.
  bool idle() const { return leases_.empty(); }
  int freeSlots() const;

 private:
  enum class State { kRunning, kStopping, kFinished };
  struct Held {
    std::uint64_t epoch = 0;
    State state = State::kRunning;
    v1::ActionKind kind = v1::ACTION_COMPILE;
    int slot = 0;
    std::string stage;
    v1::Finished report;
  };
  int takeSlot() const;

  const int slots_;
  bool draining_ = false;
  std::map<std::string, Held> leases_;
};

}  // namespace kiln::agent
