// TuningRecord: what a tuner measured on one device, and what follows from it. A statement's subject; never
// an input of a compile, which gets entries. FORMAT.md, "Tuning".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "manifest/json/json.h"
#include "manifest/tuning/entries.h"

namespace kiln {

inline constexpr char kTuningRecordFile[] = "record.json";
inline constexpr std::uint64_t kMaxTuningRecordBytes = 32u << 20;

struct TuningCandidate {
  // kFinalist: measured again, in turn with the default and the other finalists. kMeasured: not among the
  // best. kWrong: its results are not the default's (TuningMethod::tolerance). kFailed: it could not be made
  // or did not run.
  enum class State { kFinalist, kMeasured, kWrong, kFailed } state = State::kMeasured;
  Schedule schedule;
  // The time of one run; 0 unless kFinalist or kMeasured.
  std::uint64_t medianNanoseconds = 0;
  std::uint64_t spreadNanoseconds = 0;  // median absolute deviation
  std::uint32_t samples = 0;
  bool operator==(const TuningCandidate&) const = default;
};

struct TunedKernel {
  std::string signature;
  std::string templateName;
  std::vector<TuningCandidate> candidates;  // the first one is the default; each schedule once
  bool operator==(const TunedKernel&) const = default;
};

struct TuningChoice {
  // kFaster: `candidate` is not the default. kDefaultBest: nothing was faster beyond noise. kTooNoisy: the
  // device cannot decide. kNotMeasured: time was up before the default and another one were finalists.
  enum class Reason { kFaster, kDefaultBest, kTooNoisy, kNotMeasured } reason = Reason::kNotMeasured;
  std::size_t candidate = 0;
  bool operator==(const TuningChoice&) const = default;
};

// The one rule, of tuner and readers alike, in integers. Among finalists the least median (the earlier one of
// equals) wins, if it is below the default's by more than 2 % of it and more than both spreads together;
// where the default's spread is over a quarter of its median, nothing is decided.
TuningChoice choose(const TunedKernel& kernel);

std::string_view reasonText(TuningChoice::Reason reason);  // "faster", "default is best", ...

struct TuningMethod {
  std::uint32_t threads = 1;      // that share a kernel's tasks, each pinned to a core
  std::uint32_t warmups = 0;      // runs before the first measured one
  std::uint32_t repetitions = 0;  // samples of a candidate in the first round
  std::uint32_t rounds = 0;       // rounds of the finalists, each with as many samples
  std::uint32_t budgetSeconds = 0;
  std::uint64_t seed = 0;  // of the inputs
  // How far a candidate's results may be from the default's, over the largest of these: a decimal fraction.
  // Empty: not at all, not by a bit.
  std::string tolerance{};
  // By events of the device around recorded runs; otherwise the processor's time, with several threads the
  // clock's.
  bool byEvents = false;
  bool operator==(const TuningMethod&) const = default;
};

struct TuningDevice {
  std::string kind;                   // "cpu", "cuda", "vulkan", "emulated" (whose times say nothing)
  std::string name;                   // of the model of device
  std::vector<std::string> features;  // sorted
  std::uint32_t cores = 0;
  std::vector<std::uint64_t> caches;  // bytes, the nearest first
  bool operator==(const TuningDevice&) const = default;
};

struct TuningRecord {
  std::string target;
  TuningMethod method;
  TuningDevice device;
  std::vector<TunedKernel> kernels;  // sorted by signature, each once

  // With "chosen" and "reason" of each kernel, as choose() gives them.
  Json toJson() const;
  // kInvalidArgument naming the member; also where "chosen" or "reason" are not what the figures say.
  static Result<TuningRecord> fromJson(const Json& json);
  bool operator==(const TuningRecord&) const = default;
};

// kInvalidArgument unless the record is for the plan's target and each kernel is one of the plan, with its
// template and default, and candidates whose knobs the plan lists.
Status checkRecord(const TuningRecord& record, const KernelPlan& plan);

// How many of its kernels have a choice that is not the default.
std::uint64_t fasterKernels(const TuningRecord& record);

// What a compile gets of it: the kernels whose choice is not the default. Nothing of an emulated device.
TuningEntries entriesOf(const TuningRecord& record);

}  // namespace kiln
