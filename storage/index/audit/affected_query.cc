#include "storage/index/audit/affected_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace kiln::index {
namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();

bool isEvidence(const AnyOf& condition) {
  return std::any_of(condition.begin(), condition.end(), [](const Mention& mention) {
    return mention.kind == MentionKind::kWorker || mention.kind == MentionKind::kOperator ||
           mention.kind == MentionKind::kKey || mention.kind == MentionKind::kDevice;
  });
}

// Parameters by number.
class Binder {
 public:
  std::string bind(postgres::Param param, const char* type) {
    params_.push_back(std::move(param));
    return fmt::format("${}::{}", params_.size(), type);
  }
  std::vector<postgres::Param> take() { return std::move(params_); }

 private:
  std::vector<postgres::Param> params_;
};

constexpr char kNewest[] = " ORDER BY m.recorded DESC, m.statement DESC";

// The rows of mentions m with t.term and t.own that are in a stretch: one range of mentions_by_term.
class Range {
 public:
  Range(const Stretch& stretch, Binder& binder) {
    const std::string since = binder.bind(stretch.since, "timestamptz");
    const std::string before = binder.bind(stretch.before, "timestamptz");
    where_ = fmt::format(
        "m.term = t.term AND m.own = t.own AND m.recorded >= {} AND (m.recorded, m.statement) < ({}, {})",
        since, before, binder.bind(stretch.number, "bigint"));
  }
  const std::string& where() const { return where_; }

 private:
  std::string where_;
};

// Each of the list's ranges as t.term and t.own.
std::string rangesOf(const Postings& list, Binder& binder) {
  std::vector<std::string> terms, own;
  for (const std::string& term : list.terms)
    for (const char* each : {"t", "f"}) {
      if (*each == 'f' && list.ownOnly) continue;
      terms.push_back(term);
      own.push_back(each);
    }
  const std::string first = binder.bind(terms, "uuid[]");
  return fmt::format("unnest({}, {}) AS t(term, own)", first, binder.bind(own, "boolean[]"));
}

// Whether candidate c is in a list. LIMIT 1 keeps it a look-up of one key: the planner may not turn it into a
// join with the whole list.
std::string probe(const Postings& list, Binder& binder) {
  const std::string term = list.terms.size() == 1 ? "= " + binder.bind(list.terms[0], "uuid")
                                                  : "= ANY (" + binder.bind(list.terms, "uuid[]") + ")";
  const auto lookUp = [&](const char* own) {
    return fmt::format(
        "(SELECT true FROM mentions p WHERE p.term {} AND {} AND p.recorded = c.recorded AND p.statement = "
        "c.statement LIMIT 1) IS TRUE",
        term, own);
  };
  return list.ownOnly ? lookUp("p.own") : "(" + lookUp("p.own") + " OR " + lookUp("NOT p.own") + ")";
}

}  // namespace

std::vector<Postings> postingsOf(const std::string& instance, const std::vector<AnyOf>& all) {
  const bool evidence = std::any_of(all.begin(), all.end(), isEvidence);
  std::vector<Postings> out;
  for (const AnyOf& condition : all) {
    Postings list{{}, !evidence || !isContent(condition.front().kind)};
    for (const Mention& mention : condition) list.terms.push_back(termOf(instance, mention));
    out.push_back(std::move(list));
  }
  if (out.empty()) out.push_back({{termOf(instance, {MentionKind::kStatement, textValue("")})}});
  return out;
}

Stretch Stretch::of(const AffectedQuery& query) {
  constexpr std::chrono::seconds kYear9999{253'370'764'800};
  Stretch out{query.since.value_or(TimePoint{}), query.until.value_or(TimePoint(kYear9999)), kLowest};
  if (query.after && query.after->recorded < out.before) {
    out.before = query.after->recorded;
    out.number = statementNumber(query.after->payload);
  }
  return out;
}

BoundSql surveySql(const Stretch& stretch, const std::vector<Postings>& lists, int limit) {
  Binder binder;
  const Range range(stretch, binder);
  std::string sql;
  for (std::size_t i = 0; i < lists.size(); ++i)
    sql += fmt::format(
        "{0}SELECT {1} AS list, sum(c.entries)::bigint AS entries, max(c.reach) AS reach, min(o.recorded) AS "
        "oldest, max(c.newest) AS newest FROM {2} CROSS JOIN LATERAL (SELECT count(*) AS entries, "
        "min(x.recorded) AS reach, max(x.recorded) AS newest FROM (SELECT m.recorded FROM mentions m WHERE "
        "{3}{4} LIMIT {5}) x) c LEFT JOIN LATERAL (SELECT m.recorded FROM mentions m WHERE {3} ORDER BY "
        "m.recorded, m.statement LIMIT 1) o ON true",
        i == 0 ? "" : " UNION ALL ", i, rangesOf(lists[i], binder), range.where(), kNewest,
        binder.bind(std::max(limit / static_cast<int>(lists[i].ranges()), 16), "bigint"));
  return {sql + " ORDER BY list", binder.take()};
}

BoundSql candidatesSql(const Stretch& stretch, const std::vector<Postings>& lists, int scan) {
  Binder binder;
  const Range range(stretch, binder);
  const std::string limit = binder.bind(scan, "bigint");
  std::string hit = "true";
  for (std::size_t i = 1; i < lists.size(); ++i) hit += " AND " + probe(lists[i], binder);
  std::string sql = fmt::format(
      "SELECT c.recorded, c.statement, {0} AS hit FROM (SELECT f.* FROM {1} CROSS JOIN LATERAL (SELECT "
      "m.recorded, m.statement FROM mentions m WHERE {2}{3} LIMIT {4}) f ORDER BY f.recorded DESC, "
      "f.statement DESC LIMIT {4}) c ORDER BY c.recorded DESC, c.statement DESC",
      hit, rangesOf(lists.front(), binder), range.where(), kNewest, limit);
  return {std::move(sql), binder.take()};
}

}  // namespace kiln::index
