// `kiln run --trace`: what viewers of Chrome's Trace Event Format read.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>

#include "tests/api/cli/signed_program.h"

namespace kiln {
namespace {

struct KilnTrace : testing_support::SignedProgram {
  Json traceOf(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"run", artifact.path(), "--trace", "traces/run.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto result = kiln(arguments);
    EXPECT_EQ(result.exit, 0) << result.err;
    std::ifstream file(directory / "traces/run.json");
    EXPECT_TRUE(file);
    return Json::parse(file, nullptr, false);
  }
  // The exit code of the check; 77 where Python's jsonschema is missing.
  int schemaCheck(const Json& document) const {
    std::ofstream(directory / "checked.json") << document.dump();
    const std::string command = std::string(KILN_PYTHON) + " " + KILN_SCHEMA_CHECK + " " + KILN_TRACE_SCHEMA +
                                " " + (directory / "checked.json");
    return WEXITSTATUS(std::system(command.c_str()));
  }
};

std::vector<Json> eventsOf(const Json& trace, const std::string& category) {
  std::vector<Json> events;
  for (const Json& event : trace.at("traceEvents"))
    if (event.value("cat", "") == category) events.push_back(event);
  return events;
}

TEST_F(KilnTrace, EveryTaskIsInOnePartOfOneRun) {
  artifact.manifest.stages["schedule"] = {{"kernels", Json::array({{{"symbol", "row"},
                                                                    {"nodes", {"double", "add"}},
                                                                    {"loops", {8, 256}},
                                                                    {"schedule", {{"tile", {1, 64}}}},
                                                                    {"rule", std::string(5000, 'r')}}})}};
  artifact.writeManifest();
  sign();
  const Json trace = traceOf({"--input", "x=x.npy", "--threads", "3"});
  const auto runs = eventsOf(trace, "run"), kernels = eventsOf(trace, "kernel");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_FALSE(kernels.empty());
  const double start = runs[0].at("ts"), end = start + runs[0].at("dur").get<double>();
  std::int64_t tasks = 0;
  std::map<int, double> busyUntil;
  for (const Json& part : kernels) {
    EXPECT_EQ(part.at("name"), "row");
    EXPECT_EQ(part.at("args").at("run"), 0);
    EXPECT_EQ(part.at("args").at("nodes"), "double, add");
    EXPECT_EQ(part.at("args").at("loops"), Json({8, 256}));
    EXPECT_EQ(part.at("args").at("schedule"), Json({{"tile", {1, 64}}}));
    EXPECT_FALSE(part.at("args").contains("rule")) << "longer than a detail may be";
    const int thread = part.at("tid");
    EXPECT_LT(thread, 3);
    const double from = part.at("ts"), to = from + part.at("dur").get<double>();
    EXPECT_GE(from, std::max(start, busyUntil[thread]));
    EXPECT_LE(to, end + 0.001);
    busyUntil[thread] = to;
    tasks += part.at("args").at("tasks").get<std::int64_t>();
  }
  EXPECT_EQ(tasks, 8);
  EXPECT_EQ(trace.at("otherData").at("inputs").at("x"), Json({{"dtype", "f32"}, {"shape", {8, 256}}}));
  EXPECT_EQ(trace.at("otherData").at("spansLeftOut"), 0);
}

TEST_F(KilnTrace, HoldsToTheSchema) {
  Json trace = traceOf({"--input", "x=x.npy"});
  const int exit = schemaCheck(trace);
  if (exit == 77) GTEST_SKIP() << "Python's jsonschema is not installed (infra/setup)";
  EXPECT_EQ(exit, 0);
  trace.at("traceEvents").at(1).erase("ts");
  EXPECT_EQ(schemaCheck(trace), 1) << "the schema takes anything";
}

TEST_F(KilnTrace, AFileThatCannotBeWrittenIsNamedAndALinkIsNotFollowed) {
  EXPECT_EQ(kiln({"run", artifact.path(), "--input", "x=x.npy", "--trace", "out/"}).exit, 2);
  std::filesystem::create_symlink("victim", directory / "link.json");
  const auto result = kiln({"run", artifact.path(), "--input", "x=x.npy", "--trace", "link.json"});
  EXPECT_NE(result.exit, 0);
  EXPECT_NE(result.err.find("link.json"), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(directory / "victim"));
}

}  // namespace
}  // namespace kiln
