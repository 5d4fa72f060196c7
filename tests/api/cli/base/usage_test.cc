// What needs no farm: help, usage errors, a coordinator that is not there.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <filesystem>
#include <fstream>
#include <map>

#include "manifest/json/json.h"
#include "tests/api/cli/kiln_process.h"

namespace kiln {
namespace {

using testing_support::runKiln;

TEST(KilnUsage, EveryCommandHasHelpWithAnExampleAndJson) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"build"},
                                             {"inspect"},
                                             {"fetch"},
                                             {"verify"},
                                             {"show"},
                                             {"provenance"},
                                             {"warmup"},
                                             {"run"},
                                             {"artifacts"},
                                             {"jobs"},
                                             {"watch"},
                                             {"cancel"},
                                             {"logs"},
                                             {"workers"},
                                             {"top"},
                                             {"gc"},
                                             {"doctor"},
                                             {"export"},
                                             {"rebuild"},
                                             {"diff"},
                                             {"toolchain", "add"},
                                             {"toolchain", "list"},
                                             {"toolchain", "lock"},
                                             {"toolchain", "show"}}) {
    auto arguments = command;
    arguments.push_back("--help");
    const auto result = runKiln(arguments);
    EXPECT_EQ(result.exit, 0) << command.back();
    EXPECT_NE(result.out.find("Example:\n  kiln "), std::string::npos) << command.back();
    EXPECT_NE(result.out.find("--json"), std::string::npos) << command.back();
  }
  EXPECT_EQ(runKiln({"--version"}).out.rfind("kiln ", 0), 0u);
}

TEST(KilnUsage, UnknownCommandsAndOptionsExit2) {
  EXPECT_EQ(runKiln({}).exit, 2);
  EXPECT_EQ(runKiln({"bake"}).exit, 2);
  EXPECT_EQ(runKiln({"jobs", "--nonsense"}).exit, 2);
  EXPECT_EQ(runKiln({"build", "model.onnx"}).exit, 2);  // no target
  EXPECT_EQ(runKiln({"build", "model.onnx", "--target", "cpu:x86-64-v3", "--max-planned-bytes=-1"}).exit, 2);
  EXPECT_EQ(runKiln({"gc", "--reason", "r"}).exit, 2);
}

TEST(KilnUsage, ADeadlineIsATimeOrHowLong) {
  const auto build = [](const std::string& option) {
    const auto result = runKiln({"build", "model.onnx", "--target", "cpu:x86-64-v3", option});
    return std::to_string(result.exit) + " " + result.err;
  };
  for (const char* bad : {"--deadline=soon", "--deadline=2026-11-26T18:00", "--deadline=31d"}) {
    const std::string refusal = build(bad);
    EXPECT_EQ(refusal.rfind("2 ", 0), 0u) << bad << ": " << refusal;
    EXPECT_NE(refusal.find("--deadline"), std::string::npos) << refusal;
  }
  EXPECT_EQ(build("--max-worker-seconds=0").rfind("2 ", 0), 0u);
}

TEST(KilnUsage, AMistypedOptionIsNamedBeforeOneThatIsMissing) {
  const auto result = runKiln({"build", "model.onnx", "--taget", "cpu:x86-64-v3"});
  EXPECT_EQ(result.exit, 2);
  EXPECT_NE(result.err.find("--taget is not known; did you mean \"--target\"? See kiln build --help"),
            std::string::npos)
      << result.err;
  EXPECT_NE(runKiln({"bake"}).err.find("bake is not known"), std::string::npos);
}

