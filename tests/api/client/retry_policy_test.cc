// A client that retries in front of a farm that is away, comes back, or asks to try again.
#include "api/client/retry_policy.h"

#include <gtest/gtest.h>

#include <thread>

#include "api/client/client.h"
#include "api/client/retrying_blob_store.h"
#include "tests/api/support/fake_farm.h"

namespace kiln::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing_support::jobIn;

const Error kAway{Code::kUnavailable, "away", {}};

// What a RetryPolicy told its listener.
struct Told {
  std::vector<std::string> waits;
  int answers = 0;
  RetryPolicy::Listener listener() {
    return {[this](const Error& why) { waits.push_back(why.message); }, [this] { ++answers; }};
  }
};

// Fails with each error in turn, then succeeds.
struct Flaky {
  std::vector<Error> errors;
  int calls = 0;
  Result<int> operator()() {
    const auto at = static_cast<std::size_t>(calls++);
    if (at < errors.size()) return fail(errors[at]);
    return 42;
  }
};

TEST(RetryPolicy, TriesAgainUntilTheFarmAnswersAndTellsEachReasonOnce) {
  Told told;
  Flaky flaky{{kAway, kAway, {Code::kUnavailable, "only just started", {}}}};
  const auto result = RetryPolicy(seconds(30), told.listener())([&] { return flaky(); });
  EXPECT_EQ(result.value_or(0), 42);
  EXPECT_EQ(flaky.calls, 4);
  EXPECT_EQ(told.waits, (std::vector<std::string>{"away", "only just started"}));
  EXPECT_EQ(told.answers, 1);
}

TEST(RetryPolicy, TellsAReasonOnceThatManyCallsMeet) {
  Told told;
  const RetryPolicy policy(seconds(30), told.listener());
  const auto call = [&](int refusals) {
    Flaky flaky{std::vector<Error>(static_cast<std::size_t>(refusals), kAway)};
    EXPECT_EQ(policy([&] { return flaky(); }).value_or(0), 42);
  };
  for (int i = 0; i < 4; ++i) call(1);
  EXPECT_EQ(told.waits, std::vector<std::string>{"away"});
  EXPECT_EQ(told.answers, 1) << "of the wait that was told";
  call(3);
  EXPECT_EQ(told.waits, (std::vector<std::string>{"away", "away"})) << "this one does not end soon";
  EXPECT_EQ(told.answers, 2);
}

TEST(RetryPolicy, TellsEachWaitForAQuota) {
  Told told;
  const RetryPolicy policy(seconds(30), told.listener());
  for (int i = 0; i < 2; ++i) {
    Flaky flaky{{{Code::kResourceExhausted, "full", R"({"retryAfterSeconds":1})"}}};
    EXPECT_EQ(policy([&] { return flaky(); }).value_or(0), 42);
  }
  EXPECT_EQ(told.waits, (std::vector<std::string>{"full", "full"})) << "it may last for an hour";
}

TEST(RetryPolicy, WaitsForAQuotaAsLongAsTheFarmSaysWithinItsLimit) {
  const Error full{Code::kResourceExhausted, "full", R"({"exitCode":7,"retryAfterSeconds":1})"};
  Flaky flaky{{full}};
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(RetryPolicy(seconds(30), {})([&] { return flaky(); }).value_or(0), 42);
  EXPECT_GE(std::chrono::steady_clock::now() - start, seconds(1));

  Flaky longer{{full, full}};
  const auto result = RetryPolicy(milliseconds(20), {})([&] { return longer(); });
  ASSERT_FALSE(result);
  EXPECT_EQ(longer.calls, 2) << "at the end of its time it asks once more";

  for (const char* details :
       {"", "{}", "[]", R"({"retryAfterSeconds":"1"})", R"({"retryAfterSeconds":1.5})"}) {
    Flaky final{{{Code::kResourceExhausted, "full", details}}};
    EXPECT_FALSE(RetryPolicy(seconds(30), {})([&] { return final(); }));
    EXPECT_EQ(final.calls, 1) << details;
  }
}

