#include "storage/index/affected_query.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/index/codec.h"

namespace kiln::index {
namespace {

bool isEvidence(const AnyOf& condition) {
  return std::any_of(condition.begin(), condition.end(), [](const Mention& mention) {
    return mention.kind == MentionKind::kWorker || mention.kind == MentionKind::kOperator ||
           mention.kind == MentionKind::kKey;
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

// Conditions on the rows of a list; what is not asked for is not there.
class Window {
 public:
  Window(const AffectedQuery& query, Binder& binder) : instance_(binder.bind(query.instance, "text")) {
    if (query.since) bounds_ += " AND m.recorded >= " + binder.bind(*query.since, "timestamptz");
    if (query.until) bounds_ += " AND m.recorded < " + binder.bind(*query.until, "timestamptz");
    if (!query.after) return;
    const std::string recorded = binder.bind(query.after->recorded, "timestamptz");
    bounds_ += fmt::format(" AND (m.recorded, m.payload_hash) < ({}, {})", recorded,
                           binder.bind(hashParam(query.after->payload), "bytea"));
  }
  const std::string& instance() const { return instance_; }
  const std::string& bounds() const { return bounds_; }

 private:
  std::string instance_, bounds_;
};

constexpr char kNewest[] = " ORDER BY m.recorded DESC, m.payload_hash DESC";

// A list is several ranges of the index, one for each value t.value and t.own.
struct Ranges {
  std::string from;   // "unnest(...) AS v(value) CROSS JOIN ..."
  std::string where;  // of mentions m: one of them

  Ranges(const Postings& list, const Window& window, Binder& binder)
      : from(fmt::format(
            "(SELECT v.value, o.own FROM unnest({}) AS v(value) CROSS JOIN (VALUES {}) AS o(own)) t",
            binder.bind(hashesParam(list.values), "bytea[]"), list.ownOnly ? "(true)" : "(true), (false)")),
        where(fmt::format("m.instance = {} AND m.kind = {} AND m.value = t.value AND m.own = t.own{}",
                          window.instance(), binder.bind(static_cast<int>(list.kind), "smallint"),
                          window.bounds())) {}
};

// Whether candidate c is in a list. LIMIT 1 keeps it a look-up of one key: the planner may not turn it into a
// join with the whole list.
std::string probe(const Postings& list, const Window& window, Binder& binder) {
  const std::string value = list.values.size() == 1
                                ? "= " + binder.bind(hashParam(list.values[0]), "bytea")
                                : "= ANY (" + binder.bind(hashesParam(list.values), "bytea[]") + ")";
  return fmt::format(
      "(SELECT true FROM mentions p WHERE p.instance = {} AND p.kind = {} AND p.value {} AND p.own {} AND "
      "p.recorded = "
      "c.recorded AND p.payload_hash = c.payload_hash LIMIT 1) IS TRUE",
      window.instance(), binder.bind(static_cast<int>(list.kind), "smallint"), value,
      list.ownOnly ? "= true" : "IN (true, false)");
}

}  // namespace

std::vector<Postings> postingsOf(const std::vector<AnyOf>& all) {
  const bool evidence = std::any_of(all.begin(), all.end(), isEvidence);
  std::vector<Postings> out;
  for (const AnyOf& condition : all) {
    Postings list{condition.front().kind, {}, !evidence || !isContent(condition.front().kind)};
    for (const Mention& mention : condition) list.values.push_back(mention.value);
    out.push_back(std::move(list));
  }
  if (out.empty()) out.push_back({MentionKind::kStatement, {textValue("")}});
  return out;
}

BoundSql surveySql(const AffectedQuery& query, const std::vector<Postings>& lists, int limit) {
  Binder binder;
  const Window window(query, binder);
  const std::string bound = binder.bind(limit, "bigint");
  std::string sql;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const Ranges ranges(lists[i], window, binder);
    sql += fmt::format(
        "{0}SELECT {1}::int AS list, sum(c.entries)::bigint AS entries, max(c.reach) AS reach, "
        "min(o.recorded) AS "
        "oldest, max(c.newest) AS newest FROM {2} CROSS JOIN LATERAL (SELECT count(*) AS entries, "
        "min(x.recorded) AS "
        "reach, max(x.recorded) AS newest FROM (SELECT m.recorded FROM mentions m WHERE {3}{4} LIMIT {5}) x) "
        "c LEFT "
        "JOIN LATERAL (SELECT m.recorded FROM mentions m WHERE {3} ORDER BY m.recorded, m.payload_hash LIMIT "
        "1) o ON "
        "true",
        i == 0 ? "" : " UNION ALL ", i, ranges.from, ranges.where, kNewest, bound);
  }
  return {sql + " ORDER BY list", binder.take()};
}

BoundSql candidatesSql(const AffectedQuery& query, const std::vector<Postings>& lists, int scan) {
  Binder binder;
  const Window window(query, binder);
  const std::string limit = binder.bind(scan, "bigint");
  const Ranges ranges(lists.front(), window, binder);
  std::string hit = "true";
  for (std::size_t i = 1; i < lists.size(); ++i) hit += " AND " + probe(lists[i], window, binder);
  std::string sql = fmt::format(
      "SELECT c.recorded, c.payload_hash, {0} AS hit FROM (SELECT f.recorded, f.payload_hash FROM {1} CROSS "
      "JOIN "
      "LATERAL (SELECT m.recorded, m.payload_hash FROM mentions m WHERE {2}{3} LIMIT {4}) f ORDER BY "
      "f.recorded DESC, "
      "f.payload_hash DESC LIMIT {4}) c ORDER BY c.recorded DESC, c.payload_hash DESC",
      hit, ranges.from, ranges.where, kNewest, limit);
  return {std::move(sql), binder.take()};
}

}  // namespace kiln::index