// An empty value would fall back to the environment: a policy that nobody asked for would verify.
TEST(KilnUsage, EmptyAndNegativeValuesAreRefusedWhateverTheOptionIs) {
  const std::string hash = "sha256:" + std::string(64, '0');
  const std::vector<std::vector<std::string>> wrong{{"verify", "d", "--policy", ""},
                                                    {"verify", "d", "--trust-root", ""},
                                                    {"verify", "d", "--trust-root="},
                                                    {"verify", "d", "--policy=", "--json"},
                                                    {"verify", ""},
                                                    {"jobs", "--endpoint", ""},
                                                    {"jobs", "--instance="},
                                                    {"fetch", hash, "--out", ""},
                                                    {"build", "m.onnx", "--target", ""},
                                                    {"affected", "--worker", ""},
                                                    {"recall", "--artifact", "", "--reason", "r"},
                                                    {"log", "prove", "inclusion", "7", "--log", ""},
                                                    {"audit", "--since-entry", "-1"},
                                                    {"audit", "--log", ""}};
  for (const auto& words : wrong) {
    const auto result = runKiln(words, {{"KILN_TRUST_ROOT", "/nowhere"}, {"KILN_POLICY", "/nowhere"}});
    EXPECT_EQ(result.exit, 2) << testing::PrintToString(words) << result.err;
    const std::string said = result.out + result.err;  // with --json on standard output
    EXPECT_TRUE(said.find("is empty") != std::string::npos || said.find("negative") != std::string::npos)
        << testing::PrintToString(words) << said;
  }
  EXPECT_EQ(runKiln({"verify", "d"}, {{"KILN_TRUST_ROOT", ""}}).exit, 2) << "an empty variable is not set";
}

TEST(KilnUsage, WhatGoesWithAnotherOptionIsToldBeforeTheWork) {
  EXPECT_EQ(runKiln({"affected", "--since", "2027-01-01", "--until", "2026-01-01"}).exit, 2);
  EXPECT_EQ(runKiln({"rebuild", "sha256:" + std::string(64, '0'), "--statement", "s.json"}).exit, 2);
}

// No usage error: the words are right, and what they name is not there.
TEST(KilnUsage, WhatIsNamedAndNotThereIsNotFound) {
  const testing_support::TempDirectory directory;
  const std::vector<std::vector<std::string>> lines = {
      {"rebuild", "--offline", "nowhere"},
      {"backup", "--farm", "nowhere", "--database", "dbname=x", "--out", "b"},
      {"restore", "--from", "nowhere", "--farm", "f", "--database", "dbname=x"},
      {"toolchain", "add", "nowhere"},
      {"inspect", "nowhere"},
      {"diff", "nowhere", "nowhere"},
      {"trust", "show", "nowhere"},
      {"verify", "nowhere", "--trust-root", "nowhere"}};
  for (const auto& words : lines) {
    const auto result = runKiln(
        words, {{"KILN_ENDPOINT", "unix:/nowhere/coordinator.sock"}, {"KILN_WAIT", "0s"}}, directory.path());
    EXPECT_EQ(result.exit, 6) << testing::PrintToString(words) << result.err;
    EXPECT_NE(result.err.find("nowhere"), std::string::npos) << result.err;
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path())) << "nothing is made for it";
}

