// The SQL by which statements are found by what they mention: an intersection of posting lists in the order
// of time, newest first. Apart from its execution, so that the bench can show each plan. The text depends on
// the number of conditions alone, so each connection prepares each once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "manifest/base/clock.h"
#include "storage/index/mention/mention.h"
#include "storage/postgres/param.h"

namespace kiln::index {

// The position of a statement in the order of time. Where several have one time, statementNumber() of the
// payload decides (in lists of statements about one artifact, the whole digest).
struct Position {
  TimePoint recorded;
  Digest payload;
};

// Any one of these mentions. The first one's kind says whose the condition is; the others are of that kind,
// or content of statements that are found as those are.
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

// The posting lists behind the conditions: a statement that says who, with which key or on which device is
// found also by what its artifact is made of; one that is asked for its content alone is the one that says
// so.
struct Postings {
  std::vector<std::string> terms;  // any of them; termOf()
  bool ownOnly = true;

  std::size_t ranges() const { return terms.size() * (ownOnly ? 1 : 2); }  // of the index
};
std::vector<Postings> postingsOf(const std::string& instance, const std::vector<AnyOf>& all);

// What a walk has still to look at: statements recorded from `since` on, before a place in the order.
struct Stretch {
  TimePoint since, before;
  std::int64_t number = 0;  // of those recorded at `before`, the ones of a lower number

  static Stretch of(const AffectedQuery& query);
  bool empty() const { return before < since; }
};

// One row per list of postings, by `list`: how many rows are in the stretch (`entries`, counted to about
// `limit`), how far back the newest of these reach, `oldest` and `newest` (null if none).
BoundSql surveySql(const Stretch& stretch, const std::vector<Postings>& lists, int limit);

// The newest `scan` rows of the first list in the stretch: recorded, statement, and `hit`, whether all other
// lists have that statement too. Read from the index alone.
BoundSql candidatesSql(const Stretch& stretch, const std::vector<Postings>& lists, int scan);

}  // namespace kiln::index
