// An artifact directory opened: manifest, program, kernels and weights.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "compiler_core/runtime/device/device_artifact.h"
#include "compiler_core/runtime/program/program.h"
#include "compiler_core/runtime/program/weights.h"
#include "manifest/artifact/manifest.h"

namespace kiln::runtime {

// Immutable after load, thread safe; sessions share it.
struct LoadedArtifact {
  std::string directory;
  Manifest manifest;
  std::unique_ptr<Program> program;
  Weights weights;
  DeviceImages images;  // none without devices
  DeviceArtifacts devices;
  std::chrono::nanoseconds loadTime{};

  // Codes as runtime.h assigns them to error classes.
  static Result<std::shared_ptr<const LoadedArtifact>> load(const std::string& directory);
};

// At most 4 MiB of a regular file, for JSON documents; kDataLoss naming the path.
Result<std::string> readDocument(const std::string& path);

}  // namespace kiln::runtime