// An option that would do nothing is a mistake, told before any work.
TEST(KilnUsage, AnOptionThatNeedsAnotherIsNotIgnored) {
  const std::vector<std::vector<std::string>> lines = {
      {"jobs", "--out", "d"},
      {"jobs", "JOB", "--out", "d"},
      {"jobs", "JOB", "--target", "cpu:x86-64-v3"},
      {"jobs", "JOB", "--outputs", "w1"},
      {"jobs", "--outputs", "w1", "--out", "d"},
      {"jobs", "JOB", "--limit", "3"},
      {"jobs", "JOB", "--before", "OTHER"},
      {"export", "d", "--oci", "o", "--with-nvidia"},
      {"toolchain", "add", "d", "--inputs", "i"},
      {"gc", "--reason", "r"},
      {"gc", "--tombstone", "a", "--reason", "r", "--dry-run"},
      {"gc", "--tombstone", "a", "--reason", "r", "--grace", "1h"},
      {"run", "d", "--isolated", "--profile"},
      {"run", "d", "--isolated", "--trace", "t.json"},
      {"run", "d", "--isolated", "--device", "1"},
      {"run", "d", "--isolated", "--device-driver", "libcuda.so.1"},
      {"rebuild", "sha256:" + std::string(64, '0'), "--statement", "s.json"},
      {"rebuild", "sha256:" + std::string(64, '0'), "--id", "urn:x"},
      {"rebuild", "sha256:" + std::string(64, '0'), "--key", "k"},
      {"rebuild", "sha256:" + std::string(64, '0'), "--out", "d"},
      {"rebuild", "--offline", "d", "--id", "urn:x"},
      {"rebuild", "--offline", "d", "--operator", "o"},
      {"rebuild", "--offline", "d", "--endpoint", "localhost:1"},
      {"attest", "d", "--key", "k", "--vsa", "--id", "urn:x", "--type", "urn:t"},
      {"attest", "d", "--key", "k", "--vsa", "--id", "urn:x", "--predicate", "p.json"},
      {"attest", "d", "--key", "k", "--predicate", "p.json"},
      {"attest", "d", "--key", "k", "--type", "urn:t", "--predicate", "p.json", "--id", "urn:x"},
      {"attest", "d", "--key", "k", "--type", "urn:t", "--predicate", "p.json", "--policy-uri", "urn:p"},
      {"attest", "d", "--key", "k", "--type", "urn:t", "--predicate", "p.json", "--policy", "p"},
      {"attest", "d", "--key", "k", "--type", "urn:t", "--predicate", "p.json", "--recalls", "r"},
      {"attest", "d", "--key", "k", "--input-statement", "s"},
      {"attest", "d", "--key", "k", "--type", "urn:t", "--predicate", "p.json", "--signed-by", "k.pem"},
      {"attest", "d", "--key", "k", "--vsa", "--id", "urn:x", "--input-statement", "s", "--signed-by",
       "k.pem"},
      {"attest", "d", "--key", "k", "--input-statement", "s", "--certificate-root", "ca.pem"},
      {"model", "verify", "d"},
      {"model", "verify", "d", "--certificate-root", "ca.pem"},
      {"model", "verify", "d", "--certificate-identity", "who@example.org"},
      {"model", "verify", "d", "--signed-by", "k.pem", "--certificate-time", "2026-11-20"},
      {"model", "verify", "d", "--trusted-root", "r.json", "--certificate-identity", "who@example.org"},
      {"model", "verify", "d", "--trusted-root", "r.json", "--certificate-oidc-issuer", "https://x"},
      {"model", "verify", "d", "--signed-by", "k.pem", "--certificate-oidc-issuer", "https://x"},
      {"model", "verify", "d", "--trusted-root", "r.json", "--certificate-root", "ca.pem",
       "--certificate-identity", "who@example.org", "--certificate-oidc-issuer", "https://x"},
      {"build", "m.onnx", "--target", "cpu:x86-64-v3", "--model-signature", "model.sig"},
      {"build", "m.onnx", "--target", "cpu:x86-64-v3", "--model-certificate-root", "ca.pem"},
      {"recall", "--worker", "w", "--reason", "r", "--dry-run", "--checkpoint", "c"},
      {"recall", "--worker", "w", "--reason", "r", "--dry-run", "--out", "o"},
      {"recall", "--worker", "w", "--reason", "r", "--dry-run", "--expires", "1d"},
      {"recall", "--refresh", "--dry-run"},
      {"recall", "--refresh", "--reason", "r"},
      {"recall", "--refresh", "--worker", "w"},
      {"recall", "--cosign", "d", "--dry-run"},
      {"recall", "--cosign", "d", "--refresh"},
      {"recall", "--cosign", "d", "--worker", "w", "--reason", "r"},
      {"recall", "--cosign", "d", "--checkpoint", "c"},
      {"recall", "--lift", "sha256:00", "--reason", "r", "--unmatched"},
      {"provenance", "d", "--format", "text", "--json"},
      {"log", "verify", "--log-key", "k", "--trust-root", "r"},
      {"log", "prove", "sha256:00", "inclusion", "7"},
      {"log", "prove", "--endpoint", "localhost:1", "inclusion", "7"},
      {"log", "verify", "--policy", "p"},
      {"audit", "--policy", "p"},
      {"toolchain", "show", "t", "--recalls", "r"},
      {"jobs", "--tls-ca", "c"},
      {"jobs", "--tls-cert", "c"},
      {"verify", "d", "--tls-key", "k"},
      {"build", "m.onnx", "--target", "cpu:x86-64-v3", "--token-file", "t"},
      {"build", "m.onnx", "--target", "cuda:sm_90a", "--tune", "search"}};
  for (const auto& words : lines) {
    const auto result =
        runKiln(words, {{"KILN_ENDPOINT", "unix:/nowhere/coordinator.sock"}, {"KILN_WAIT", "0s"}});
    EXPECT_EQ(result.exit, 2) << testing::PrintToString(words) << result.err;
    const std::string said = result.out + result.err;  // with --json on standard output
    EXPECT_NE(said.find("--"), std::string::npos) << testing::PrintToString(words) << said;
  }
}