TEST(RetryPolicy, AnAnswerThatIsFinalEndsTheWait) {
  for (const Code code :
       {Code::kNotFound, Code::kPermissionDenied, Code::kInternal, Code::kResourceExhausted}) {
    Told told;
    Flaky flaky{{kAway, {code, "no", {}}}};
    const auto result = RetryPolicy(seconds(30), told.listener())([&] { return flaky(); });
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, code);
    EXPECT_EQ(result.error().message, "no");
    EXPECT_EQ(flaky.calls, 2);
    EXPECT_EQ(told.answers, 1) << "it answers again, with a refusal";
  }
}

TEST(RetryPolicy, WithoutAnyTheFirstFailureIsFinal) {
  Told told;
  Flaky flaky{{kAway}};
  const auto result = RetryPolicy(milliseconds(0), told.listener())([&] { return flaky(); });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "away");
  EXPECT_EQ(flaky.calls, 1);
  EXPECT_TRUE(told.waits.empty());
}

TEST(RetryPolicy, GivesUpAtItsLimitAndSaysHowLongItTried) {
  const auto start = std::chrono::steady_clock::now();
  int calls = 0;
  const auto result = RetryPolicy(seconds(1), {})([&]() -> Status { return ++calls, fail(kAway); });
  const auto took = std::chrono::steady_clock::now() - start;
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kUnavailable);
  EXPECT_EQ(result.error().message, "away; tried for 1 s");
  EXPECT_GE(took, seconds(1));
  EXPECT_GT(calls, 2) << "one of them at the end";
}

TEST(RetryPolicy, CountsFromTheLastAnswer) {
  const RetryPolicy policy(milliseconds(250), {});
  RetryPolicy::Attempts attempts(policy);
  for (int round = 0; round < 3; ++round) {
    Error error = kAway;
    EXPECT_TRUE(attempts.again(error)) << round;
    attempts.answered();
  }
}

// Serves a blob in pieces and breaks off after as many as `script` says, read by read.
class BreakingStore final : public storage::BlobStore {
 public:
  std::string bytes;
  std::vector<std::size_t> script;  // pieces before the break; at its end: none breaks
  std::size_t piece = 10;
  std::vector<std::uint64_t> offsets;  // of the reads

  Status read(const std::string&, const Digest&, std::uint64_t offset, std::uint64_t length,
              const storage::ByteSink& sink) override {
    const std::size_t turn = offsets.size();
    offsets.push_back(offset);
    const std::string part = bytes.substr(offset, length == 0 ? std::string::npos : length);
    for (std::size_t at = 0, n = 0; at < part.size(); at += piece, ++n) {
      if (turn < script.size() && n == script[turn]) return fail(kAway);
      KILN_TRY(sink(asBytes(std::string_view(part).substr(at, piece))));
    }
    return {};
  }
  Result<std::unique_ptr<storage::BlobWriter>> beginWrite(const std::string&, const Digest&) override {
    return fail(Code::kUnimplemented, "");
  }
  Result<std::vector<Digest>> findMissing(const std::string&, std::span<const Digest> digests) override {
    if (!script.empty() && script.back()-- > 0) return fail(kAway);
    return std::vector<Digest>(digests.begin(), digests.end());
  }
};

struct RetriedReads : testing::Test {
  BreakingStore base;
  RetryPolicy policy{seconds(30), {}};
  RetryingBlobStore store{base, policy, [](Error error) { return error; }};
  std::string text = [] {
    std::string made;
    for (int i = 0; i < 20; ++i) made += std::to_string(1000000000 + i);
    return made;
  }();
  std::string got;

  Status read(std::uint64_t offset = 0, std::uint64_t length = 0) {
    return store.read("default", digestOf(text), offset, length, [&](Bytes bytes) -> Status {
      got.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return {};
    });
  }
};

