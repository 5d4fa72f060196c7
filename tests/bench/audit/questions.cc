#include "tests/bench/audit/questions.h"

#include <iterator>

#include "storage/index/artifacts/artifact_repository.h"
#include "storage/index/audit/audit_repository.h"
#include "storage/index/toolchains/toolchain_parts.h"

namespace kiln::bench {
namespace {

using namespace index;
using postgres::Connection;

// By the trees that have a part, as the service does.
Result<AnyOf> treesOf(Connection& connection, const std::string& part) {
  KILN_ASSIGN(const auto trees, treesWithPart(connection, "default", part, 256));
  AnyOf out;
  for (const Digest& tree : trees) out.push_back({MentionKind::kToolchain, tree});
  return out;
}

Question affected(std::string name, std::function<Result<AffectedQuery>(Connection&, Draw&)> query) {
  return {std::move(name),
          [query](Connection& connection, Draw& draw) -> Result<std::size_t> {
            KILN_ASSIGN(const AffectedQuery asked, query(connection, draw));
            KILN_ASSIGN(const auto page, findAffected(connection, asked, kPage));
            return page.entries.size();
          },
          query};
}

using What = AnyOf (Draw::*)();

// All of these at once; `window`: and within some days.
Question all(std::string name, std::vector<What> conditions, bool window = false) {
  return affected(std::move(name), [=](Connection&, Draw& draw) -> Result<AffectedQuery> {
    AffectedQuery query{.instance = "default"};
    for (const What what : conditions) query.all.push_back((draw.*what)());
    if (window) draw.window(query);
    return query;
  });
}

// And by a part of toolchains, which is looked up first.
Question byPart(std::string name, std::function<std::string(Draw&)> part, std::vector<What> more = {},
                bool window = false) {
  return affected(std::move(name), [=](Connection& connection, Draw& draw) -> Result<AffectedQuery> {
    AffectedQuery query{.instance = "default"};
    KILN_ASSIGN(auto trees, treesOf(connection, part(draw)));
    query.all.push_back(std::move(trees));
    for (const What what : more) query.all.push_back((draw.*what)());
    if (window) draw.window(query);
    return query;
  });
}

}  // namespace

std::vector<Question> questions() {
  const auto ptxas = [](Draw& draw) {
    return digestNamed("ptxas " + std::to_string(draw.below(kPtxas))).text();
  };
  const auto libc = [](Draw&) { return digestNamed("libc").text(); };
  return {
      all("toolchain", {&Draw::tree}),
      byPart("component: a ptxas digest (4 toolchains)", ptxas),
      byPart("component: libc, by name (40 toolchains)", [](Draw&) { return std::string("libc"); }),
      all("source: digest", {&Draw::model}),
      all("source: digest of a popular model", {&Draw::popularModel}),
      all("source: repository", {&Draw::repository}),
      all("source: commit", {&Draw::commit}),
      all("worker", {&Draw::worker}),
      all("operator", {&Draw::operatorName}),
      all("key", {&Draw::key}),
      all("target", {&Draw::target}),
      all("submitter", {&Draw::submitter}),
      all("device of a check", {&Draw::device}),
      all("artifact", {&Draw::anyArtifact}),
      all("window", {}, true),
      all("worker + window", {&Draw::worker}, true),
      all("key + window", {&Draw::key}, true),
      all("toolchain + worker", {&Draw::tree, &Draw::worker}),
      all("toolchain + operator", {&Draw::tree, &Draw::operatorName}),
      all("popular model + operator", {&Draw::popularModel, &Draw::operatorName}),
      all("key + repository", {&Draw::key, &Draw::repository}),
      all("worker + another worker", {&Draw::worker, &Draw::worker}),
      all("submitter + operator + window", {&Draw::submitter, &Draw::operatorName}, true),
      all("device + toolchain", {&Draw::device, &Draw::tree}),
      all("device + submitter + target", {&Draw::device, &Draw::submitter, &Draw::target}),
      all("target + operator + window", {&Draw::target, &Draw::operatorName}, true),
      byPart("ptxas digest + operator + target", ptxas, {&Draw::operatorName, &Draw::target}),
      byPart("libc + target", libc, {&Draw::target}),
      byPart("libc + worker + another worker", libc, {&Draw::worker, &Draw::worker}),
      byPart("libc + popular model + worker + key + target + window", libc,
             {&Draw::popularModel, &Draw::worker, &Draw::key, &Draw::target}, true),
      {"provenance of an artifact, with parts and admissions",
       [](Connection& connection, Draw& draw) -> Result<std::size_t> {
         const Digest artifact = draw.artifact();
         KILN_ASSIGN(const auto found, loadArtifact(connection, "default", artifact));
         KILN_ASSIGN(const auto statements, listStatementsOf(connection, "default", artifact, {}, kPage));
         KILN_TRY(listParts(connection, "default", found->toolchainDigest));
         KILN_TRY(listAdmissions(connection, "default", {found->toolchainDigest}));
         return statements.size();
       },
       {}},
      {"who submitted an artifact",
       [](Connection& connection, Draw& draw) -> Result<std::size_t> {
         KILN_ASSIGN(const auto found, listSubmissions(connection, "default", draw.artifact(), "", kPage));
         return found.size();
       },
       {}},
  };
}

}  // namespace kiln::bench
