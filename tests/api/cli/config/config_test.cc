// kiln config: farms that have names, and what of them counts.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "manifest/json/json.h"
#include "tests/api/cli/kiln_process.h"

namespace kiln {
namespace {

using testing_support::KilnResult;
using testing_support::runKiln;

constexpr char kNowhere[] = "unix:/nowhere/coordinator.sock",
               kElsewhere[] = "unix:/elsewhere/coordinator.sock";

struct KilnConfig : testing::Test {
  testing_support::TempDirectory home;

  KilnResult kiln(const std::vector<std::string>& words, std::map<std::string, std::string> variables = {}) {
    variables.emplace("HOME", home.path());
    variables.emplace("KILN_WAIT", "0s");
    return runKiln(words, variables, home.path());
  }
  std::string file() const { return home / ".config/kiln/config.json"; }
  // What the file says.
  void write(const std::string& text) {
    std::filesystem::create_directories(home / ".config/kiln");
    std::ofstream(file()) << text;
    ::chmod(file().c_str(), 0600);
  }
  void make(const std::string& name, unsigned mode) {
    std::ofstream(home / name) << "x\n";
    ::chmod((home / name).c_str(), mode);
  }
  void two() {
    write(std::string(R"({"version":1,"current":"lab","contexts":{"lab":{"endpoint":")") + kNowhere +
          R"("},"shop":{"endpoint":")" + kElsewhere + R"("}}})");
  }
  // Whom a command asks.
  std::string asked(std::vector<std::string> words,
                    const std::map<std::string, std::string>& variables = {}) {
    words.insert(words.begin(), "jobs");
    const KilnResult result = kiln(words, variables);
    EXPECT_EQ(result.exit, 7) << result.err;
    for (const char* each : {kNowhere, kElsewhere})
      if (result.err.find(each) != std::string::npos) return each;
    return result.err;
  }
};

