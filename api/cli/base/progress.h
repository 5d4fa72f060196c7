// Progress of a job: one line per action. On a terminal the lines are rewritten in place; elsewhere each
// change is one plain line.
#pragma once

#include <map>
#include <string>

#include "kiln/v1/job.pb.h"

namespace kiln::cli {

class Progress {
 public:
  // Nothing is printed when `quiet`.
  Progress(bool terminal, bool quiet) : terminal_(terminal), quiet_(quiet) {}
  void show(const v1::Job& job);
  // Something else is about to be printed: what was drawn stays as it is.
  void leave() { drawn_ = 0; }

 private:
  const bool terminal_, quiet_;
  std::size_t drawn_ = 0;                    // lines on the terminal to be rewritten
  std::map<std::string, std::string> told_;  // by action
};

std::string_view jobStateName(v1::JobState state);     // "queued"
std::string_view actionKindName(v1::ActionKind kind);  // "compile"

}  // namespace kiln::cli
