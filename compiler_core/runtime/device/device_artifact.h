// An artifact's part on one device: its kernels and weights, there once for all sessions.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler_core/runtime/device/compatibility.h"
#include "compiler_core/runtime/device/device_context.h"
#include "compiler_core/runtime/program/weights.h"
#include "manifest/base/mutex.h"

namespace kiln::runtime {

// The kernel images of an artifact, read and verified when it is opened.
class DeviceImages {
 public:
  // Requires the manifest's digests; kDataLoss naming the path.
  static Result<DeviceImages> read(const std::string& directory, const Manifest& manifest);
  const std::vector<std::string>& cubins() const { return cubins_; }

 private:
  std::vector<std::string> cubins_;  // of the manifest's devices
};

// Immutable, thread safe. Gives everything back with the last session.
class DeviceArtifact {
 public:
  // Checks first (compatibility.h), then loads kernels and weights; what fails leaves nothing behind.
  static Result<std::shared_ptr<const DeviceArtifact>> load(const Manifest& manifest,
                                                            const DeviceImages& images,
                                                            const Weights& weights, const DevicePlan& plan,
                                                            std::shared_ptr<const DeviceContext> context);
  ~DeviceArtifact();
  DeviceArtifact(const DeviceArtifact&) = delete;
  DeviceArtifact& operator=(const DeviceArtifact&) = delete;

  const std::shared_ptr<const DeviceContext>& context() const { return context_; }
  // Null when there is no such space or kernel.
  cuda::CUfunction kernel(std::uint32_t space, std::uint32_t kernel) const;
  // As kiln_run takes them: each in its space.
  const void* const* weights() const { return pointers_.data(); }
  std::uint64_t weightBytes() const { return memory_.bytes(); }
  // On the device before anything of the artifact was there.
  std::uint64_t freeBefore() const { return freeBefore_; }

 private:
  explicit DeviceArtifact(std::shared_ptr<const DeviceContext> context) : context_(std::move(context)) {}
  Status loadKernels(const Manifest& manifest, const DeviceImages& images);
  Status loadWeights(const Manifest& manifest, const Weights& weights, const DevicePlan& plan);

  const std::shared_ptr<const DeviceContext> context_;
  std::vector<cuda::CUmodule> modules_;
  std::vector<std::vector<cuda::CUfunction>> kernels_;  // by device
  DeviceBuffer memory_;
  std::vector<const void*> pointers_;
  std::uint64_t freeBefore_ = 0;
};

// The devices that an open artifact is on. Thread safe.
class DeviceArtifacts {
 public:
  // The artifact on that device: what sessions there hold, else loaded now. `library`: see CudaDriver::open.
  Result<std::shared_ptr<const DeviceArtifact>> on(const std::string& library, int ordinal,
                                                   const Manifest& manifest, const DeviceImages& images,
                                                   const Weights& weights) const;

 private:
  mutable Mutex mutex_;
  mutable std::map<std::pair<std::string, int>, std::weak_ptr<const DeviceArtifact>> loaded_
      KILN_GUARDED_BY(mutex_);
};

}  // namespace kiln::runtime
