// Which kernel perf has met: a run's program for `perf inject --jit`.
// Source: Linux, tools/perf/Documentation/jitdump-specification.txt, version 1. Kiln maps programs from
// sealed memory, which has no name that perf could open, so that it shows addresses alone without this.
#pragma once

#include <string>

#include "api/node/open.h"
#include "compiler_core/runtime/runtime.h"

namespace kiln::cli {

// The mapping by which perf notes where the file is; it must last until the run has ended.
class Jitdump {
 public:
  // Writes "jit-PID.dump" into the folder: header, and for each function of the program its name, address and
  // code, as of now. Times are CLOCK_MONOTONIC's (`perf record -k 1`). A file that is there is replaced.
  // kPermissionDenied where the folder is on a file system that nothing may be run from.
  static Result<Jitdump> write(const std::string& folder, const runtime::Artifact& artifact);
  ~Jitdump();
  Jitdump(Jitdump&& other) noexcept;
  Jitdump& operator=(Jitdump&&) = delete;

  const std::string& file() const { return file_; }

 private:
  Jitdump(std::string file, void* mark) : file_(std::move(file)), mark_(mark) {}
  std::string file_;
  void* mark_;
};

}  // namespace kiln::cli
