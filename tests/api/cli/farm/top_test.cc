// `kiln top`: once, as JSON, and live on a terminal.
#include <gtest/gtest.h>
#include <sys/ioctl.h>

#include <chrono>
#include <csignal>

#include "manifest/base/file.h"
#include "manifest/json/json.h"
#include "tests/api/cli/kiln_process.h"
#include "tests/api/support/fake_farm.h"

namespace kiln {
namespace {

using testing_support::runKiln;

struct KilnTop : testing::Test {
  testing_support::TempDirectory directory;
  std::unique_ptr<storage::LocalBlobStore> store =
      std::move(*storage::LocalBlobStore::open({.directory = directory / "store"}));
  testing_support::FakeFarm farm{*store};

  void SetUp() override {
    farm.script.queue.set_instance("default");
    v1::Queue::Kind& kind = *farm.script.queue.add_kinds();
    kind.set_kind(v1::ACTION_CHECK);
    kind.set_queued(12345);
    farm.script.workers.add_workers()->mutable_description()->set_name("w1");
    v1::Job failed = testing_support::jobIn(v1::JOB_FAILED, 1);
    failed.mutable_error()->set_message("it has no outputs");
    farm.script.jobs = {testing_support::jobIn(v1::JOB_SUCCEEDED, 2), failed};
  }
  testing_support::KilnResult kiln(const std::vector<std::string>& arguments,
                                   const testing_support::KilnStreams& streams = {}) {
    return runKiln(arguments, {{"KILN_ENDPOINT", farm.endpoint()}}, directory.path(), streams);
  }
};

TEST_F(KilnTop, LooksOnceWhereStdoutIsNoTerminal) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"top"}, std::vector<std::string>{"top", "--once"}}) {
    const auto result = kiln(arguments);
    EXPECT_EQ(result.exit, 0) << result.err;
    EXPECT_NE(result.out.find("check   12345"), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("it has no outputs"), std::string::npos) << result.out;
    EXPECT_EQ(result.out.find('\x1b'), std::string::npos) << result.out;
  }
}

TEST_F(KilnTop, AsJson) {
  const auto result = kiln({"top", "--json"});
  EXPECT_EQ(result.exit, 0) << result.err;
  const auto json = parseJson(result.out);
  ASSERT_TRUE(json) << result.out;
  EXPECT_EQ(json->at("queues").at(0).at("kinds").at(0).at("queued"), 12345);
  EXPECT_EQ(json->at("workers").at(0).at("name"), "w1");
  ASSERT_EQ(json->at("failures").size(), 1u);
  EXPECT_EQ(json->at("failures").at(0).at("message"), "it has no outputs");
}

TEST_F(KilnTop, TheWholeFarmIsForWhomTheFarmLets) {
  EXPECT_EQ(kiln({"top", "--farm"}).exit, 8);
  farm.script.queues.emplace();
  *farm.script.queues->add_queues() = farm.script.queue;
  farm.script.queues->add_queues()->set_instance("team-b");
  const auto result = kiln({"top", "--farm"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_NE(result.out.find("team-b"), std::string::npos) << result.out;
  EXPECT_EQ(kiln({"top", "--interval", "0s"}).exit, 2);
}

TEST_F(KilnTop, IsLiveOnATerminal) {
  const UniqueFd terminal(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_TRUE(terminal && ::grantpt(terminal.get()) == 0 && ::unlockpt(terminal.get()) == 0);
  const winsize size{.ws_row = 12, .ws_col = 50, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(::ioctl(terminal.get(), TIOCSWINSZ, &size), 0);
  const std::string name = ::ptsname(terminal.get());
  std::string shown;
  const auto result =
      kiln({"top", "--interval", "1s"},
           {.out = "/dev/null",
            .err = "",
            .running =
                [&](pid_t child) {
                  // Until it has drawn twice; the end of the terminal, or of the test's patience, fails it.
                  char buffer[4096];
                  while (shown.find("\x1b[H", shown.find("\x1b[H") + 1) == std::string::npos) {
                    const ssize_t got = ::read(terminal.get(), buffer, sizeof buffer);
                    if (got <= 0) break;
                    shown.append(buffer, static_cast<std::size_t>(got));
                  }
                  ::kill(child, SIGTERM);
                },
            .starting = [&] { ::dup2(::open(name.c_str(), O_RDWR | O_NOCTTY), 1); }});
  EXPECT_EQ(result.exit, 128 + SIGTERM) << result.err;
  EXPECT_NE(shown.find("12345"), std::string::npos) << shown;
  const std::string first = shown.substr(shown.find("\x1b[H"), shown.find("\x1b[J") - shown.find("\x1b[H"));
  EXPECT_LT(std::count(first.begin(), first.end(), '\n'), 12) << first;
}

}  // namespace
}  // namespace kiln
