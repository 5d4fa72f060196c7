// An artifact's part on one device: its kernels and weights, there once for all sessions.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler_core/runtime/device/compatibility.h"
#include "compiler_core/runtime/device/compute_device.h"
#include "compiler_core/runtime/program/weights.h"
#include "manifest/base/mutex.h"

namespace kiln::runtime {

// The kernel images of an artifact, read and verified when it is opened.
class DeviceImages {
 public:
  // Requires the manifest's digests; kDataLoss naming the path.
  static Result<DeviceImages> read(const std::string& directory, const Manifest& manifest);
  const std::vector<std::string>& bytes() const { return bytes_; }

 private:
  std::vector<std::string> bytes_;  // of the manifest's devices
};

// Immutable, thread safe. Gives everything back with the last session.
class DeviceArtifact {
 public:
  // Checks first (ComputeDevice::check, compatibility.h), then loads kernels and weights; what fails leaves
  // nothing behind.
  static Result<std::shared_ptr<const DeviceArtifact>> load(const Manifest& manifest,
                                                            const DeviceImages& images,
                                                            const Weights& weights, const DevicePlan& plan,
                                                            const std::string& cache,
                                                            std::shared_ptr<const ComputeDevice> device);
  DeviceArtifact(const DeviceArtifact&) = delete;
  DeviceArtifact& operator=(const DeviceArtifact&) = delete;

  const ComputeDevice& device() const { return *device_; }
  // Null when there is no such space.
  const KernelModule* module(std::uint32_t space) const;
  // As kiln_run takes them: each in its space.
  const void* const* weights() const { return pointers_.data(); }
  std::uint64_t weightAddress() const { return memory_ ? memory_->address() : 0; }
  std::uint64_t weightBytes() const { return memory_ ? memory_->bytes() : 0; }
  // As kiln_counters::device_cache.
  const std::string& cache() const { return cache_; }
  // On the device before anything of the artifact was there.
  std::uint64_t freeBefore() const { return freeBefore_; }

 private:
  explicit DeviceArtifact(std::shared_ptr<const ComputeDevice> device) : device_(std::move(device)) {}
  Status loadKernels(const Manifest& manifest, const DeviceImages& images, const std::string& cache);
  Status loadWeights(const Manifest& manifest, const Weights& weights, const DevicePlan& plan);

  const std::shared_ptr<const ComputeDevice> device_;
  std::vector<std::unique_ptr<KernelModule>> modules_;  // of the manifest's devices
  std::unique_ptr<DeviceMemory> memory_;                // null without weights there
  std::vector<const void*> pointers_;
  std::uint64_t freeBefore_ = 0;
  std::string cache_;
};

// The devices that an open artifact is on. Thread safe.
class DeviceArtifacts {
 public:
  // The artifact on that device: what sessions there hold, else loaded now. `library`: see
  // openDevice(); `cache`: see ComputeDevice::load().
  Result<std::shared_ptr<const DeviceArtifact>> on(const std::string& library, int ordinal,
                                                   const std::string& cache, const Manifest& manifest,
                                                   const DeviceImages& images, const Weights& weights) const;

 private:
  mutable Mutex mutex_;
  mutable std::map<std::pair<std::string, int>, std::weak_ptr<const DeviceArtifact>> loaded_
      KILN_GUARDED_BY(mutex_);
};

}  // namespace kiln::runtime
