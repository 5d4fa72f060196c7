#include "api/cli/base/progress.h"

#include <fmt/format.h>

#include "api/cli/base/print.h"
#include "manifest/spec/action_kind.h"

namespace kiln::cli {
namespace {

std::string label(const v1::JobAction& action) {
  return action.target().empty() ? std::string(actionKindName(action.kind()))
                                 : fmt::format("{} {}", actionKindName(action.kind()), action.target());
}

std::string describe(const v1::JobAction& action) {
  std::string text = action.state();
  if ((action.state() == "running" || action.state() == "queued") && !action.stage().empty())
    text += ", " + action.stage();
  if (!action.worker().empty()) text += fmt::format(" ({})", action.worker());
  if (action.attempt() > 1) text += fmt::format(", attempt {}", action.attempt());
  return text;
}

}  // namespace

std::string_view jobStateName(v1::JobState state) {
  switch (state) {
    case v1::JOB_QUEUED:
      return "queued";
    case v1::JOB_RUNNING:
      return "running";
    case v1::JOB_PUBLISHING:
      return "publishing";
    case v1::JOB_SUCCEEDED:
      return "succeeded";
    case v1::JOB_FAILED:
      return "failed";
    case v1::JOB_CANCELLED:
      return "cancelled";
    default:
      return "unknown";
  }
}

std::string_view actionKindName(v1::ActionKind kind) {
  return kiln::actionKindName(static_cast<ActionKind>(kind));
}

void Progress::show(const v1::Job& job) {
  if (quiet_) return;
  std::vector<std::pair<std::string, std::string>> lines;
  for (int i = 0; i < job.actions_size(); ++i) {
    lines.emplace_back(fmt::format("{} {}", i, label(job.actions(i))),
                       fmt::format("  {:<28} {}", label(job.actions(i)), describe(job.actions(i))));
  }
  lines.emplace_back("job", fmt::format("job {} {}", job.id(), jobStateName(job.state())));
  if (terminal_) {
    if (drawn_ > 0) noteText(fmt::format("\x1b[{}A", drawn_));
    for (const auto& [key, text] : lines) noteText("\x1b[2K" + printable(text) + "\n");
    drawn_ = std::max(drawn_, lines.size());
    return;
  }
  for (const auto& [key, text] : lines) {
    auto& last = told_[key];
    if (last != text) note(text);
    last = text;
  }
}

}  // namespace kiln::cli
