#include "storage/index/audit/affected.h"

#include <algorithm>

#include "storage/index/rows/codec.h"

namespace kiln::index {
namespace {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;

constexpr int kSurvey = 256;         // rows counted per list to find the rarest
constexpr int kFirstScan = 128;      // candidates looked at first; four times as many each time after
constexpr int kLookUpLimit = 7'000;  // for one page: rows read and keys looked up

// As the lists know a statement.
struct Place {
  TimePoint recorded;
  std::int64_t number = 0;
  bool operator==(const Place&) const = default;
};

struct Candidate {
  Place at;
  bool hit = false;
};

Candidate candidateAt(const Row& row) {
  return {{row.get<TimePoint>("recorded"), row.get<std::int64_t>("statement")}, row.get<bool>("hit")};
}

// One step of the walk: the rarest list first, and the stretch no wider than where all lists have rows. False
// if one has none. Asked anew at each step, so that stretches where one list is empty are skipped.
Result<bool> narrow(Connection& connection, Stretch& stretch, std::vector<Postings>& lists) {
  const BoundSql survey = surveySql(stretch, lists, kSurvey);
  KILN_ASSIGN(Rows rows, connection.execute(survey.sql, survey.params));
  // Fewest entries first; of those with as many as are counted, the one whose newest reach back farthest.
  std::vector<std::tuple<std::uint64_t, TimePoint, std::size_t>> order;
  for (int i = 0; i < rows.size(); ++i) {
    const auto entries = std::min<std::uint64_t>(rows[i].get<std::uint64_t>("entries"), kSurvey);
    if (entries == 0) return false;
    order.emplace_back(entries, rows[i].get<TimePoint>("reach"), static_cast<std::size_t>(i));
    stretch.since = std::max(stretch.since, rows[i].get<TimePoint>("oldest"));
    const TimePoint end = rows[i].get<TimePoint>("newest") + Duration(1);
    if (end < stretch.before) stretch = {stretch.since, end, std::numeric_limits<std::int64_t>::min()};
  }
  KILN_TRY(rows.status());
  std::sort(order.begin(), order.end());
  std::vector<Postings> sorted;
  for (const auto& [entries, reach, list] : order) sorted.push_back(std::move(lists[list]));
  lists = std::move(sorted);
  return !stretch.empty();
}

// What looking at one candidate costs: a row of each of its list's ranges, a look-up in each of the others'.
std::size_t costOf(const std::vector<Postings>& lists) {
  std::size_t ranges = 0;
  for (const Postings& list : lists) ranges += list.ranges();
  return ranges;
}

Result<std::vector<AffectedRecord>> describe(Connection& connection, const std::string& instance,
                                             const std::vector<Place>& places) {
  std::vector<std::string> times;
  std::vector<std::int64_t> numbers;
  for (const Place& place : places) {
    times.emplace_back(postgres::Param(place.recorded).data());
    numbers.push_back(place.number);
  }
  KILN_ASSIGN(
      Rows rows,
      connection.execute(
          "SELECT s.*, a.size, a.target FROM unnest($2::timestamptz[], $3::bigint[]) WITH ORDINALITY "
          "AS p(recorded, number, place) JOIN statements s ON s.instance = $1 AND s.recorded = "
          "p.recorded AND statement_number(s.payload_hash) = p.number JOIN artifacts a ON a.instance = "
          "$1 AND a.hash = s.artifact_hash ORDER BY p.place",
          {instance, times, numbers}));
  return rows.map([](const Row& row) {
    AffectedRecord out{digestAt(row, "artifact_hash", "size"), row.get<std::string>("target"), {}};
    out.statement = {hashAt(row, "payload_hash"), digestAt(row, "bundle_hash", "bundle_size"),
                     row.get<std::string>("predicate_type"), row.get<std::string>("job_id"),
                     row.get<TimePoint>("recorded")};
    return out;
  });
}

Position positionOf(const Place& place) {
  Position out{place.recorded, {}};
  for (std::size_t i = 0; i < 8; ++i)
    out.payload.hash[i] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(place.number) >> (56 - 8 * i));
  return out;
}

}  // namespace

Result<AffectedPage> findAffected(Connection& connection, const AffectedQuery& query, int limit) {
  AffectedPage page;
  std::vector<Postings> lists = postingsOf(query.instance, query.all);
  Stretch stretch = Stretch::of(query);
  const int affordable = std::max<int>(static_cast<int>(kLookUpLimit / costOf(lists)), limit + 1);
  std::vector<Place> found;
  std::optional<Place> last;
  bool ended = stretch.empty(), full = false;
  int scan = lists.size() == 1 ? limit + 1 : std::max(kFirstScan, limit + 1);
  for (int left = affordable; left > 0 && !ended && !full; scan *= 4) {
    if (lists.size() > 1) {
      KILN_ASSIGN(const bool meet, narrow(connection, stretch, lists));
      if ((ended = !meet)) break;
    }
    const int rows = std::min(scan, left);
    const BoundSql sql = candidatesSql(stretch, lists, rows);
    KILN_ASSIGN(Rows answer, connection.execute(sql.sql, sql.params));
    KILN_ASSIGN(const std::vector<Candidate> candidates, answer.map(candidateAt));
    ended = candidates.size() < static_cast<std::size_t>(rows);
    left -= rows;
    for (const Candidate& candidate : candidates) {
      // A statement may be in several of the lists that one condition stands for.
      const bool hit = candidate.hit && (found.empty() || found.back() != candidate.at);
      full = hit && found.size() == static_cast<std::size_t>(limit);
      if (full) break;
      if (hit) found.push_back(candidate.at);
      last = candidate.at;
    }
    if (last) stretch = {stretch.since, last->recorded, last->number};
  }
  if (full || !ended) page.next = last ? std::optional(positionOf(*last)) : query.after;
  KILN_ASSIGN(page.entries, describe(connection, query.instance, found));
  return page;
}

Result<bool> isMentioned(Connection& connection, const std::string& instance, const Mention& mention) {
  KILN_ASSIGN(Rows rows,
              connection.execute("SELECT true AS found FROM mentions WHERE term = $1::uuid LIMIT 1",
                                 {termOf(instance, mention)}));
  return rows.size() > 0;
}

}  // namespace kiln::index
