#include "worker/agent/reconciler.h"

#include <algorithm>
#include <set>

namespace kiln::agent {

Changes Reconciler::apply(const v1::SynchronizeResponse& response) {
  Changes changes;
  const std::set<std::string> forget(response.forget().begin(), response.forget().end());
  std::map<std::string, const v1::Lease*> wanted;
  for (const v1::Lease& lease : response.run()) {
    if (!forget.contains(lease.id())) wanted[lease.id()] = &lease;
  }
  for (auto held = leases_.begin(); held != leases_.end();) {
    Held& lease = held->second;
    const auto want = wanted.find(held->first);
    const bool forgotten = forget.contains(held->first);
    const bool replaced = want != wanted.end() && want->second->epoch() > lease.epoch;
    if (lease.state == State::kFinished && (forgotten || replaced)) {
      held = leases_.erase(held);
      continue;
    }
    // Running, but not in the statement of what should run.
    if (lease.state == State::kRunning && (forgotten || replaced || want == wanted.end())) {
      lease.state = State::kStopping;
      changes.stop.push_back({held->first, lease.epoch});
    }
    ++held;
  }
  for (const v1::Lease& lease : response.run()) {
    if (draining_ || forget.contains(lease.id()) || leases_.contains(lease.id())) continue;
    const int slot = takeSlot();
    if (slot < 0) break;
    leases_[lease.id()] = {lease.epoch(), State::kRunning, lease.kind(), slot, "", {}};
    changes.start.push_back({lease, slot});
  }
  return changes;
}

bool Reconciler::stage(const LeaseKey& key, const std::string& stage) {
  const auto held = leases_.find(key.id);
  if (held == leases_.end() || held->second.epoch != key.epoch || held->second.state != State::kRunning)
    return false;
  held->second.stage = stage;
  return true;
}

bool Reconciler::ended(const LeaseKey& key, v1::Finished report) {
  const auto held = leases_.find(key.id);
  if (held == leases_.end() || held->second.epoch != key.epoch) return false;
  const bool measured = held->second.kind == v1::ACTION_TUNE && report.error_code() == 0;
  if (held->second.state == State::kStopping && !measured) {
    leases_.erase(held);
    return false;
  }
  held->second.state = State::kFinished;
  held->second.report = std::move(report);
  return true;
}

std::vector<v1::LeaseReport> Reconciler::reports() const {
  std::vector<v1::LeaseReport> all;
  for (const auto& [id, held] : leases_) {
    if (held.state == State::kStopping) continue;
    v1::LeaseReport& report = all.emplace_back();
    report.set_lease_id(id);
    report.set_epoch(held.epoch);
    if (held.state == State::kFinished) {
      *report.mutable_finished() = held.report;
    } else {
      report.mutable_running()->set_stage(held.stage);
    }
  }
  return all;
}

std::vector<LeaseKey> Reconciler::running() const {
  std::vector<LeaseKey> keys;
  for (const auto& [id, held] : leases_) {
    if (held.state == State::kRunning) keys.push_back({id, held.epoch});
  }
  return keys;
}

int Reconciler::freeSlots() const {
  const auto busy = std::count_if(leases_.begin(), leases_.end(),
                                  [](const auto& held) { return held.second.state != State::kFinished; });
  return slots_ - static_cast<int>(busy);
}

int Reconciler::takeSlot() const {
  for (int slot = 0; slot < slots_; ++slot) {
    const bool taken = std::any_of(leases_.begin(), leases_.end(), [&](const auto& held) {
      return held.second.slot == slot && held.second.state != State::kFinished;
    });
    if (!taken) return slot;
  }
  return -1;
}

}  // namespace kiln::agent
