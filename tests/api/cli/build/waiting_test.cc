// Commands whose farm is away: they say so, and go on when it is back, as long as --wait lets them.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "storage/tree/digest_proto.h"
#include "tests/api/cli/kiln_process.h"
#include "tests/api/client/onnx_bytes.h"
#include "tests/api/node/lying_store.h"
#include "tests/api/node/signed_artifact.h"
#include "tests/api/support/fake_farm.h"

namespace kiln {
namespace {

using testing_support::jobIn;
using testing_support::runKiln;
using Words = std::vector<std::string>;

struct KilnWaits : testing::Test {
  testing_support::SignedArtifact artifact;
  testing_support::FakeFarm farm{artifact.farm.store};
  testing_support::TempDirectory directory;
  const std::string hash = artifact.farm.artifact.text();
  std::string said;  // on standard error by the last command that comesBack() ran

  void SetUp() override {
    artifact.writeTrust(directory.path());
    std::ofstream(directory / "model.onnx") << testing_support::emptyModel();
    v1::Artifact row;
    row.set_digest(hash);
    *row.mutable_manifest() = toProto(artifact.ref.artifact);
    *row.add_bundles() = toProto(artifact.ref.bundles[0]);
    farm.script.artifacts[hash] = row;
    farm.script.watch = {jobIn(v1::JOB_RUNNING, 1), jobIn(v1::JOB_SUCCEEDED, 2)};
    farm.script.jobs = {farm.script.watch.back()};
  }
  testing_support::KilnResult kiln(const Words& words, std::map<std::string, std::string> more = {},
                                   const testing_support::KilnStreams& streams = {}) {
    more.emplace("KILN_ENDPOINT", farm.endpoint());
    // The artifact of the script's job is in no index, so nothing about it can be verified.
    if (words.front() != "watch") more.emplace("KILN_TRUST_ROOT", directory / "root.json");
    more.emplace("KILN_POLICY", directory / "policy.json");
    return runKiln(words, more, directory.path(), streams);
  }
  // Waits until it holds, or half a minute: a command that never gets there is the test's failure.
  static void await(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!holds() && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::string read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  // Runs the command against a farm that is away and starts it once the command has said that it waits.
  testing_support::KilnResult comesBack(const Words& words) {
    farm.stop();
    const std::string err = directory / "err";
    std::ofstream(err, std::ios::trunc).close();
    std::atomic<bool> ended = false;
    std::thread starter([&] {
      await([&] { return ended || read(err).find("waiting") != std::string::npos; });
      farm.start();
    });
    auto result = kiln(words, {}, {.err = err});
    ended = true;
    starter.join();
    said = read(err);
    return result;
  }
};

TEST_F(KilnWaits, ForAFarmThatComesBack) {
  for (const Words& words : {Words{"jobs"}, Words{"jobs", "job-1", "--json"}, Words{"watch", "job-1"},
                             Words{"cancel", "job-1"}, Words{"fetch", hash, "--out", "model"},
                             Words{"build", "model.onnx", "--target", "cpu:x86-64-v3", "--detach"},
                             Words{"workers", "--wait", "1m"}}) {
    const auto result = comesBack(words);
    EXPECT_EQ(result.exit, 0) << words[0] << said;
    const std::string limit = words[0] == "workers" ? "1m" : "2m";
    EXPECT_NE(said.find("kiln: waiting up to " + limit + " for the farm (--wait): "), std::string::npos)
        << words[0] << said;
    EXPECT_NE(said.find(farm.endpoint()), std::string::npos) << "says what it waits for: " << said;
    EXPECT_NE(said.find("kiln: the farm answers again\n"), std::string::npos) << said;
  }
}

TEST_F(KilnWaits, InEveryCommandThatReachesTheFarm) {
  farm.stop();
  ASSERT_TRUE(artifact.farm.key.save(directory / "key.pem"));
  std::filesystem::create_directory(directory / "tree");
  std::ofstream(directory / "tree/toolchain.json") << R"({"label":"a-toolchain"})";
  std::ofstream(directory / "sbom.json") << "{}";
  for (const Words& words :
       {Words{"jobs"},
        Words{"cancel", "job-1"},
        Words{"logs", "job-1"},
        Words{"workers"},
        Words{"gc"},
        Words{"gc", "--tombstone", hash, "--reason", "r"},
        Words{"toolchain", "list"},
        Words{"toolchain", "add", "tree"},
        Words{"fetch", hash},
        Words{"verify", hash},
        Words{"show", hash},
        Words{"provenance", hash},
        Words{"affected", "--worker", "w"},
        Words{"audit"},
        Words{"export", hash, "--oci", "oci"},
        Words{"rebuild", hash},
        Words{"diff", hash, hash},
        Words{"warmup", hash},
        Words{"check", hash},
        Words{"log", "prove", hash},
        Words{"attest", hash, "--type", "urn:t", "--predicate", "sbom.json", "--key", "key.pem"},
        Words{"recall", "--worker", "w", "--reason", "r", "--dry-run"}}) {
    Words retrying = words;
    retrying.insert(retrying.end(), {"--wait", "1s"});
    const auto result = kiln(retrying);
    EXPECT_EQ(result.exit, 7) << testing::PrintToString(words) << result.err;
    EXPECT_NE(result.err.find("kiln: waiting up to 1s for the farm (--wait): "), std::string::npos)
        << testing::PrintToString(words) << result.err;
    EXPECT_NE(result.err.find("tried for 1 s"), std::string::npos)
        << testing::PrintToString(words) << result.err;
  }
}

// Whoever sets a farm up adds a toolchain as the first thing, while the coordinator still waits for its
// database.
TEST_F(KilnWaits, WithAToolchainForACoordinatorWhoseDatabaseIsNotReady) {
  std::filesystem::create_directory(directory / "tree");
  std::ofstream(directory / "tree/toolchain.json") << R"({"label":"a-toolchain"})";
  const Words add{"toolchain", "add", "tree"};
  auto result = comesBack(add);
  EXPECT_EQ(result.exit, 0) << said;
  EXPECT_NE(said.find("kiln: waiting up to 2m for the farm (--wait): "), std::string::npos) << said;
  farm.script.unreadyToolchainCalls = 2;
  result = kiln(add);
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_NE(result.err.find("not ready yet"), std::string::npos) << result.err;
  farm.script.unreadyToolchainCalls = 1000;
  result = kiln({"toolchain", "add", "tree", "--wait", "1s"});
  EXPECT_EQ(result.exit, 7) << result.err;
  EXPECT_NE(result.err.find("tried for 1 s"), std::string::npos) << result.err;
}

TEST_F(KilnWaits, ForACoordinatorThatHasOnlyJustStarted) {
  int refusals = 2;
  farm.script.submit = [&](const v1::SubmitJobRequest&, v1::Job* job) {
    if (refusals-- > 0)
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the coordinator has only just started");
    *job = jobIn(v1::JOB_QUEUED, 1);
    return grpc::Status::OK;
  };
  const auto built = kiln({"build", "model.onnx", "--target", "cpu:x86-64-v3", "--detach"});
  EXPECT_EQ(built.exit, 0) << built.err;
  EXPECT_NE(built.err.find("only just started"), std::string::npos) << built.err;
  ASSERT_EQ(farm.script.submitted.size(), 3u);
  EXPECT_EQ(farm.script.submitted[2].idempotency_key(), farm.script.submitted[0].idempotency_key());
}

// Ctrl-C ends the command and not the job, and says so. FakeFarm's job never ends.
TEST_F(KilnWaits, AnInterruptSaysWhatGoesOn) {
  farm.script.watch = {jobIn(v1::JOB_RUNNING, 1)};
  const std::string err = directory / "err";
  for (const Words& words :
       {Words{"watch", "job-1"}, Words{"build", "model.onnx", "--target", "cpu:x86-64-v3"},
        Words{"build", "model.onnx", "--target", "cpu:x86-64-v3", "--json"}}) {
    for (const int signal : {SIGINT, SIGTERM}) {
      std::ofstream(err, std::ios::trunc).close();
      const bool json = words.back() == "--json";
      const auto submitted = farm.script.submitted.size();
      const auto result = kiln(words, {}, {.err = err, .running = [&](pid_t pid) {
                                             await([&] {
                                               const std::lock_guard lock(farm.script.mutex);
                                               return json ? farm.script.submitted.size() > submitted
                                                           : read(err).find("running") != std::string::npos;
                                             });
                                             ::kill(pid, signal);
                                           }});
      EXPECT_EQ(result.exit, 128 + signal) << words[0];
      EXPECT_NE(read(err).find("kiln: interrupted; "), std::string::npos) << read(err);
      if (json) continue;  // the answer may still be on its way
      EXPECT_NE(
          read(err).find("job job-1 goes on at the farm: follow it with kiln watch job-1, or end it with "
                         "kiln cancel job-1\n"),
          std::string::npos)
          << read(err);
    }
  }
}

// Whoever asks twice does not wait for anything: here, for somebody who reads what the first has to say.
TEST_F(KilnWaits, ASecondInterruptEndsItAtOnce) {
  farm.script.watch = {jobIn(v1::JOB_RUNNING, 1)};
  const std::string err = directory / "err";
  ASSERT_EQ(::mkfifo(err.c_str(), 0600), 0);
  const UniqueFd unread = openFile(err, O_RDWR | O_NONBLOCK, 0, err).value();
  while (::write(unread.get(), "x", 1) == 1) {
  }
  const auto result =
      kiln({"build", "model.onnx", "--target", "cpu:x86-64-v3", "--json"}, {},
           {.err = err, .running = [&](pid_t pid) {
              await([&] {
                const std::lock_guard lock(farm.script.mutex);
                return !farm.script.submitted.empty();
              });
              siginfo_t ended{};
              await([&] {
                ::kill(pid, SIGINT);
                return ::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                       ended.si_pid == pid;
              });
              ::kill(pid, SIGKILL);
            }});
  EXPECT_EQ(result.exit, 128 + SIGINT);
}

TEST_F(KilnWaits, AnInterruptBeforeTheJobSaysThatThereIsNone) {
  farm.stop();
  const std::string err = directory / "err";
  std::ofstream(err).close();
  const auto result = kiln({"build", "model.onnx", "--target", "cpu:x86-64-v3"}, {},
                           {.err = err, .running = [&](pid_t pid) {
                              await([&] { return read(err).find("waiting") != std::string::npos; });
                              ::kill(pid, SIGINT);
                            }});
  EXPECT_EQ(result.exit, 128 + SIGINT);
  EXPECT_NE(read(err).find("interrupted; nothing was submitted"), std::string::npos) << read(err);
}

// A farm whose blob store stops answering in the middle of a fetch.
struct KilnInterrupted : testing::Test {
  testing_support::SignedArtifact artifact;
  testing_support::LyingStore store{artifact.farm.store};
  testing_support::FakeFarm farm{store};
  testing_support::TempDirectory directory;

