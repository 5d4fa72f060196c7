#include "coordinator/jobs/evidence.h"

#include <gtest/gtest.h>

#include "coordinator/jobs/job_error.h"
#include "manifest/base/utf8.h"
#include "manifest/json/json.h"
#include "tests/coordinator/jobs/snapshot_builder.h"

namespace kiln::jobs {
namespace {

using namespace testing;

reapi::ActionResult withFile(const std::string& path) {
  reapi::ActionResult result;
  auto* file = result.add_output_files();
  file->set_path(path);
  *file->mutable_digest() = toProto(digestOf(std::string_view("x")));
  return result;
}

TEST(Evidence, TakesOnlyFilesBelowOutput) {
  EXPECT_TRUE(readOutputs(withFile("output/a/b")));
  for (const char* path :
       {"program.so", "output", "output/", "output/../x", "/output/x", "outputx/y", "output//x"})
    EXPECT_FALSE(readOutputs(withFile(path))) << path;
}

TEST(Evidence, RefusesAFileReportedTwice) {
  auto result = withFile("output/a");
  *result.add_output_files() = result.output_files(0);
  EXPECT_FALSE(readOutputs(result));
}

// A tree of them could not be built, today nor by any later job that would reuse the result.
TEST(Evidence, RefusesAFileThatIsAlsoADirectory) {
  auto result = withFile("output/fixtures.json");
  *result.add_output_files() = withFile("output/fixtures.json-other").output_files(0);
  EXPECT_TRUE(readOutputs(result));
  *result.add_output_files() = withFile("output/fixtures.json/x/y").output_files(0);
  EXPECT_FALSE(readOutputs(result));
}

TEST(Evidence, TakesAtMost20000Files) {
  reapi::ActionResult result;
  for (int i = 0; i < 20000; ++i)
    *result.add_output_files() = withFile("output/" + std::to_string(i)).output_files(0);
  EXPECT_EQ(readOutputs(result)->files.size(), 20000u);
  *result.add_output_files() = withFile("output/more").output_files(0);
  EXPECT_EQ(readOutputs(result).error().code, Code::kInvalidArgument);
}

TEST(Evidence, RefusesMalformedDigests) {
  auto result = withFile("output/a");
  result.mutable_output_files(0)->mutable_digest()->set_hash("XYZ");
  EXPECT_FALSE(readOutputs(result));
  result.mutable_output_files(0)->mutable_digest()->set_hash(std::string(64, 'a'));
  result.mutable_output_files(0)->mutable_digest()->set_size_bytes(-1);
  EXPECT_FALSE(readOutputs(result));
}

// output_symlinks is field 12 of the full protocol; here it is unknown and must not slip through.
TEST(Evidence, RefusesLinksOfTheFullProtocol) {
  std::string bytes = withFile("output/a").SerializeAsString() + std::string(
                                                                     "\x62\x03\x0a\x01"
                                                                     "a",
                                                                     5);
  reapi::ActionResult result;
  ASSERT_TRUE(result.ParseFromString(bytes));
  EXPECT_FALSE(readOutputs(result));
}

TEST(Evidence, DigestIsIndependentOfTheOrderReported) {
  index::ResultRecord a, b;
  a.result = resultBytes({{"x", "1"}, {"y", "2"}});
  b.result = resultBytes({{"y", "2"}, {"x", "1"}});
  EXPECT_EQ(outputsDigest(*readOutputs(a)), outputsDigest(*readOutputs(b)));
  b.result = resultBytes({{"y", "1"}, {"x", "2"}});
  EXPECT_NE(outputsDigest(*readOutputs(a)), outputsDigest(*readOutputs(b)));
}

TEST(Evidence, NamesMissingFiles) {
  auto first = result(compileAction(), "w1");
  auto second = first;
  second.worker = "w2";
  second.result = resultBytes({{"program.so", "program"}});
  EXPECT_EQ(describeDifferences(first, second).find("weights/0000.bin: sha256:"), 0u);
  EXPECT_NE(describeDifferences(first, second).find("missing (w2)"), std::string::npos);
}

// A result with so many files that differ from everybody else's.
index::ResultRecord withFiles(int count, const std::string& worker) {
  auto record = result(compileAction(), worker);
  std::vector<std::pair<std::string, std::string>> files;
  for (int i = 0; i < count; ++i) files.emplace_back("f" + std::to_string(100 + i), worker);
  record.result = resultBytes(files);
  return record;
}

TEST(Evidence, NamesAtMostTenDifferences) {
  const auto described = [](int count) {
    return describeDifferences(withFiles(count, "w1"), withFiles(count, "w2"));
  };
  EXPECT_NE(described(10).find("f109"), std::string::npos) << described(10);
  EXPECT_EQ(described(10).find("more"), std::string::npos) << described(10);
  EXPECT_EQ(described(11).find("f110"), std::string::npos) << described(11);
  EXPECT_TRUE(described(11).ends_with("; and 1 more")) << described(11);
  EXPECT_TRUE(described(30).ends_with("; and 20 more")) << described(30);
  const Json all = Json::parse(differencesJson(withFiles(11, "w1"), withFiles(11, "w2")));
  EXPECT_EQ(all["differences"].size(), 11u) << "for machines, all of them";
  EXPECT_EQ(all["workers"], Json::parse(R"(["w1","w2"])"));
}

// The index may be damaged, and the job is to end all the same.
TEST(Evidence, AStoredResultThatDoesNotParseHasNoFiles) {
  const auto good = withFiles(1, "w1");
  auto damaged = withFiles(1, "w2");
  damaged.result = "\xff";
  EXPECT_EQ(readOutputs(damaged).error().code, Code::kDataLoss);
  EXPECT_TRUE(describeDifferences(good, damaged).ends_with("missing (w2)"))
      << describeDifferences(good, damaged);
  EXPECT_TRUE(describeDifferences(damaged, good).starts_with("f100: missing (w2), sha256:"))
      << describeDifferences(damaged, good);
  EXPECT_EQ(describeDifferences(damaged, damaged), "");
}

TEST(Evidence, AnAgreementGroupEndedAlikeAndLeftTheSame) {
  const auto made = [](const std::string& worker, const std::string& program, int exitCode = 0) {
    auto record = result(compileAction(), worker, program);
    record.exitCode = exitCode;
    return record;
  };
  const auto groups =
      agreementGroups({made("w1", "a"), made("w2", "b"), made("w3", "a", 1), made("w4", "b")});
  ASSERT_EQ(groups.size(), 3u) << "the same bytes under another exit code are another word";
  ASSERT_EQ(groups[0].size(), 2u) << "the largest is the first";
  EXPECT_EQ(groups[0][0].worker, "w2");
  EXPECT_EQ(groups[0][1].worker, "w4");
  EXPECT_EQ(groups[1][0].worker, "w1");
  EXPECT_EQ(groups[2][0].worker, "w3");
  EXPECT_EQ(agreementGroups({made("w1", "a"), made("w2", "b")})[0][0].worker, "w1")
      << "of equal ones the oldest";
  EXPECT_TRUE(agreementGroups({}).empty());
}

TEST(Evidence, ABuilderIsAWorkerUnderItsOperator) {
  const std::vector<index::ResultRecord> results{
      result(compileAction(), "w1", "first"), result(compileAction(), "w1", "again"),
      result(compileAction(), "w1", "third", "other"), result(compileAction(), "w2", "fourth")};
  const auto builders = distinctBuilders(results);
  ASSERT_EQ(builders.size(), 3u);
  EXPECT_EQ(builders[0].outputs, results[0].outputs) << "the oldest of each";
  EXPECT_EQ(builderOf(builders[1]), "other/w1");
  EXPECT_EQ(distinctOperators(results), 2u);
  EXPECT_EQ(distinctOperators({}), 0u);
}

TEST(ToolError, WithoutARecordSaysHowItEnded) {
  auto error = toolError("the compiler", 137, "stage: codegen\n");
  EXPECT_EQ(error.exitCode, 1);
  EXPECT_NE(error.message.find("signal 9; the usual reason is the memory limit"), std::string::npos);
  for (const int signal : {4, 6, 11, 31, 64}) {
    error = toolError("the check", 128 + signal, "loading\n");
    EXPECT_EQ(error.exitCode, 1);
    EXPECT_NE(error.message.find("signal " + std::to_string(signal) + " ("), std::string::npos);
    EXPECT_EQ(error.message.find("memory limit"), std::string::npos) << signal << " is a fault, no limit";
  }
  error = toolError("the compiler", 3, "cannot read\x1b[31m model\n\n");
  EXPECT_EQ(error.exitCode, 3);
  EXPECT_EQ(error.code, static_cast<int>(Code::kInvalidArgument));
  EXPECT_EQ(error.message.find('\x1b'), std::string::npos);
}

TEST(ToolError, HostileRecordsAreBounded) {
  std::string line =
      R"({"error":{"code":"NO_SUCH","message":")" + std::string(100000, 'm') + R"(","details":[1]}})";
  auto error = toolError("the compiler", 77, line);
  EXPECT_EQ(error.exitCode, 1) << "a tool may not claim a class such as 'verification failed'";
  EXPECT_EQ(error.code, static_cast<int>(Code::kInternal));
  EXPECT_LE(error.message.size(), 4096u);
  EXPECT_EQ(error.details, "");
  for (std::size_t cut = 0; cut < 60; ++cut) toolError("x", 4, std::string_view(line).substr(0, cut));
}

TEST(ToolError, WhatAModelLacksIsTheModelsFault) {
  const auto error = toolError("the compiler", 6, R"({"error":{"code":"NOT_FOUND","message":"no w.bin"}})");
  EXPECT_EQ(error.exitCode, 3);
  EXPECT_EQ(error.code, static_cast<int>(Code::kNotFound));
}

// What is not UTF-8 could not be stored, and the job would stay open for ever.
TEST(ToolError, MessagesAreTextWithoutControls) {
  auto raw = toolError("the compiler", 1, "caf\xff\x1b[31m \xc2\x9b");
  EXPECT_TRUE(isUtf8(raw.message)) << raw.message;
  EXPECT_EQ(raw.message.find('\x1b'), std::string::npos);
  std::string text = "x";
  while (text.size() < 9000) text += "\xc3\xa9";
  auto cut =
      toolError("the compiler", 3, R"({"error":{"code":"INVALID_ARGUMENT","message":")" + text + R"("}})");
  EXPECT_EQ(cut.exitCode, 3);
  EXPECT_TRUE(isUtf8(cut.message));
  EXPECT_TRUE(isUtf8(toolError("the compiler", 3, text).message));
}

}  // namespace
}  // namespace kiln::jobs
