// How commands end badly: one code per class of failure, one line of error, JSON where it was asked for.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "api/client/client.h"
#include "manifest/json/json.h"
#include "tests/api/cli/kiln_process.h"
#include "tests/api/client/onnx_bytes.h"
#include "tests/api/support/fake_farm.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;
using testing_support::jobIn;
using testing_support::runKiln;
using Words = std::vector<std::string>;

struct KilnErrors : testing::Test {
  testing_support::TempDirectory directory;
  std::unique_ptr<storage::LocalBlobStore> store =
      std::move(*storage::LocalBlobStore::open({.directory = directory / "store"}));
  testing_support::FakeFarm farm{*store};

  void SetUp() override { std::ofstream(directory / "model.onnx") << testing_support::emptyModel(); }
  testing_support::KilnResult kiln(const Words& words, std::map<std::string, std::string> more = {}) {
    more.emplace("KILN_ENDPOINT", farm.endpoint());
    return runKiln(words, more, directory.path());
  }
  testing_support::KilnResult build(const Words& more) {
    Words words{"build", "model.onnx"};
    words.insert(words.end(), more.begin(), more.end());
    return kiln(words);
  }
};

TEST_F(KilnErrors, AreJsonWhereItWasAskedForAlsoBeforeTheCommandIsKnown) {
  for (const Words& words : {Words{"--json"}, Words{"bake", "--json"}, Words{"--json", "bake"},
                             Words{"jobs", "--nonsense", "--json"}, Words{"jobs", "--json", "--limit", "x"},
                             Words{"build", "--json"}, Words{"toolchain", "--json", "lst"}}) {
    const auto result = kiln(words);
    EXPECT_EQ(result.exit, 2) << testing::PrintToString(words);
    const auto parsed = parseJson(result.out);
    ASSERT_TRUE(parsed) << testing::PrintToString(words) << result.out << result.err;
    EXPECT_EQ(parsed->at("error").at("code"), "INVALID_ARGUMENT");
    EXPECT_NE(parsed->at("error").at("message"), "");
    EXPECT_EQ(result.err, "");
  }
  EXPECT_EQ(kiln({"bake"}).out, "") << "and nowhere else";
}

TEST_F(KilnErrors, MistypedNamesHaveANeighbour) {
  const auto asked = [&](const Words& words) { return kiln(words).err; };
  EXPECT_NE(asked({"biuld"}).find("biuld is not known; did you mean \"build\"? See kiln --help"),
            std::string::npos)
      << asked({"biuld"});
  EXPECT_NE(asked({"toolchain", "lst"}).find("did you mean \"list\"? See kiln toolchain --help"),
            std::string::npos)
      << asked({"toolchain", "lst"});
  EXPECT_NE(asked({"jobs", "--limt=3"}).find("--limt is not known; did you mean \"--limit\"?"),
            std::string::npos)
      << asked({"jobs", "--limt=3"});
  EXPECT_EQ(asked({"jobs", "--utterly"}).find("did you mean"), std::string::npos);
}

TEST_F(KilnErrors, HelpIsOfTheCommandThatIsNamed) {
  for (const Words& command : {Words{"build"}, Words{"toolchain", "add"}, Words{}}) {
    Words help{"help"}, flag = command;
    help.insert(help.end(), command.begin(), command.end());
    flag.push_back("--help");
    const auto asked = kiln(help);
    EXPECT_EQ(asked.exit, 0) << asked.err;
    EXPECT_EQ(asked.out, kiln(flag).out);
  }
  for (const Words& words : {Words{"help", "biuld"}, Words{"biuld", "--help"}}) {
    const auto refused = kiln(words);
    EXPECT_EQ(refused.exit, 2) << refused.out;
    EXPECT_NE(refused.err.find("biuld is not known; did you mean \"build\"? See kiln --help"),
              std::string::npos)
        << refused.err;
  }
}

TEST_F(KilnErrors, AMistypedOptionComesBeforeAWordTooMany) {
  const auto asked = [&](const Words& words) { return kiln(words).err; };
  EXPECT_NE(asked({"workers", "extra", "--endpont=x"}).find("--endpont is not known"), std::string::npos)
      << asked({"workers", "extra", "--endpont=x"});
  EXPECT_NE(asked({"workers", "extra"}).find("extra"), std::string::npos);
}

TEST_F(KilnErrors, WhatStandsBehindTwoDashesIsNoOption) {
  const auto result = kiln({"bake", "--", "--json"});
  EXPECT_EQ(result.exit, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("bake is not known"), std::string::npos) << result.err;
}

TEST_F(KilnErrors, WithoutACommandTheUsageIsAsked) {
  const auto nothing = kiln({});
  EXPECT_EQ(nothing.exit, 2);
  EXPECT_NE(nothing.err.find("see kiln --help"), std::string::npos) << nothing.err;
  const auto version = kiln({"--version"});
  EXPECT_EQ(version.exit, 0);
  EXPECT_EQ(version.out.rfind("kiln ", 0), 0u) << version.out;
}

