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
  std::string device = "0";  // the driver's number for it, or its uuid
  std::string cache;         // directory for what drivers compile; "": nothing is kept
  // Into the options of a session, which points into this afterwards. kInvalidArgument if either was given
  // for an artifact that has no kernels for a device, and for a device that is neither; errors of
  // runtime::ordinalOf.
  Status apply(const Manifest& manifest, kiln_session_options& options) const;

  const CLI::App* command = nullptr;  // which has parsed them
};

// --device-driver, --device and --device-cache.
void addDeviceOptions(CLI::App& command, DeviceOptions& options);

// A session's error as a command ends with it: a machine with too little memory cannot serve the artifact.
Error sessionError(Error error);

}  // namespace kiln::cli
