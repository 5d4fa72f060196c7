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
  // "unnest(...) AS t(kind, value, own)"
  std::string terms(const Postings& list) {
    std::vector<std::int64_t> kinds, owns;
    std::vector<Digest> values;
    for (const PostingTerm& term : list) {
      kinds.push_back(static_cast<std::int64_t>(term.mention.kind));
      owns.push_back(term.own ? 1 : 0);
      values.push_back(term.mention.value);
    }
    const std::string kind = bind(kinds, "bigint[]"), value = bind(hashesParam(values), "bytea[]");
    return fmt::format("unnest({}, {}, {}) AS t(kind, value, own)", kind, value, bind(owns, "bigint[]"));
  }
  std::vector<postgres::Param> take() { return std::move(params_); }

 private:
  std::vector<postgres::Param> params_;
};

// The rows of term t within the window; a bound that is not given is not there.
struct Window {
  std::string instance, since, before, payload;

  Window(const AffectedQuery& query, Binder& binder) : instance(binder.bind(query.instance, "text")) {
    if (query.since) since = binder.bind(*query.since, "timestamptz");
    if (query.after) {
      before = binder.bind(query.after->recorded, "timestamptz");
      payload = binder.bind(hashParam(query.after->payload), "bytea");
    }
    if (query.until) until_ = binder.bind(*query.until, "timestamptz");
  }
  std::string condition() const {
    std::string out =
        "m.instance = " + instance + " AND m.kind = t.kind AND m.value = t.value AND m.own = (t.own = 1)";
    if (!since.empty()) out += " AND m.recorded >= " + since;
    if (!until_.empty()) out += " AND m.recorded < " + until_;
    if (!before.empty()) out += fmt::format(" AND (m.recorded, m.payload_hash) < ({}, {})", before, payload);
    return out;
  }

 private:
  std::string until_;
};

constexpr char kNewest[] = "ORDER BY m.recorded DESC, m.payload_hash DESC";

}  // namespace

std::vector<Postings> postingsOf(const std::vector<AnyOf>& all) {
  const bool evidence = std::any_of(all.begin(), all.end(), isEvidence);
  std::vector<Postings> out;
  for (const AnyOf& condition : all) {
    Postings list;
    for (const Mention& mention : condition) {
      list.push_back({mention, true});
      if (evidence && isContent(mention.kind)) list.push_back({mention, false});
    }
    out.push_back(std::move(list));
  }
  if (out.empty()) out.push_back({{{MentionKind::kStatement, textValue("")}, true}});
  return out;
}

BoundSql surveySql(const AffectedQuery& query, const std::vector<Postings>& lists, int limit) {
  Binder binder;
  const Window window(query, binder);
  const std::string bound = binder.bind(limit, "bigint");
  std::string sql;
  for (std::size_t i = 0; i < lists.size(); ++i)
    sql += fmt::format(
        "{}SELECT {}::int AS list, sum(c.entries)::bigint AS entries, min(o.recorded) AS oldest, "
        "max(n.recorded) AS newest FROM {} "
        "CROSS JOIN LATERAL (SELECT count(*) AS entries FROM (SELECT FROM mentions m WHERE {} {} LIMIT {}) "
        "x) c "
        "LEFT JOIN LATERAL (SELECT m.recorded FROM mentions m WHERE {} {} LIMIT 1) n ON true "
        "LEFT JOIN LATERAL (SELECT m.recorded FROM mentions m WHERE {} ORDER BY m.recorded, m.payload_hash "
        "LIMIT 1) o "
        "ON true",
        i == 0 ? "" : " UNION ALL ", i, binder.terms(lists[i]), window.condition(), kNewest, bound,
        window.condition(), kNewest, window.condition());
  return {sql + " ORDER BY list", binder.take()};
}

BoundSql candidatesSql(const AffectedQuery& query, const std::vector<Postings>& lists, int scan) {
  Binder binder;
  const Window window(query, binder);
  const std::string limit = binder.bind(scan, "bigint");
  // LIMIT 1 keeps each probe a look-up of one key: the planner may not turn it into a join with the whole
  // list.
  std::string hit = "true";
  for (std::size_t i = 1; i < lists.size(); ++i)
    hit += fmt::format(
        " AND (SELECT true FROM {} CROSS JOIN LATERAL (SELECT FROM mentions p WHERE p.instance = {} AND "
        "p.kind = t.kind AND p.value = t.value AND p.own = (t.own = 1) AND p.recorded = c.recorded AND "
        "p.payload_hash = c.payload_hash LIMIT 1) p LIMIT 1) IS TRUE",
        binder.terms(lists[i]), window.instance);
  std::string sql = fmt::format(
      "SELECT c.recorded, c.payload_hash, c.artifact_hash, {} AS hit FROM (SELECT f.recorded, "
      "f.payload_hash, "
      "f.artifact_hash FROM {} CROSS JOIN LATERAL (SELECT m.recorded, m.payload_hash, m.artifact_hash FROM "
      "mentions m "
      "WHERE {} {} LIMIT {}) f ORDER BY f.recorded DESC, f.payload_hash DESC LIMIT {}) c "
      "ORDER BY c.recorded DESC, c.payload_hash DESC",
      hit, binder.terms(lists.front()), window.condition(), kNewest, limit, limit);
  return {std::move(sql), binder.take()};
}

}  // namespace kiln::index