TEST_F(KilnConfig, AFarmThatHasANameIsFoundWithoutAVariable) {
  const KilnResult added =
      kiln({"config", "add", "lab", "--endpoint", kNowhere, "--trust-root", "root.json"});
  ASSERT_EQ(added.exit, 0) << added.err;
  EXPECT_EQ(added.out, "context lab\n");
  EXPECT_NE(added.err.find("trustRoot: " + (home / "root.json")), std::string::npos) << added.err;
  EXPECT_EQ(kiln({"jobs"}).exit, 2) << "added and not in use";
  EXPECT_EQ(asked({"--context", "lab"}), kNowhere);
  ASSERT_EQ(kiln({"config", "use", "lab"}).exit, 0);
  EXPECT_EQ(asked({}), kNowhere);

  struct stat status{};
  ASSERT_EQ(::stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
  ASSERT_EQ(::stat((home / ".config/kiln").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0700u);
  const auto shown = parseJson(kiln({"config", "show", "--json"}).out);
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->at("settings").at("trustRoot"), home / "root.json") << "from where it was said";
  const std::string list = kiln({"config", "list"}).out;
  EXPECT_NE(list.find("lab      yes     unix:/nowhere"), std::string::npos) << list;
  ASSERT_EQ(kiln({"config", "remove", "lab"}).exit, 0);
  EXPECT_EQ(kiln({"jobs"}).exit, 2);
  EXPECT_EQ(kiln({"config", "show"}).exit, 6);
}

TEST_F(KilnConfig, TheOptionComesFirstThenTheVariableThenTheFarmInUse) {
  two();
  EXPECT_EQ(asked({}), kNowhere);
  EXPECT_EQ(asked({}, {{"KILN_CONTEXT", "shop"}}), kElsewhere);
  EXPECT_EQ(asked({"--context", "lab"}, {{"KILN_CONTEXT", "shop"}}), kNowhere);
  EXPECT_EQ(asked({}, {{"KILN_ENDPOINT", kElsewhere}}), kElsewhere);
  EXPECT_EQ(asked({"--context", "lab"}, {{"KILN_ENDPOINT", kElsewhere}}), kNowhere);
  EXPECT_EQ(asked({"--endpoint", kNowhere}, {{"KILN_ENDPOINT", kElsewhere}}), kNowhere);
  EXPECT_EQ(asked({"--context", "shop", "--endpoint", kNowhere}), kNowhere);
  EXPECT_EQ(asked({}, {{"XDG_CONFIG_HOME", home / ".config"}, {"HOME", "/nowhere"}}), kNowhere);
}

// A token goes to the farm that it is for, and to no other.
TEST_F(KilnConfig, NothingOfTheFarmInUseIsSaidToAnother) {
  write(
      R"({"version":1,"current":"lab","contexts":{"lab":{"endpoint":"farm.example.org:7443","tlsCa":"/ca.pem",)"
      R"("tokenFile":"/lab-token","trustRoot":"/lab-root.json"},"shop":{"endpoint":"shop.example.org:7443",)"
      R"("tlsCa":"/shop-ca.pem"}}})");
  const auto origins = [&](std::vector<std::string> words, std::map<std::string, std::string> variables) {
    words.insert(words.begin(), {"doctor", "--json"});
    std::map<std::string, std::string> found;
    const auto report = parseJson(kiln(words, std::move(variables)).out);
    if (!report) return found;
    for (const Json& check : report->at("checks"))
      if (const auto name = check.at("name").get<std::string>(); name.starts_with("setting "))
        found[name.substr(8)] = check.at("detail").get<std::string>();
    return found;
  };
  auto own = origins({}, {});
  EXPECT_EQ(own["endpoint"], "farm.example.org:7443, from context lab");
  EXPECT_EQ(own["tokenFile"].rfind("/lab-token, from context lab; tokenFile: ", 0), 0u) << own["tokenFile"];
  EXPECT_EQ(own["context"], "lab, from kiln config use, in " + file());
  EXPECT_EQ(own["wait"], "0s, from KILN_WAIT");
  auto other = origins({}, {{"KILN_ENDPOINT", "other.example.org:7443"}});
  EXPECT_EQ(other["endpoint"], "other.example.org:7443, from KILN_ENDPOINT");
  for (const char* member : {"context", "tokenFile", "tlsCa", "trustRoot"})
    EXPECT_FALSE(other.contains(member)) << member;
  auto option = origins({"--endpoint", "other.example.org:7443"}, {});
  EXPECT_EQ(option["endpoint"], "other.example.org:7443, from --endpoint");
  EXPECT_FALSE(option.contains("tokenFile"));
  auto named =
      origins({"--context", "shop"}, {{"KILN_TOKEN_FILE", "/shell-token"}, {"KILN_POLICY", "/p.json"}});
  EXPECT_EQ(named["endpoint"], "shop.example.org:7443, from context shop");
  EXPECT_FALSE(named.contains("tokenFile")) << "the shell's is for another farm";
  EXPECT_EQ(named["policy"].rfind("/p.json, from KILN_POLICY", 0), 0u) << "what restricts still counts";
}

TEST_F(KilnConfig, WhatTheShellSaysCanBeKept) {
  make("root.json", 0644);
  const std::map<std::string, std::string> shell = {{"KILN_ENDPOINT", kNowhere},
                                                    {"KILN_TRUST_ROOT", "root.json"},
                                                    {"KILN_HTTP", "http://127.0.0.1:1"},
                                                    {"KILN_MIRRORS", "http://a.example http://b.example"}};
  const KilnResult added = kiln({"config", "add", "lab", "--from-environment", "--use", "--json"}, shell);
  ASSERT_EQ(added.exit, 0) << added.err;
  EXPECT_EQ(parseJson(added.out)->at("inUse"), true);
  const Json settings = parseJson(kiln({"config", "show", "lab", "--json"}).out)->at("settings");
  EXPECT_EQ(settings.at("endpoint"), kNowhere);
  EXPECT_EQ(settings.at("trustRoot"), home / "root.json");
  EXPECT_EQ(settings.at("mirrors"), (Json{"http://a.example", "http://b.example"}));
  EXPECT_EQ(asked({}), kNowhere);
  EXPECT_NE(kiln({"config", "list"}, shell).err.find("KILN_ENDPOINT names a farm in this shell"),
            std::string::npos);
}

TEST_F(KilnConfig, AddRefusesWhatWouldFailAtTheFirstCommand) {
  make("open-token", 0644);
  make("ca.pem", 0644);
  const std::vector<std::pair<std::vector<std::string>, int>> wrong = {
      {{"lab"}, 2},
      {{"Lab", "--endpoint", kNowhere}, 2},
      {{"../lab", "--endpoint", kNowhere}, 2},
      {{std::string(65, 'a'), "--endpoint", kNowhere}, 2},
      {{"lab", "--endpoint", "nowhere"}, 2},
      {{"lab", "--endpoint", "farm.example.org:7443"}, 2},  // without authorities
      {{"lab", "--endpoint", kNowhere, "--wait", "soon"}, 2},
      {{"lab", "--endpoint", kNowhere, "--http", "ftp://x"}, 2},
      {{"lab", "--endpoint", kNowhere, "--instance", "a\x1b[31m"}, 2},
      {{"lab", "--trust-root", std::string(5000, 'r')}, 2},
  };
  for (const auto& [words, exit] : wrong) {
    std::vector<std::string> all = {"config", "add"};
    all.insert(all.end(), words.begin(), words.end());
    EXPECT_EQ(kiln(all).exit, exit) << testing::PrintToString(words);
  }
  EXPECT_FALSE(std::filesystem::exists(file()));
  ASSERT_EQ(kiln({"config", "add", "lab", "--endpoint", kNowhere}).exit, 0);
  const KilnResult again = kiln({"config", "add", "lab", "--endpoint", kElsewhere});
  EXPECT_NE(again.exit, 0);
  EXPECT_NE(again.err.find("--replace"), std::string::npos) << again.err;
  EXPECT_EQ(asked({"--context", "lab"}), kNowhere) << "it is as it was";
  EXPECT_EQ(kiln({"config", "add", "lab", "--endpoint", kElsewhere, "--replace"}).exit, 0);
  EXPECT_EQ(asked({"--context", "lab"}), kElsewhere);
  const KilnResult secret =
      kiln({"config", "add", "ci", "--endpoint", kNowhere, "--recall-key", "open-token"});
  EXPECT_EQ(secret.exit, 0);
  EXPECT_NE(secret.err.find("others may read the secret in " + (home / "open-token")), std::string::npos);
  EXPECT_NE(secret.err.find("run chmod 600"), std::string::npos);
}

TEST_F(KilnConfig, AnUnknownNameSuggestsTheNearest) {
  two();
  const KilnResult result = kiln({"jobs", "--context", "labb"});
  EXPECT_EQ(result.exit, 6);
  EXPECT_NE(result.err.find("there is no context \"labb\"; did you mean \"lab\"?"), std::string::npos)
      << result.err;
  EXPECT_EQ(kiln({"config", "use", "labb"}).exit, 6);
  EXPECT_EQ(kiln({"config", "remove", "labb"}).exit, 6);
  EXPECT_EQ(parseJson(kiln({"jobs", "--context", "labb", "--json"}).out)->at("error").at("code"),
            "NOT_FOUND");
}

// It says whom to ask and whom to believe: nobody else may write it, and what is odd in it is not guessed at.
TEST_F(KilnConfig, AHostileFileIsRefusedByName) {
  const std::string farm = std::string(R"({"endpoint":")") + kNowhere + R"("})";
  std::string many, deep(2000, '[');
  for (int i = 0; i < 101; ++i) many += (i ? ",\"f" : "\"f") + std::to_string(i) + "\":" + farm;
  const std::string texts[] = {"",
                               "[]",
                               "{",
                               R"({"version":2,"contexts":{}})",
                               R"({"contexts":{}})",
                               R"({"version":1,"contexts":[]})",
                               R"({"version":1,"contexts":{},"more":1})",
                               R"({"version":1,"contexts":{"lab":)" + farm + R"(,"lab":)" + farm + "}}",
                               R"({"version":1,"contexts":{"La b":)" + farm + "}}",
                               R"({"version":1,"contexts":{"lab":{"endpoint":7}}})",
                               R"({"version":1,"contexts":{"lab":{"token":"secret"}}})",
                               R"({"version":1,"contexts":{"lab":{"trustRoot":"root.json"}}})",
                               R"({"version":1,"contexts":{"lab":{"endpoint":"a\u001b[2J"}}})",
                               R"({"version":1,"contexts":{"lab":{"mirrors":"x"}}})",
                               R"({"version":1,"current":"lab","contexts":{}})",
                               R"({"version":1,"contexts":{)" + many + "}}",
                               R"({"version":1,"contexts":)" + deep + "}",
                               std::string(300 << 10, ' ')};
  for (const std::string& text : texts) {
    write(text);
    const KilnResult result = kiln({"jobs"});
    EXPECT_EQ(result.exit, 2) << text.substr(0, 200);
    EXPECT_NE(result.err.find(file()), std::string::npos) << result.err;
    EXPECT_EQ(result.err.find('\x1b'), std::string::npos);
  }
  EXPECT_EQ(kiln({"jobs", "--endpoint", kNowhere}).exit, 7) << "whom it cannot be about it does not stop";
  two();
  ::chmod(file().c_str(), 0666);
  const KilnResult shared = kiln({"jobs"});
  EXPECT_EQ(shared.exit, 8) << shared.err;
  EXPECT_NE(shared.err.find(file()), std::string::npos) << shared.err;
}

}  // namespace
}  // namespace kiln