  void SetUp() override {
    artifact.writeTrust(directory.path());
    v1::Artifact row;
    row.set_digest(artifact.farm.artifact.text());
    *row.mutable_manifest() = toProto(artifact.ref.artifact);
    *row.add_bundles() = toProto(artifact.ref.bundles[0]);
    farm.script.artifacts[row.digest()] = row;
    store.about = artifact.farm.manifest.program.digest;
    store.lie = testing_support::Lie::kFail;
  }
  std::vector<std::string> partial() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
      if (entry.path().filename().string().find(".partial-") != std::string::npos)
        names.push_back(entry.path().filename());
    return names;
  }
};

TEST_F(KilnInterrupted, LeavesNothingHalfMade) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string err = directory / "err";
    std::ofstream(err, std::ios::trunc).close();
    bool wasThere = false;
    const auto result = runKiln({"fetch", artifact.farm.artifact.text(), "--out", "model"},
                                {{"KILN_ENDPOINT", farm.endpoint()},
                                 {"KILN_TRUST_ROOT", directory / "root.json"},
                                 {"KILN_POLICY", directory / "policy.json"}},
                                directory.path(),
                                {.err = err,
                                 .running =
                                     [&](pid_t pid) {
                                       KilnWaits::await([&] {
                                         std::ostringstream text;
                                         text << std::ifstream(err).rdbuf();
                                         return text.str().find("waiting") != std::string::npos;
                                       });
                                       wasThere = !partial().empty();
                                       ::kill(pid, signal);
                                     },
                                 .starting = [&] { std::signal(signal, SIG_DFL); }});
    EXPECT_EQ(result.exit, 128 + signal);
    EXPECT_TRUE(wasThere) << "the test looks for the wrong name";
    EXPECT_EQ(partial(), std::vector<std::string>{}) << signal;
    EXPECT_FALSE(std::filesystem::exists(directory / "model"));
  }
}

