// How much waits and how much runs, for who watches a farm.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::queue {

// The queued, or the leased, runs of one kind of one instance.
struct Depth {
  std::string instance;
  index::ActionKind kind = index::ActionKind::kCompile;
  bool leased = false;
  std::uint64_t runs = 0;
  TimePoint oldest;  // when the first of them was queued
};

// Where there are any. It counts rows of an index: a tenth of a second for a million.
Result<std::vector<Depth>> queueDepth(postgres::Connection& connection);

}  // namespace kiln::queue
