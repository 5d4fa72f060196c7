// The devices of this worker: what they are, which are healthy, which an action holds. A device that fails is
// drained: advertised as not healthy, with the reason, and tried again later. Losing one never ends the
// worker.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/base/mutex.h"
#include "worker/devices/gpu_source.h"
#include "worker/devices/host_lock.h"
#include "worker/sandbox/cancel.h"

namespace kiln::devices {

// A GPU that an action holds.
struct HeldGpu {
  std::string id, library;
  int ordinal = 0;  // as the driver counts now
  bool emulated = false;
  bool software = false;  // the processor behind a real driver: it has no device nodes
};

// What an action claims: the device, or the processor as well against other workers' holds of this kind, for
// who measures times.
enum class Claim { kDevice, kMachine };

class Registry;

// Devices that are held for one action, until this ends.
class Hold {
 public:
  Hold(Hold&& other) noexcept;
  Hold& operator=(Hold&&) = delete;
  ~Hold();

  // Nothing if it is the processor only.
  const std::optional<HeldGpu>& gpu() const { return gpu_; }

 private:
  friend class Registry;
  Hold(Registry& registry, std::vector<std::string> ids) : registry_(&registry), ids_(std::move(ids)) {}

  Registry* registry_;
  std::vector<std::string> ids_;
  std::optional<HeldGpu> gpu_;
  std::optional<HostLock> lock_, machine_;
};

// Thread safe.
class Registry {
 public:
  // `source` and `clock` must outlive it.
  Registry(GpuSource& source, const Clock& clock) : source_(source), clock_(clock) {}

  // Adds the processor and the GPUs of these driver libraries. Once, before anything else: ids are given in
  // the order of uuids, so that a driver that counts its devices anew after a restart renames none. GPUs that
  // show up later get the next ids (retry()).
  void discover(const std::vector<std::string>& libraries);

  // What the worker says of itself.
  std::vector<v1::Device> devices() const;
  // Why libraries show no GPU: "libcuda.so.1: ...", separated by "; ". "" where each shows one.
  std::string missing() const;

  // Waits until no other action holds these devices, tries them out and holds them. kUnavailable for one that
  // is not there, drained, or does not work, which drains it; kCancelled.
  Result<Hold> hold(const std::vector<std::string>& ids, const sandbox::Cancel& cancel,
                    Claim claim = Claim::kDevice);

  // Tries a GPU out that is held, once more: kUnavailable if it had to be drained.
  Status stillWorks(const HeldGpu& gpu);
  // An action on it came to its end: what it failed before is forgotten.
  void proved(const std::string& id);
  // From now on it is not healthy.
  void drain(const std::string& id, const std::string& reason);

  // When the next drained device is to be tried again, or a library that shows no GPU; nothing while all are
  // healthy and each shows one.
  std::optional<TimePoint> nextRetry() const;
  // Tries the drained devices again whose time has come; where one still fails, or a library showed none,
  // looks for new ones. Blocks as long as their drivers take.
  void retry();

 private:
  friend class Hold;
  struct Entry {
    v1::Device about;
    std::optional<Gpu> gpu;  // where and as what the driver knows it
    bool held = false;
    int failures = 0;  // since an action last came to its end there: a health check alone proves little
    TimePoint again;   // when it is tried again, if it is not healthy
  };

  // Asks all libraries and adds what is not there yet.
  void look() KILN_EXCLUDES(mutex_);
  Status take(const std::vector<std::string>& ids, const sandbox::Cancel& cancel) KILN_EXCLUDES(mutex_);
  Result<HostLock> lockHost(const std::string& uuid, const sandbox::Cancel& cancel) const;
  // Asks the driver; the outcome is the entry's health from then on.
  Status tryOut(const std::string& id) KILN_EXCLUDES(mutex_);
  void release(const std::vector<std::string>& ids) KILN_EXCLUDES(mutex_);
  void drainLocked(Entry& entry, const std::string& reason) KILN_REQUIRES(mutex_);

  GpuSource& source_;
  const Clock& clock_;
  mutable Mutex mutex_;
  Condition changed_;
  std::map<std::string, Entry> entries_ KILN_GUARDED_BY(mutex_);  // by id
  std::vector<std::string> libraries_;                            // since discover()
  std::string missing_ KILN_GUARDED_BY(mutex_);
  std::optional<TimePoint> lookAgain_ KILN_GUARDED_BY(mutex_);  // for what is missing
};

}  // namespace kiln::devices
