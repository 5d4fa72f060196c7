// Asks CUDA drivers in a child process, so that one that hangs or crashes costs the worker nothing but time.
#pragma once

#include "manifest/base/clock.h"
#include "worker/devices/gpu_source.h"

namespace kiln::devices {

// The child's side: `kiln-worker probe-driver LIBRARY [--test UUID]` prints {"gpus":[...]} or {"ordinal":N},
// and ends with 0; else an error line (manifest/json/error_line.h) is the last line of stderr. Returns the
// exit code.
int probeDriver(const std::string& library, const std::string& uuid);

class DriverProbe final : public GpuSource {
 public:
  // `program` is kiln-worker. A driver that does not answer within `limit` is taken for hung.
  explicit DriverProbe(std::string program, Duration limit = std::chrono::seconds(60))
      : program_(std::move(program)), limit_(limit) {}

  // Beside the driver's own errors: kUnavailable if it crashed, hung or said nothing that can be read.
  Result<std::vector<Gpu>> list(const std::string& library) override;
  Result<int> test(const std::string& library, const std::string& uuid) override;

 private:
  Result<Json> ask(std::vector<std::string> arguments) const;

  const std::string program_;
  const Duration limit_;
};

}  // namespace kiln::devices
