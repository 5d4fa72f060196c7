// KernelPlan: the kernels of a program before any is made, as `kiln-cc plan` lists them. Pure: a function of
// model, CompileSpec and toolchain. FORMAT.md, "Tuning".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "manifest/json/json.h"
#include "manifest/tuning/schedule.h"

namespace kiln {

inline constexpr char kKernelPlanFile[] = "plan.json";
inline constexpr std::uint64_t kMaxKernelPlanBytes = 16u << 20;
inline constexpr std::size_t kMaxPlannedKernels = 65536;

struct PlannedKernel {
  // "sha256:<hex>" of the kernel's isolated module (text), which stands beside the plan (moduleFile). Equal
  // kernels share one.
  std::string signature;
  std::string templateName;        // "contraction"
  std::vector<std::string> nodes;  // source nodes of the first of them, as in the manifest
  std::uint64_t count = 1;         // how often the program has it
  std::uint64_t work = 0;          // scalar operations of one run, estimated: how a budget is shared
  Schedule schedule;               // the default
  // What each knob may be: the values of the default and the others that are worth trying.
  std::map<std::string, std::vector<std::vector<std::int64_t>>, std::less<>> knobs;
  // What a compile without tuning entries takes in the place of the default, from the toolchain's catalogue.
  std::optional<Schedule> catalogue = {};
  bool operator==(const PlannedKernel&) const = default;
};

struct KernelPlan {
  std::string target;
  std::vector<PlannedKernel> kernels;  // sorted by signature, each once

  const PlannedKernel* find(std::string_view signature) const;
  Json toJson() const;
  // kInvalidArgument naming the member.
  static Result<KernelPlan> fromJson(const Json& json);
};

// "kernels/<hex>.mlir": where the isolated module of a signature stands beside the plan.
std::string moduleFile(std::string_view signature);

// kInvalidArgument names the knob that the kernel does not have, that is missing, or whose value is not among
// those that the plan lists.
Status checkKnobs(const Schedule& schedule, const PlannedKernel& kernel);

}  // namespace kiln
