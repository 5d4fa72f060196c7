// Which device a command runs kernels on.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "compiler_core/runtime/runtime.h"
#include "manifest/artifact/manifest.h"
#include "manifest/base/result.h"

namespace kiln::cli {

struct DeviceOptions {
  std::string driver;
  std::int32_t device = 0;
  // kInvalidArgument if either was given for an artifact that has no kernels for a device.
  Status checkFor(const Manifest& manifest) const;
  // Into the options of a session, which points into this afterwards.
  void apply(kiln_session_options& options) const;

  const CLI::App* command = nullptr;  // which has parsed them
};

// --device-driver and --device.
void addDeviceOptions(CLI::App& command, DeviceOptions& options);

// A session's error as a command ends with it: a machine with too little memory cannot serve the artifact.
Error sessionError(Error error);

}  // namespace kiln::cli
