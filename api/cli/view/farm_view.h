// A farm at a glance, in words and as JSON: `kiln top`.
#pragma once

#include <string>
#include <vector>

#include "api/cli/base/terminal_size.h"
#include "kiln/v1/job.pb.h"
#include "kiln/v1/worker.pb.h"
#include "manifest/base/clock.h"
#include "manifest/json/json.h"

namespace kiln::cli {

struct FarmView {
  TimePoint at;                   // by this machine's clock
  std::string endpoint;           // that was asked
  std::string instance;           // whose workers and failures these are
  bool whole = false;             // `queues` are those of all instances
  v1::ListQueuesResponse queues;  // else the instance's alone
  std::vector<v1::ListWorkersResponse::Worker> workers;
  std::vector<v1::Job> failed;  // newest first
};

// At most size.rows lines of at most size.columns bytes, fit for a terminal: the longest tables are cut
// first, and say how much they leave out.
std::vector<std::string> farmLines(const FarmView& farm, const TerminalSize& size);

// Everything: {"at","instance","queues":[{"instance","kinds":[...]}],"workers":[...],"failures":[...]}.
Json farmJson(const FarmView& farm);

}  // namespace kiln::cli
