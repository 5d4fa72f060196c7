#include "tests/bench/audit/publish.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "manifest/statement/provenance.h"
#include "storage/index/artifacts/artifact_repository.h"
#include "tests/bench/audit/generate.h"

namespace kiln::bench {
namespace {

using namespace index;

constexpr int kMaterials = 10;

PublicationRecord publication(int number, bool mentioned) {
  const std::string name = fmt::format("published {} {}", number, mentioned);
  PublicationRecord out;
  out.artifact.instance = "default";
  out.artifact.digest = digestNamed(name);
  out.artifact.config = digestNamed("config " + name);
  out.artifact.target = targetOf(number % kTargets);
  out.artifact.toolchainLabel = labelOf(number % kToolchains);
  out.artifact.toolchainDigest = digestNamed("tree " + std::to_string(number % kToolchains));
  out.artifact.published = parseRfc3339("2027-01-01T00:00:00Z").value() + std::chrono::seconds(number);
  out.artifact.files = {{"program.so", "application/octet-stream", digestNamed("program " + name)}};
  out.job = {"default", fmt::format("{:012}", number + 1)};
  out.action = digestNamed("action " + name);
  out.bundle = {digestNamed("payload " + name), digestNamed("bundle " + name), kProvenanceType, out.job.id,
                out.artifact.published};
  for (int i = 0; i < kMaterials; ++i)
    out.materials.push_back(
        {"data", fmt::format("input/{}", i), "", digestNamed(fmt::format("{} {}", name, i))});
  out.builders = {{"worker-1", "operator-1"}, {"worker-2", "operator-2"}};
  if (!mentioned) return out;
  out.bundle.signer = digestNamed("key 1");
  auto& mentions = out.bundle.mentions;
  mentions = {{MentionKind::kStatement, textValue("")},
              {MentionKind::kArtifact, out.artifact.digest},
              {MentionKind::kToolchain, out.artifact.toolchainDigest},
              {MentionKind::kTarget, textValue(out.artifact.target)},
              {MentionKind::kKey, *out.bundle.signer}};
  for (const MaterialRecord& material : out.materials)
    mentions.push_back({MentionKind::kInput, material.digest});
  for (const BuilderRecord& builder : out.builders) {
    mentions.push_back({MentionKind::kWorker, textValue(builder.worker)});
    mentions.push_back({MentionKind::kOperator, textValue(builder.operatorName)});
  }
  return out;
}

Status measure(postgres::Connection& connection, int rounds, bool mentioned) {
  std::vector<double> milliseconds;
  std::size_t mentions = 0;
  for (int round = 0; round < rounds; ++round) {
    const PublicationRecord record = publication(round, mentioned);
    mentions = record.bundle.mentions.size();
    const auto start = std::chrono::steady_clock::now();
    KILN_TRY(connection.transact([&](postgres::Connection& c) { return insertPublication(c, record); }));
    milliseconds.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  fmt::print("| a publication with {} materials and {} mentions | {:.2f} | {:.2f} |\n", kMaterials, mentions,
             milliseconds[milliseconds.size() / 2], milliseconds[milliseconds.size() * 99 / 100]);
  return {};
}

}  // namespace

Status measurePublications(postgres::Connection& connection, int rounds) {
  fmt::print("\n| rows written in one transaction | p50 ms | p99 ms |\n|---|---|---|\n");
  for (const bool mentioned : {false, true}) KILN_TRY(measure(connection, rounds, mentioned));
  return connection.executeScript(
      "DELETE FROM artifacts WHERE published >= timestamptz '2027-01-01 00:00:00Z' AND instance = 'default'");
}

}  // namespace kiln::bench
