#include "coordinator/queue/reputation.h"

#include <algorithm>

namespace kiln::queue {
namespace {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;

constexpr Duration kInitialBackoff = std::chrono::minutes(1);
constexpr int kMaxDoublings = 6;
static_assert(kMaxBackoff == kInitialBackoff * (1 << kMaxDoublings));

struct Record {
  int proven = 0, bad = 0;
};

}  // namespace

Status recordOutcome(Connection& connection, const std::string& operatorName, const std::string& worker,
                     LeaseOutcome outcome, TimePoint now) {
  KILN_ASSIGN(Rows rows, connection.execute("SELECT proven, bad_ends FROM fleet WHERE operator = $1 AND name "
                                            "= $2 FOR NO KEY UPDATE",
                                            {operatorName, worker}));
  KILN_ASSIGN(auto found, rows.first([](const Row& row) {
    return Record{row.get<int>("proven"), row.get<int>("bad_ends")};
  }));
  if (!found) return {};
  std::optional<TimePoint> until;
  if (outcome == LeaseOutcome::kGood) {
    *found = {std::min(found->proven + 1, kMaxSlots), 0};
  } else {
    *found = {found->proven / 2, found->bad + 1};
    if (found->bad >= kFailuresBeforeBackoff)
      until = now + kInitialBackoff * (1 << std::min(found->bad - kFailuresBeforeBackoff, kMaxDoublings));
  }
  KILN_TRY(connection.execute(
      "UPDATE fleet SET proven = $3, bad_ends = $4, held_back_until = $5 WHERE operator = $1 AND name = $2",
      {operatorName, worker, found->proven, found->bad, until}));
  return {};
}

Result<Reputation> reputationOf(Connection& connection, const std::string& operatorName,
                                const std::string& worker, TimePoint now) {
  KILN_ASSIGN(Rows rows, connection.execute("SELECT proven, coalesce(held_back_until > $3, false) AS held "
                                            "FROM fleet WHERE operator = $1 AND name = $2",
                                            {operatorName, worker, now}));
  KILN_ASSIGN(auto found, rows.first([](const Row& row) {
    return Reputation{std::min(kUnprovenSlots + row.get<int>("proven"), kMaxSlots), row.get<bool>("held")};
  }));
  return found.value_or(Reputation{});
}

Result<std::vector<HeldBack>> heldBack(Connection& connection, TimePoint now) {
  KILN_ASSIGN(Rows rows, connection.execute("SELECT operator, name, held_back_until FROM fleet WHERE "
                                            "held_back_until > $1 ORDER BY operator, name",
                                            {now}));
  return rows.map([](const Row& row) {
    return HeldBack{row.get<std::string>("operator"), row.get<std::string>("name"),
                    row.get<TimePoint>("held_back_until")};
  });
}

}  // namespace kiln::queue