// Only there can a line be drawn over.
TEST_F(KilnErrors, ProgressIsDrawnInPlaceOnATerminalAlone) {
  farm.script.watch = {jobIn(v1::JOB_QUEUED, 1), jobIn(v1::JOB_RUNNING, 2), jobIn(v1::JOB_CANCELLED, 3)};
  const Words words{"watch", "job-1"};
  EXPECT_EQ(kiln(words).err.find('\x1b'), std::string::npos);
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
  ASSERT_GE(master, 0);
  ASSERT_EQ(::grantpt(master), 0);
  ASSERT_EQ(::unlockpt(master), 0);
  const int held = ::open(::ptsname(master), O_RDWR | O_NOCTTY);  // what is written stays until it is read
  ASSERT_GE(held, 0);
  EXPECT_EQ(
      runKiln(words, {{"KILN_ENDPOINT", farm.endpoint()}}, directory.path(), {.err = ::ptsname(master)}).exit,
      11);
  std::string seen(65536, '\0');
  const auto got = ::read(master, seen.data(), seen.size());
  ASSERT_GT(got, 0);
  EXPECT_NE(seen.find("\x1b[2K"), std::string::npos) << seen.substr(0, static_cast<std::size_t>(got));
  ::close(held);
  ::close(master);
}

TEST_F(KilnErrors, ACancelledJobHasACodeOfItsOwn) {
  farm.script.watch = {jobIn(v1::JOB_CANCELLED, 2)};
  for (const Words& words :
       {Words{"watch", "job-1"}, Words{"build", "model.onnx", "--target", "cpu:x86-64-v3"}}) {
    const auto result = kiln(words);
    EXPECT_EQ(result.exit, 11) << words[0] << result.err;
    EXPECT_NE(result.err.find("job job-1 was cancelled"), std::string::npos) << result.err;
  }
  const auto json = kiln({"watch", "job-1", "--json"});
  EXPECT_EQ(json.exit, 11);
  EXPECT_EQ(parseJson(json.out)->at("error").at("code"), "CANCELLED") << json.out;
  EXPECT_NE(kiln({"--help"}).out.find("11 the job was cancelled"), std::string::npos);
}

TEST_F(KilnErrors, UnknownTargetsOfAnyFamilyAreUsageAndNothingIsSent) {
  for (const char* target : {"cpu:riscv64", "cpu:x86-64-v2", "cpu:aarch64-apple", "cuda:sm_10", "cuda:sm_90",
                             "vulkan:1.2", "tpu:4", "cpu:x86-64-v3,cuda:sm_10", "native"}) {
    const auto result = build({"--target", target});
    EXPECT_EQ(result.exit, 2) << target << result.err;
    if (std::string(target) != "native")
      EXPECT_NE(result.err.find("cpu:x86-64-v4"), std::string::npos)
          << "lists what is served: " << result.err;
  }
  const auto near = build({"--target", "cuda:sm_90"});
  EXPECT_NE(near.err.find("\"cuda:sm_90a\""), std::string::npos) << near.err;
  // Known ones that do not go together are something that nobody serves.
  EXPECT_EQ(build({"--target", "cuda:sm_80,cuda:sm_90a"}).exit, 4);
  EXPECT_TRUE(farm.script.submitted.empty());
  const Digest model = digestOf(testing_support::emptyModel());
  EXPECT_EQ(store->findMissing("default", {&model, 1})->size(), 1u) << "not even uploaded";
}

// Names are bytes; what the wire and JSON carry is UTF-8.
TEST_F(KilnErrors, NamesThatAreNotUtf8Work) {
  const std::string odd = "m\xff\xc3.onnx";
  std::ofstream(directory / odd) << testing_support::emptyModel();
  farm.script.watch = {jobIn(v1::JOB_QUEUED, 1)};
  for (const Words& more : {Words{}, Words{"--json"}}) {
    Words words{"build", odd, "--target", "cpu:x86-64-v3", "--detach"};
    words.insert(words.end(), more.begin(), more.end());
    const auto result = kiln(words);
    EXPECT_EQ(result.exit, 0) << result.err;
    ASSERT_FALSE(farm.script.submitted.empty());
    EXPECT_EQ(farm.script.submitted.back().sources(0).path(), "m??.onnx");
    const Digest model = digestOf(testing_support::emptyModel());
    EXPECT_EQ(farm.script.submitted.back().sources(0).blob().hash(), model.hex());
  }
  const auto missing = kiln({"build", "none\xff.onnx", "--target", "cpu:x86-64-v3", "--json"});
  EXPECT_EQ(missing.exit, 6);
  EXPECT_TRUE(parseJson(missing.out)) << missing.out;
}

TEST_F(KilnErrors, OneLineThenIndentedDetails) {
  farm.script.submit = [](const v1::SubmitJobRequest&, v1::Job*) {
    return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "not served:\nnode a\nnode b\n");
  };
  const auto result = build({"--target", "cpu:x86-64-v3"});
  EXPECT_EQ(result.exit, 4);
  EXPECT_NE(result.err.find("kiln: error: not served:\n  node a\n  node b\n"), std::string::npos)
      << result.err;
  EXPECT_TRUE(result.err.ends_with("node b\n")) << result.err;
}