TEST_F(RetriedReads, GoOnWhereTheyWereCutOff) {
  base.bytes = text;
  base.script = {3, 0, 4};
  ASSERT_TRUE(read());
  EXPECT_EQ(got, text);
  EXPECT_EQ(base.offsets, (std::vector<std::uint64_t>{0, 30, 30, 70}));
}

TEST_F(RetriedReads, ARangeIsResumedWithinIt) {
  base.bytes = text;
  base.script = {2};
  ASSERT_TRUE(read(50, 40));
  EXPECT_EQ(got, text.substr(50, 40));
  EXPECT_EQ(base.offsets, (std::vector<std::uint64_t>{50, 70}));
}

// Each answer is plausible for itself; together they are no blob.
TEST_F(RetriedReads, TwoAnswersAreNotPatchedIntoABlob) {
  base.bytes = std::string(text.size(), 'x');
  base.script = {3};
  const Status status = read();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kDataLoss);
  EXPECT_LT(got.size(), text.size()) << "the last bytes never leave";
}

TEST_F(RetriedReads, TheReceiversOwnErrorIsFinal) {
  base.bytes = text;
  int calls = 0;
  const Status status = store.read("default", digestOf(text), 0, 0, [&](Bytes) -> Status {
    ++calls;
    return fail(Code::kUnavailable, "the receiver's");
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "the receiver's");
  EXPECT_EQ(calls, 1);
}

// What a farm sends that lies: a part of the blob, and then again and again what brings nothing, or hardly
// anything.
class DrippingStore final : public storage::BlobStore {
 public:
  std::string first, then;  // what the first read and the others get before they are cut off
  int reads = 0;

  Status read(const std::string&, const Digest&, std::uint64_t, std::uint64_t,
              const storage::ByteSink& sink) override {
    KILN_TRY(sink(asBytes(std::string_view(reads++ == 0 ? first : then))));
    return fail(kAway);
  }
  Result<std::unique_ptr<storage::BlobWriter>> beginWrite(const std::string&, const Digest&) override {
    return fail(Code::kUnimplemented, "");
  }
  Result<std::vector<Digest>> findMissing(const std::string&, std::span<const Digest>) override {
    return fail(Code::kUnimplemented, "");
  }
};

TEST(RetriedRead, OnlyNewBytesEndAWaitAndDropsOfThemDoNotMakeItEndless) {
  for (const std::string then : {"", "x"}) {
    Told told;
    const RetryPolicy policy(milliseconds(300), told.listener());
    DrippingStore base;
    base.first = "ab";
    base.then = then;
    RetryingBlobStore store(base, policy, [](Error error) { return error; });
    Digest blob = digestOf("blob");
    blob.size = 200;
    const Status status = store.read("default", blob, 0, 0, [](Bytes) { return Status(); });
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kUnavailable);
    EXPECT_LT(base.reads, 20) << "of 200 that would bring a byte each";
    if (then.empty()) EXPECT_EQ(told.answers, 0) << "an empty message is no answer";
  }
}

TEST_F(RetriedReads, FindMissingIsAskedAgain) {
  base.script = {2};
  const Digest digest = digestOf(text);
  const auto missing = store.findMissing("default", {&digest, 1});
  ASSERT_TRUE(missing) << missing.error().message;
  EXPECT_EQ(missing->size(), 1u);
}

// Every call that may be repeated, with the farm away when it is made.
struct RetryingClient : testing::Test {
  testing_support::TempDirectory directory;
  std::unique_ptr<storage::LocalBlobStore> blobs =
      std::move(*storage::LocalBlobStore::open({.directory = directory / "store"}));
  testing_support::FakeFarm farm{*blobs};
  std::vector<std::string> waits;  // what was told
  std::unique_ptr<Client> client = connect();
  std::thread back;  // starts the farm once the client waits