// A shell that names another farm's credentials is no mistake of this command line.
TEST(KilnUsage, CredentialsOfTheEnvironmentAreNoMistakeAtASocket) {
  const auto result = runKiln({"jobs"}, {{"KILN_ENDPOINT", "unix:/nowhere/coordinator.sock"},
                                         {"KILN_WAIT", "0s"},
                                         {"KILN_TLS_CA", "ca.pem"},
                                         {"KILN_TOKEN_FILE", "token"}});
  EXPECT_EQ(result.exit, 7) << result.err;
}

TEST(KilnUsage, ADurationSaysWhetherItIsTheFormOrTheRange) {
  const auto said = [](const std::string& duration) {
    const auto result =
        runKiln({"gc", "--grace=" + duration}, {{"KILN_ENDPOINT", "unix:/nowhere/coordinator.sock"}});
    EXPECT_EQ(result.exit, 2) << duration;
    EXPECT_NE(result.err.find("--grace: \"" + duration + "\""), std::string::npos) << result.err;
    return result.err;
  };
  for (const char* form : {"soon", "5", "1w", "s", "1.5h", "+1s", "1s "})
    EXPECT_NE(said(form).find("is no duration"), std::string::npos) << form;
  for (const char* range : {"0s", "-1s", "3661d", "99999999d", "99999999999999999999s"})
    EXPECT_NE(said(range).find("is out of range; give 1s to 3660d"), std::string::npos) << range;
}

TEST(KilnUsage, NoFarmNamedSaysWhatToSource) {
  const auto result = runKiln({"jobs"});
  EXPECT_EQ(result.exit, 2);
  EXPECT_NE(result.err.find("kiln.env"), std::string::npos) << result.err;
}

TEST(KilnUsage, AnEndpointLongerThanASocketsPathIsAUsageError) {
  const auto refused = runKiln({"jobs", "--endpoint", "unix:/" + std::string(107, 'x')});
  EXPECT_EQ(refused.exit, 2);
  EXPECT_NE(refused.err.find("at most 107 bytes, this one 108"), std::string::npos) << refused.err;
  EXPECT_EQ(runKiln({"jobs", "--endpoint", "unix:/" + std::string(20000, 'x')}).exit, 2);
}

TEST(KilnUsage, NobodyListeningExits7WithTheNextStep) {
  const auto result =
      runKiln({"jobs", "--wait", "0s"}, {{"KILN_ENDPOINT", "unix:/nowhere/coordinator.sock"}});
  EXPECT_EQ(result.exit, 7);
  EXPECT_EQ(result.err.rfind("kiln: error: ", 0), 0u) << result.err;
  EXPECT_NE(result.err.find("infra/up"), std::string::npos);
  const auto json =
      runKiln({"jobs", "--json"}, {{"KILN_ENDPOINT", "unix:/nowhere/coordinator.sock"}, {"KILN_WAIT", "0s"}});
  EXPECT_EQ(json.exit, 7);
  const auto parsed = parseJson(json.out);
  ASSERT_TRUE(parsed) << json.out;
  EXPECT_EQ(parsed->at("error").at("code"), "UNAVAILABLE");
}

