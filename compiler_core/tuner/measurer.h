// Measures programs of one kernel in a process of its own, so that one that crashes, hangs or takes too much
// memory is an error of that program alone: the process is made anew, with what was loaded in the last one.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "compiler_core/tuner/child.h"
#include "compiler_core/tuner/messages.h"

namespace kiln::tuner {

// Not thread safe.
class Measurer {
 public:
  // `shouldStop` is asked while it waits. `program`: the command line of the program that measures, such as
  // kiln-measure; empty: a copy of this one does, on the setup's processors.
  Measurer(MeasureSetup setup, std::function<bool()> shouldStop, std::vector<std::string> program = {})
      : setup_(std::move(setup)), shouldStop_(std::move(shouldStop)), program_(std::move(program)) {}

  // How long one answer may take, from its request on.
  void setLimit(std::chrono::duration<double> limit) {
    limit_ = std::chrono::duration_cast<Child::Clock::duration>(limit);
  }

  // No fault of a program: there is no process, or what was loaded before does not run any more.
  Status ready();
  // What the program that measures said of its device, once it is ready.
  const std::optional<MeasuredDevice>& device() const { return device_; }
  // Runs `program` once and takes samples of it, one at least; it is loaded then. Its results are compared
  // with those of the least id that is loaded. After ready(), any error but kCancelled is the program's: it
  // could not be loaded, failed, ended the process (kUnavailable), took too long (kDeadlineExceeded), or
  // overwrote what it was to answer with (kDataLoss).
  Result<MeasureAnswer> tryOut(std::uint64_t id, KernelProgram program, std::uint32_t samples);
  // More samples of what is loaded, one at least. Errors of ready() and tryOut(), after which it is not
  // loaded any more.
  Result<MeasureAnswer> sample(std::uint64_t id, std::uint32_t samples);
  // Unloads it.
  void forget(std::uint64_t id);

 private:
  Status send(const std::string& message, Child::Clock::duration limit);
  Result<MeasureAnswer> receive();
  Result<MeasureAnswer> ask(const MeasureRequest& request);
  Result<MeasureAnswer> samplesOf(const MeasureRequest& request);

  const MeasureSetup setup_;
  const std::function<bool()> shouldStop_;
  const std::vector<std::string> program_;
  Child::Clock::duration limit_ = std::chrono::seconds(60);
  Child::Clock::time_point deadline_;  // of the answer that is waited for
  std::optional<Child> child_;
  std::optional<MeasuredDevice> device_;
  std::map<std::uint64_t, KernelProgram> loaded_;
};

}  // namespace kiln::tuner