TEST_F(KilnWaits, AsLongAsItIsTold) {
  farm.stop();
  using Clock = std::chrono::steady_clock;
  const auto took = [&](const Words& words, std::map<std::string, std::string> more) {
    const auto start = Clock::now();
    const auto result = kiln(words, std::move(more));
    EXPECT_EQ(result.exit, 7) << result.err;
    const bool waited = result.err.find("waiting up to") != std::string::npos;
    return std::pair(Clock::now() - start, waited);
  };
  EXPECT_FALSE(took({"jobs", "--wait", "0s"}, {}).second);
  EXPECT_FALSE(took({"jobs"}, {{"KILN_WAIT", "0s"}}).second);
  EXPECT_FALSE(took({"jobs", "--wait", "0s"}, {{"KILN_WAIT", "5m"}}).second) << "the option comes first";
  EXPECT_FALSE(took({"workers"}, {}).second) << "nothing goes on that it would miss";
  const auto [time, waited] = took({"workers"}, {{"KILN_WAIT", "2s"}});
  EXPECT_TRUE(waited);
  EXPECT_GE(time, std::chrono::seconds(2));
  for (const char* wrong : {"soon", "-1s", "5", "1w"})
    EXPECT_EQ(kiln({"jobs", std::string("--wait=") + wrong}).exit, 2) << wrong;
}

}  // namespace
}  // namespace kiln