// Below these gRPC and new threads would end the process by a signal, or never start.
TEST(KilnUsage, TooLittleOfTheSystemIsNamedAndNoSignal) {
#if defined(__has_feature) && __has_feature(address_sanitizer)
  GTEST_SKIP() << "the sanitizer reserves more address space than the limit";
#endif
  const struct {
    __rlimit_resource resource;
    rlim_t most;
    const char* option;
  } limits[] = {{RLIMIT_NOFILE, 8, "ulimit -n"},
                {RLIMIT_AS, 90'000 << 10, "ulimit -v"},
                {RLIMIT_STACK, 512 << 10, "ulimit -s"}};
  for (const auto& limit : limits) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"jobs", "--wait", "0s"},
                                                  {"--help"},
                                                  {"build", "m.onnx", "--target", "cpu:x86-64-v3"}}) {
      const auto result =
          runKiln(words, {{"KILN_ENDPOINT", "unix:/nowhere/coordinator.sock"}}, "/", {.starting = [&] {
                    const rlimit both{limit.most, limit.most};
                    ::setrlimit(limit.resource, &both);
                  }});
      if (result.exit == 127 && limit.resource == RLIMIT_AS)
        continue;  // the loader itself needed more, and said so
      EXPECT_EQ(result.exit, 7) << limit.option << result.err;
      EXPECT_NE(result.err.find(limit.option), std::string::npos) << result.err;
    }
    // A soft limit is this process's own to raise.
    const auto raised = runKiln({"--version"}, {}, "/", {.starting = [&] {
                                  rlimit soft{};
                                  ::getrlimit(limit.resource, &soft);
                                  soft.rlim_cur = limit.most;
                                  ::setrlimit(limit.resource, &soft);
                                }});
    if (limit.resource != RLIMIT_AS) EXPECT_EQ(raised.exit, 0) << limit.option << raised.err;
  }
}

TEST(KilnUsage, TuningIsOffReuseOrSearchWithABudget) {
  const auto build = [](std::vector<std::string> more) {
    std::vector<std::string> all = {"build", "m.onnx", "--target", "cpu:x86-64-v3"};
    all.insert(all.end(), more.begin(), more.end());
    return runKiln(all);
  };
  const auto wrong = build({"--tune", "always"});
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_NE(wrong.err.find("search"), std::string::npos) << wrong.err;
  EXPECT_EQ(build({"--budget", "60s"}).exit, 2) << "of no search";
  EXPECT_EQ(build({"--tune", "reuse", "--budget", "60s"}).exit, 2);
  const auto long_ = build({"--tune", "search", "--budget", "2d"});
  EXPECT_EQ(long_.exit, 2);
  EXPECT_NE(long_.err.find("--budget"), std::string::npos) << long_.err;
  EXPECT_NE(build({"--tune", "search", "--budget", "soon"}).err.find("--budget"), std::string::npos);
}

// What was typed is named, never the member of a document that it would have become.
TEST(KilnUsage, WhatIsWrongWithABuildIsToldByItsOption) {
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{"--majority"}, "--majority"},
      {{"--builders", "2", "--majority"}, "--majority"},
      {{"--builders", "0"}, "--builders"},
      {{"--operators", "0"}, "--operators"},
      {{"--check-emulated"}, "--check-emulated"},
      {{"--tune", "x"}, "--tune"},
      {{"--fallback-permille", "x"}, "--fallback-permille"}};
  for (const auto& [more, option] : wrong) {
    std::vector<std::string> words = {"build", "m.onnx", "--target", "cpu:x86-64-v3"};
    words.insert(words.end(), more.begin(), more.end());
    const auto result = runKiln(words, {{"KILN_ENDPOINT", "unix:/nowhere/coordinator.sock"}});
    EXPECT_EQ(result.exit, 2) << option << result.err;
    EXPECT_NE(result.err.find(option), std::string::npos) << result.err;
    for (const char* inner : {"delivery", "_json", "sources["})
      EXPECT_EQ(result.err.find(inner), std::string::npos) << result.err;
  }
}

