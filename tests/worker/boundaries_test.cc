// Where the executor's rules begin and end: every code and ending, lengths at their limits, and a directory
// that is not what it was when it was hashed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>

#include "tests/support/memory_blob_store.h"
#include "tests/support/temp_directory.h"
#include "worker/executor/executor.h"
#include "worker/executor/output_upload.h"
#include "worker/executor/termination.h"

namespace kiln::executor {
namespace {

using sandbox::Termination;
using testing::HasSubstr;

TEST(Boundaries, EveryEndingHasItsCode) {
  const auto codeOf = [](Termination termination) -> std::optional<Code> {
    sandbox::RunResult run;
    run.termination = termination;
    run.why = "why";
    const Status status = checkTermination(run);
    if (status) return {};
    return status.error().code;
  };
  EXPECT_EQ(codeOf(Termination::kExited), std::nullopt);
  EXPECT_EQ(codeOf(Termination::kTimedOut), Code::kDeadlineExceeded);
  EXPECT_EQ(codeOf(Termination::kCancelled), Code::kCancelled);
  EXPECT_EQ(codeOf(Termination::kOutputLimit), Code::kOutOfRange);
  EXPECT_EQ(codeOf(Termination::kOutOfMemory), Code::kResourceExhausted);
  EXPECT_EQ(codeOf(static_cast<Termination>(99)), Code::kInternal) << "an unknown termination is no success";
}

TEST(Boundaries, WhatIsTheActionsFaultIsNotTriedAgainAndAllElseIs) {
  for (int number = 1; number < 40; ++number) {
    const auto code = static_cast<Code>(number);
    const bool actions = code == Code::kInvalidArgument || code == Code::kOutOfRange ||
                         code == Code::kUnimplemented || code == Code::kPermissionDenied ||
                         code == Code::kDeadlineExceeded || code == Code::kCancelled;
    EXPECT_EQ(retryable({code, "x"}), !actions) << number << ", codes that nobody knows among them";
  }
}

TEST(Boundaries, MemoryThatRanOutIsTheActionsAFullDiskIsNot) {
  sandbox::RunResult run;
  run.termination = Termination::kOutOfMemory;
  EXPECT_FALSE(retryable(checkTermination(run).error()));
  EXPECT_TRUE(retryable({Code::kResourceExhausted, "no space left on the device", {}}));
}

TEST(Boundaries, StagesAreAsLongAsTheyMayBe) {
  EXPECT_EQ(stageOf("stage: " + std::string(32, 'a')), std::string(32, 'a'));
  EXPECT_EQ(stageOf("stage: " + std::string(33, 'a')), "");
  const std::string tune = "tune: " + std::string(154, 'b');
  EXPECT_EQ(stageOf(tune), tune);
  EXPECT_EQ(stageOf(tune + "b"), "");
  EXPECT_EQ(stageOf("tune: ~"), "tune: ~");
  EXPECT_EQ(stageOf("tune: \x7f"), "");
  EXPECT_EQ(stageOf("tune: \x1f"), "");
}

// A store that lets something happen between the two walks over the outputs.
class Meddling final : public storage::BlobStore {
 public:
  explicit Meddling(std::function<void()> meddle) : meddle_(std::move(meddle)) {}
  Result<std::unique_ptr<storage::BlobWriter>> beginWrite(const std::string& instance,
                                                          const Digest& digest) override {
    return inner_.beginWrite(instance, digest);
  }
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const storage::ByteSink& sink) override {
    return inner_.read(instance, digest, offset, length, sink);
  }
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override {
    meddle_();
    return inner_.findMissing(instance, digests);
  }

 private:
  testing_support::MemoryBlobStore inner_;
  std::function<void()> meddle_;
};

TEST(Boundaries, OutputsThatAreNotWhatWasHashedAreNotUploaded) {
  const auto error = [](const std::function<void(const std::string&)>& meddle) {
    testing_support::TempDirectory directory;
    std::ofstream(directory / "a") << "first";
    std::ofstream(directory / "b") << "second";
    Meddling store([&] { meddle(directory.path()); });
    reapi::ActionResult result;
    const Status status = uploadOutputs(store, "default", directory.path(), "output", {}, &result);
    return status ? "" : status.error().message;
  };
  EXPECT_EQ(error([](const std::string&) {}), "");
  EXPECT_NE(error([](const std::string& dir) { std::ofstream(dir + "/a", std::ios::app) << "more"; }), "")
      << "bytes beyond the declared size";
  EXPECT_NE(error([](const std::string& dir) { std::filesystem::resize_file(dir + "/b", 3); }), "");
  EXPECT_NE(error([](const std::string& dir) { std::ofstream(dir + "/b") << "Second"; }), "");
  EXPECT_THAT(error([](const std::string& dir) { std::ofstream(dir + "/c") << "third"; }),
              HasSubstr("output c appeared after the action"));
  EXPECT_THAT(error([](const std::string& dir) { std::filesystem::remove(dir + "/b"); }),
              HasSubstr("an output vanished after the action"));
}

// A store whose first calls find it away, as under a coordinator that dies and comes back.
class Returning final : public storage::BlobStore {
 public:
  explicit Returning(int away) : away_(away) {}
  Result<std::unique_ptr<storage::BlobWriter>> beginWrite(const std::string& instance,
                                                          const Digest& digest) override {
    if (away_-- > 0) return fail(Code::kUnavailable, "away");
    return inner.beginWrite(instance, digest);
  }
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const storage::ByteSink& sink) override {
    return inner.read(instance, digest, offset, length, sink);
  }
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override {
    return inner.findMissing(instance, digests);
  }
  testing_support::MemoryBlobStore inner;

 private:
  int away_;
};

TEST(Boundaries, AnUploadThatBreaksOffIsTriedAgain) {
  testing_support::TempDirectory directory;
  std::ofstream(directory / "a") << "first";
  std::ofstream(directory / "b") << "second";
  const std::string log(100 << 10, 'x');
  Returning store(2), loggedTo(1), gone(100);
  reapi::ActionResult result;
  ASSERT_TRUE(uploadOutputs(store, "default", directory.path(), "output", {}, &result));
  EXPECT_EQ(result.output_files_size(), 2) << "each file once";
  EXPECT_TRUE(storage::hasBlob(store, "default", digestOf("first")).value());
  EXPECT_TRUE(storage::hasBlob(store, "default", digestOf("second")).value());
  ASSERT_TRUE(uploadLogs(loggedTo, "default", log, "", &result));
  EXPECT_TRUE(storage::hasBlob(loggedTo, "default", digestOf(log)).value());
  EXPECT_EQ(uploadLogs(gone, "default", log, "", &result).error().code, Code::kUnavailable) << "not for ever";
}

}  // namespace
}  // namespace kiln::executor
