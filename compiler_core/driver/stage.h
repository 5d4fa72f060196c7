// The stages of a compile. Their names stand in progress messages ("stage: NAME") and in evidence.json.
#pragma once

#include <cstddef>
#include <string_view>

namespace kiln::driver {

enum class Stage { kCapture, kAnalyse, kRewrite, kPartition, kSchedule, kPlan, kCodegen, kPackage };

inline constexpr std::string_view kStageNames[] = {"capture",  "analyse", "rewrite", "partition",
                                                   "schedule", "plan",    "codegen", "package"};

constexpr std::string_view stageName(Stage stage) {
  return kStageNames[static_cast<std::size_t>(stage)];
}

}  // namespace kiln::driver