  std::unique_ptr<Client> connect() {
    ClientOptions options;
    options.endpoint = farm.endpoint();
    options.retryTimeout = seconds(30);
    options.waiting.waits = [this](const Error& why) {
      waits.push_back(why.message);
      if (!back.joinable()) back = std::thread([this] { farm.start(); });
    };
    return std::move(*Client::open(std::move(options)));
  }
  // A client to which each wait is news, of a farm that it has known.
  void farmGoes() {
    client = connect();
    EXPECT_TRUE(client->ping());
    farm.stop();
    waits.clear();
  }
  void TearDown() override {
    if (back.joinable()) back.join();
  }
  void comesBack(const char* what, const std::function<Status()>& call) {
    farmGoes();
    const Status done = call();
    EXPECT_TRUE(done) << what << ": " << done.error().message;
    ASSERT_FALSE(waits.empty()) << what;
    EXPECT_NE(waits[0].find("not reachable"), std::string::npos) << waits[0];
    if (back.joinable()) back.join();
  }
};

TEST_F(RetryingClient, RidesOutARestart) {
  farm.script.jobs = {jobIn(v1::JOB_SUCCEEDED, 1)};
  farm.script.watch = farm.script.jobs;
  const Digest digest = *storage::putBlob(*blobs, "default", asBytes("kept"));
  *farm.script.artifacts["sha256:a"].mutable_manifest()->mutable_hash() = "x";
  const auto status = [](const auto& result) { return result ? Status{} : Status(fail(result.error())); };
  comesBack("jobs", [&] { return status(client->jobs(1)); });
  comesBack("job", [&] { return status(client->job("job-1")); });
  comesBack("submit", [&] { return status(client->submit({})); });
  comesBack("watch", [&] { return status(client->watch("job-1", [](const v1::Job&) { return Status{}; })); });
  comesBack("cancel", [&] { return status(client->cancel("job-1")); });
  comesBack("artifact", [&] { return status(client->artifact("sha256:a")); });
  comesBack("workers", [&] { return status(client->workers()); });
  comesBack("toolchains", [&] { return status(client->toolchains()); });
  comesBack("read", [&] { return status(storage::getBlob(client->blobs(), "default", digest, 100)); });
  const std::vector<storage::UploadItem> items{{digestOf("new"), {}, "new"}};
  comesBack("upload", [&] { return status(client->upload(items)); });
  EXPECT_TRUE(blobs->findMissing("default", {&items[0].digest, 1})->empty());
}

TEST_F(RetryingClient, ARepeatedSubmitKeepsItsKeySoThatTheFarmFindsTheJob) {
  int refusals = 2;
  farm.script.submit = [&](const v1::SubmitJobRequest&, v1::Job* job) {
    if (refusals-- > 0) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "only just started");
    *job = jobIn(v1::JOB_QUEUED, 1);
    return grpc::Status::OK;
  };
  back = std::thread([] {});
  v1::SubmitJobRequest request;
  request.set_idempotency_key("k");
  ASSERT_TRUE(client->submit(request));
  ASSERT_EQ(farm.script.submitted.size(), 3u);
  for (const auto& each : farm.script.submitted) EXPECT_EQ(each.idempotency_key(), "k");
  EXPECT_EQ(waits, std::vector<std::string>{"only just started"});
}

// The farm that comes back does not serve all of these, and says so of what it was sent.
TEST_F(RetryingClient, WhatMustNotHappenTwiceWaitsUntilItCanBeSent) {
  const auto isSent = [this](const char* what, const auto& call) {
    farmGoes();
    const auto done = call();
    EXPECT_TRUE(done || done.error().code == Code::kUnimplemented) << what;
    EXPECT_FALSE(waits.empty()) << what;
    if (back.joinable()) back.join();
  };
  isSent("tombstone", [&] { return client->addTombstone("sha256:a", "r"); });
  isSent("recalls", [&] { return client->publishRecalls("{}"); });
  isSent("attestation", [&] { return client->addAttestation(digestOf("a"), "{}"); });
}

}  // namespace
}  // namespace kiln::client
