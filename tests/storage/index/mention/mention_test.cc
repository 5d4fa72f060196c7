#include "storage/index/mention/mention.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "manifest/statement/check_statement.h"
#include "manifest/statement/tombstone.h"
#include "tests/support/sample_provenance.h"

namespace kiln::index {
namespace {

const Digest kSigner{digestOf(std::string_view("key")).hash, 0};
const Digest kSubject = digestOf(std::string_view("artifact"));

bool mentions(const StatementMentions& found, MentionKind kind, const Digest& value) {
  return std::ranges::find(found.all, Mention{kind, {value.hash, 0}}) != found.all.end();
}
bool mentions(const StatementMentions& found, MentionKind kind, std::string_view text) {
  return mentions(found, kind, textValue(text));
}

TEST(Mentions, AProvenanceIsFoundByAllThatItNames) {
  Provenance provenance = testing_support::sampleProvenance();
  const auto found = mentionsOf(provenanceStatement(kSubject, provenance).value(), kSigner).value();
  EXPECT_EQ(found.artifact.hash, kSubject.hash);
  EXPECT_TRUE(mentions(found, MentionKind::kStatement, ""));
  EXPECT_TRUE(mentions(found, MentionKind::kArtifact, kSubject));
  EXPECT_TRUE(mentions(found, MentionKind::kKey, kSigner));
  const auto& inputs = provenance.resolvedDependencies;
  EXPECT_TRUE(mentions(found, MentionKind::kToolchain, inputs[0].digest));
  EXPECT_TRUE(mentions(found, MentionKind::kInput, inputs[1].digest));
  EXPECT_FALSE(mentions(found, MentionKind::kInput, inputs[0].digest));
  for (const char* source :
       {"git+https://example.com/models.git@0123456789012345678901234567890123456789#m.onnx",
        "https://example.com/models.git", "0123456789012345678901234567890123456789"})
    EXPECT_TRUE(mentions(found, MentionKind::kSource, source)) << source;
  for (const char* worker : {"w1", "w2"}) EXPECT_TRUE(mentions(found, MentionKind::kWorker, worker));
  for (const char* name : {"acme", "other"}) EXPECT_TRUE(mentions(found, MentionKind::kOperator, name));
  EXPECT_TRUE(mentions(found, MentionKind::kTarget, provenance.externalParameters.at("target")));
  EXPECT_TRUE(std::ranges::is_sorted(found.all));
}

TEST(Mentions, ASourceOfAnyFormIsFound) {
  Provenance provenance = testing_support::sampleProvenance();
  const std::string commit(40, 'b');
  provenance.resolvedDependencies[1].uri =
      "git+ssh://git@host/odd@name#x@" + commit + "#dir/m@" + commit + "#.onnx";
  auto found = mentionsOf(provenanceStatement(kSubject, provenance).value(), kSigner).value();
  EXPECT_TRUE(mentions(found, MentionKind::kSource, "ssh://git@host/odd@name#x"));
  EXPECT_TRUE(mentions(found, MentionKind::kSource, commit));
  provenance.resolvedDependencies[1].uri.clear();
  provenance.resolvedDependencies[1].annotations["claimedOrigin"] = "git+https://h/r@" + commit + "#m";
  found = mentionsOf(provenanceStatement(kSubject, provenance).value(), kSigner).value();
  EXPECT_TRUE(mentions(found, MentionKind::kSource, "https://h/r")) << "a claim counts as well";
}

TEST(Mentions, OtherStatementsNameTheirWorkersAndKey) {
  const Tombstone tombstone{"urn:b", "reason", parseRfc3339("2026-11-20T06:00:00Z").value(), {kSigner}};
  const auto found = mentionsOf(tombstoneStatement(kSubject, tombstone).value(), kSigner).value();
  EXPECT_EQ(found.all.size(), 3u) << "that it is one, its artifact, its key";
  EXPECT_FALSE(mentionsOf("{}", kSigner));
}

TEST(Mentions, ACheckIsFoundByItsDevice) {
  CheckStatement check{
      {.builderId = "urn:b",
       .invocationId = "job",
       .action = kSubject,
       .worker = "w1",
       .operatorName = "acme",
       .receipt = kSubject,
       .startedOn = parseRfc3339("2026-11-20T06:00:00Z").value(),
       .finishedOn = parseRfc3339("2026-11-20T06:00:01Z").value()},
      kSubject,
      {{"passed", true},
       {"items", {{{"kind", "run"}, {"name", "default"}, {"passed", true}, {"detail", ""}}}},
       {"measured", Json::object()},
       {"device", {{"processor", "EPYC 9999"}, {"threads", 4}, {"gpu", {{"name", "H 9000"}}}}}}};
  const auto statement = checkStatement(kSubject, check);
  ASSERT_TRUE(statement) << statement.error().message;
  const auto found = mentionsOf(*statement, kSigner).value();
  EXPECT_TRUE(mentions(found, MentionKind::kDevice, "EPYC 9999"));
  EXPECT_TRUE(mentions(found, MentionKind::kDevice, "H 9000"));
  EXPECT_TRUE(mentions(found, MentionKind::kWorker, "w1"));
}

TEST(Mentions, AKeyIsNamedByItsIdOrItsDigest) {
  EXPECT_EQ(keyValue(toBase64(kSigner.hash)).value(), kSigner);
  EXPECT_EQ(keyValue(kSigner.text()).value(), kSigner);
  for (const char* wrong : {"", "sha256:12", "AAAA", "not base64!"})
    EXPECT_EQ(keyValue(wrong).error().code, Code::kInvalidArgument) << wrong;
}

}  // namespace
}  // namespace kiln::index