TEST(KilnUsage, PartitionRulesAreCheckedFirst) {
  const auto build = [](std::vector<std::string> more) {
    std::vector<std::string> all = {"build", "m.onnx", "--target", "cpu:x86-64-v4,cpu:x86-64-v3"};
    all.insert(all.end(), more.begin(), more.end());
    return runKiln(all);
  };
  EXPECT_EQ(build({"--fallback", "gpu"}).exit, 2);
  EXPECT_EQ(build({"--fallback-permille", "5"}).exit, 2) << "of nothing";
  EXPECT_EQ(build({"--affinity", "op:Softmax"}).exit, 2);
  const auto elsewhere = build({"--exclude", "op:Softmax=cpu:aarch64"});
  EXPECT_EQ(elsewhere.exit, 2);
  EXPECT_NE(elsewhere.err.find("op:Softmax=cpu:aarch64"), std::string::npos);
  const auto help = runKiln({"build", "--help"});
  EXPECT_NE(help.out.find("--affinity op:Softmax=cpu:x86-64-v3"), std::string::npos) << help.out;
}

TEST(KilnUsage, PinsAreCheckedFirst) {
  for (const char* pin : {"axes", "=1", "axes=x", "axes=1,", "axes=,1", "axes=nan", "axes=1e999"}) {
    const auto result = runKiln({"build", "m.onnx", "--target", "cpu:x86-64-v3", "--pin", pin});
    EXPECT_EQ(result.exit, 2) << pin;
  }
}

TEST(KilnUsage, TargetsAndProfilesAreCheckedFirst) {
  for (const char* target : {"native", "host", "x86", ""}) {
    EXPECT_EQ(runKiln({"build", "m.onnx", "--target", target}).exit, 2) << target;
  }
  for (const char* profile : {"N", "N=1:2", "N=2:1:3", "N=-1:1:1", "=1:1:1", "N=a:b:c", "N=1:1:1:1:1"}) {
    const auto result = runKiln({"build", "m.onnx", "--target", "cpu:x86-64-v3", "--profile", profile});
    EXPECT_EQ(result.exit, 2) << profile;
    EXPECT_NE(result.err.find("N=1:4:8"), std::string::npos) << result.err;
  }
}

TEST(KilnUsage, DoctorNamesTheNextStepPerFinding) {
  const auto result = runKiln({"doctor", "--json"}, {{"KILN_ENDPOINT", "unix:/nowhere/coordinator.sock"}});
  EXPECT_EQ(result.exit, 7);
  const auto report = parseJson(result.out);
  ASSERT_TRUE(report) << result.out;
  EXPECT_FALSE(report->at("usable").get<bool>());
  bool coordinator = false;
  for (const auto& check : report->at("checks")) {
    EXPECT_TRUE(check.at("verdict") == "ok" || check.at("next") != "") << check.dump();
    coordinator |= check.at("name") == "coordinator" && check.at("verdict") == "missing";
  }
  EXPECT_TRUE(coordinator);
}

TEST(KilnUsage, DoctorAsksTheFarmOfTheDirectoryThatIsNamed) {
  const testing_support::TempDirectory farm;
  const auto found = [&] {
    const auto report = parseJson(runKiln({"doctor", "--json", "--farm", farm.path()}).out);
    std::map<std::string, Json> checks;
    if (report)
      for (const Json& check : report->at("checks")) checks[check.at("name").get<std::string>()] = check;
    return checks;
  };
  std::ofstream(farm / "kiln.env");
  for (auto unnamed = found(); const char* name : {"coordinator", "trust root"})
    EXPECT_EQ(unnamed[name].value("next", ""), ". " + (farm / "kiln.env")) << name;

  const std::string socket = "unix:" + (farm / "elsewhere.sock"), root = farm / "other-root.json";
  std::filesystem::create_directories(farm / "run");
  std::ofstream(farm / "run/services.json")
      << R"({"services":[{"name":"coordinator","command":["kiln-coordinator","--listen",")" << socket
      << R"(","--trust-root",")" << root << R"("]}]})";
  auto own = found();
  EXPECT_NE(own["coordinator"].value("detail", "").find(socket), std::string::npos) << own["coordinator"];
  EXPECT_EQ(own["coordinator"].value("next", "").find("run infra/up --dir " + farm.path() + ";"), 0u);
  EXPECT_NE(own["trust root"].value("detail", "").find(root), std::string::npos) << own["trust root"];
}

}  // namespace
}  // namespace kiln
