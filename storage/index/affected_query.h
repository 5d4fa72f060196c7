// The SQL by which statements are found by what they mention: an intersection of posting lists in the order
// of time, newest first. Apart from its execution, so that the bench can show each plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "manifest/base/clock.h"
#include "storage/index/mention.h"
#include "storage/postgres/param.h"

namespace kiln::index {

// After this statement, that is before it in time.
struct Position {
  TimePoint recorded;
  Digest payload;
};

// Any one of these mentions, which are of one kind.
using AnyOf = std::vector<Mention>;

struct AffectedQuery {
  std::string instance;
  std::vector<AnyOf> all;                 // every one of these; none: every statement
  std::optional<TimePoint> since, until;  // recorded from, and before
  std::optional<Position> after;
};

struct BoundSql {
  std::string sql;
  std::vector<postgres::Param> params;
};

// The posting lists behind the conditions: a statement that says who or with which key is found also by what
// its artifact is made of; one that is asked for its content alone is the one that says so.
struct Postings {
  MentionKind kind = MentionKind::kStatement;
  std::vector<Digest> values;  // any of them
  bool ownOnly = true;
};
std::vector<Postings> postingsOf(const std::vector<AnyOf>& all);

// One row per list of postings, by `list`: how many rows within the window (`entries`, the newest `limit` per
// value being counted), how far back these reach, `oldest` and `newest` (null if none).
BoundSql surveySql(const AffectedQuery& query, const std::vector<Postings>& lists, int limit);

// The newest `scan` rows of the first list after the position: recorded, payload_hash, and `hit`, whether all
// other lists have that statement too. Read from the index alone.
BoundSql candidatesSql(const AffectedQuery& query, const std::vector<Postings>& lists, int scan);

}  // namespace kiln::index
