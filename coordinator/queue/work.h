// News of queued work, and who could take it. Hints: who is woken looks at the tables.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/index/rows/records.h"

namespace kiln::queue {

// What came into the queue, as far as it decides which worker could take it.
struct Work {
  index::ActionKind kind = index::ActionKind::kCompile;
  std::string target;  // several are "a,b"
  std::string instance;
};

// "KIND TARGET INSTANCE" as the schema's triggers write it; nothing for anything else.
std::optional<Work> parseWork(const std::string& payload);

// What a waiting worker takes.
struct Interest {
  std::vector<index::ActionKind> kinds;
  std::vector<std::string> targets;                   // to compile for, and whatever wants no device
  std::vector<std::string> deviceTargets;             // whose programs its devices execute
  std::optional<std::vector<std::string>> instances;  // nullopt: of everybody

  bool covers(const Work& work) const;
};

}  // namespace kiln::queue
