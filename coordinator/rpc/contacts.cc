#include "coordinator/rpc/contacts.h"

#include <fmt/format.h>

#include <algorithm>

#include "coordinator/farm/log.h"
#include "storage/postgres/commit_soon.h"

namespace kiln::service {
namespace {

using postgres::Connection;

constexpr Duration kWrittenTogether = std::chrono::seconds(1);

// Of what is stored, but for the time.
Digest digestOfDescription(const index::WorkerRecord& worker) {
  std::string all = worker.description + (worker.draining ? "1" : "0") + worker.key.hex() +
                    worker.certificate.hex() + worker.peerAddress + "\n";
  if (worker.instances)
    for (const std::string& instance : *worker.instances) all += instance + "\n";
  return digestOf(all);
}

}  // namespace

Status Contacts::remember(const index::WorkerRecord& worker) {
  const Digest description = digestOfDescription(worker);
  KILN_ASSIGN(const bool known, touch(worker, description));
  return known ? Status() : store(worker, description);
}

Result<bool> Contacts::touch(const index::WorkerRecord& worker, const Digest& description) {
  const TimePoint now = worker.lastContact;
  const Name name(worker.operatorName, worker.name);
  std::vector<index::WorkerContact> due;
  {
    const MutexLock lock(mutex_);
    const auto found = remembered_.find(name);
    if (found == remembered_.end() || found->second.description != description || now < found->second.stored)
      return false;
    if (now - found->second.stored >= lease_ / 3) {
      found->second.stored = now;
      touched_.push_back({worker.operatorName, worker.name, worker.peerAddress, now});
    }
    if (touched_.empty() || (now >= written_ && now - written_ < kWrittenTogether)) return true;
    written_ = now;
    due.swap(touched_);
  }
  // Calls that are forgotten with the power are made again.
  const auto written = stores_.database.transact([&](Connection& c) -> Result<std::vector<Name>> {
    KILN_TRY(postgres::commitSoon(c));
    return index::touchWorkers(c, due);
  });
  bool known = true;
  const MutexLock lock(mutex_);
  for (const index::WorkerContact& one : due) {
    const Name each(one.operatorName, one.name);
    if (written && std::ranges::find(*written, each) != written->end()) continue;
    remembered_.erase(each);
    known = known && each != name;
  }
  if (!written) return fail(written.error());
  return known;
}

Status Contacts::store(const index::WorkerRecord& worker, const Digest& description) {
  KILN_ASSIGN(const bool stored, stores_.database.transact([&](Connection& c) -> Result<bool> {
    KILN_TRY(postgres::commitSoon(c));
    return index::upsertWorker(c, worker, worker.lastContact - lease_);
  }));
  if (!stored) {
    logWarning("a worker calls from two addresses",
               {{"worker", worker.name}, {"operator", worker.operatorName}, {"refused", worker.peerAddress}});
    return fail(
        Code::kFailedPrecondition,
        fmt::format("worker {} of operator {} already calls from another address; from here it may once "
                    "that has been silent for {} s. If nobody else should have its key, revoke its "
                    "certificate",
                    worker.name, worker.operatorName,
                    std::chrono::duration_cast<std::chrono::seconds>(lease_).count()));
  }
  const MutexLock lock(mutex_);
  remembered_[{worker.operatorName, worker.name}] = {description, worker.lastContact};
  return {};
}

std::size_t Contacts::workers() {
  const MutexLock lock(mutex_);
  return remembered_.size();
}

}  // namespace kiln::service