// What is wrong with a file of the user's is no internal error, whatever the system calls it.
TEST_F(KilnErrors, FilesThatCannotBeWhatTheyAreGivenFor) {
  fs::create_directories(directory / "folder");
  const std::string loop = directory / "loop", longName(300, 'n');
  fs::create_symlink(loop, loop);
  for (const std::string& name : {std::string("folder"), std::string("model.onnx/x"), loop, longName}) {
    for (const Words& words :
         {Words{"build", name, "--target", "cpu:x86-64-v3"},
          Words{"build", "model.onnx", "--target", "cpu:x86-64-v3", "--check-plan", name},
          Words{"verify", name, "--trust-root", "model.onnx"},
          Words{"verify", "folder", "--trust-root", name}, Words{"trust", "show", name},
          Words{"toolchain", "add", name}, Words{"diff", name, name}}) {
      const auto result = kiln(words);
      EXPECT_NE(result.exit, 0) << testing::PrintToString(words);
      EXPECT_NE(result.exit, 1) << testing::PrintToString(words) << result.err;
      EXPECT_LT(result.exit, 128) << testing::PrintToString(words);
    }
  }
}

// Runs `body` as a user who owns nothing here; its return value, or -1 where that cannot be tried.
int asNobody(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(255);
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) != 255 ? WEXITSTATUS(status) : -1;
}

TEST_F(KilnErrors, ASocketOfAnotherUserIsDeniedAndNotWaitedFor) {
  ASSERT_EQ(::chmod(directory.path().c_str(), 0755), 0);
  const std::string socket = farm.endpoint().substr(5);
  for (const bool folder : {false, true}) {
    const std::string closed = folder ? fs::path(socket).parent_path().string() : socket;
    if (!folder) ASSERT_EQ(::chmod(fs::path(socket).parent_path().c_str(), 0755), 0);
    ASSERT_EQ(::chmod(closed.c_str(), 0), 0);
    const int exit = asNobody([&] {
      const auto result = kiln({"jobs", "--wait", "1h"});
      const bool advice = result.err.find("infra/up") != std::string::npos;
      return advice || result.err.find(farm.endpoint()) == std::string::npos ? 99 : result.exit;
    });
    ASSERT_EQ(::chmod(closed.c_str(), 0700), 0);
    if (exit < 0) GTEST_SKIP() << "no second user here";
    EXPECT_EQ(exit, 8);
  }
}

// What the farm sends and nobody can read is evidence about the farm: 5, and where it is; never a usage
// error.
TEST_F(KilnErrors, WhatTheFarmSendsIsNoUsageError) {
  const std::string root = directory / "root.json", keys = directory / "keys";
  ASSERT_EQ(kiln({"trust", "init", "--out", root, "--keys", keys, "--threshold", "1", "--of", "1",
                  "--recall-keys", "1"})
                .exit,
            0);
  v1::Toolchain toolchain;
  toolchain.set_label("odd");
  toolchain.mutable_lock()->set_hash("zz");
  toolchain.mutable_admission()->set_hash("zz");
  farm.script.toolchains.push_back(toolchain);
  const Words recall{
      "recall",       "--artifact", "sha256:" + std::string(64, '1'), "--reason",    "r",
      "--unmatched",  "--recalls",  directory / "recalls.json",       "--sign-with", keys + "/recall-1.key",
      "--trust-root", root};
  const auto refused = [&](const Words& words) {
    const auto result = kiln(words);
    EXPECT_EQ(result.exit, 5) << testing::PrintToString(words) << result.err;
    EXPECT_NE(result.err.find(farm.endpoint()), std::string::npos) << result.err;
  };
  for (const char* document : {"garbage", "{}", R"({"payloadType":1})", "[]"}) {
    farm.script.recalls.set_document(document);
    refused(recall);
    farm.script.recalls.clear_document();
    farm.script.published.set_document(document);
    refused(recall);
  }
  refused({"toolchain", "lock", "odd"});
  refused({"toolchain", "show", "odd", "--trust-root", root});
  auto job = jobIn(v1::JOB_SUCCEEDED, 1);
  farm.script.jobs = {job};
  farm.script.outputs.mutable_builder()->set_worker("w1");
  auto* file = farm.script.outputs.add_files();
  file->set_path("manifest.json");
  file->mutable_digest()->set_hash("zz");
  refused({"jobs", "job-1", "--outputs", "w1", "--out", "left"});
  file->set_path("../manifest.json");
  refused({"jobs", "job-1", "--outputs", "w1", "--out", "right"});
  farm.script.submit = [](const v1::SubmitJobRequest&, v1::Job* job) {
    *job = jobIn(v1::JOB_SUCCEEDED, 1);
    job->mutable_artifacts(0)->set_digest("garbage");
    return grpc::Status::OK;
  };
  refused({"build", "model.onnx", "--target", "cpu:x86-64-v3"});
}

}  // namespace
}  // namespace kiln
