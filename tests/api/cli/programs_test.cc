// How every program of Kiln answers a command line that it cannot read.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>

namespace kiln {
namespace {

struct Said {
  int exit = -1;
  std::string text;
};

Said run(const std::string& command) {
  Said said;
  std::FILE* pipe = ::popen((command + " 2>&1 </dev/null").c_str(), "r");
  char buffer[4096];
  for (std::size_t got; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    said.text.append(buffer, got);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) said.exit = WEXITSTATUS(status);
  return said;
}

TEST(Programs, NameThemselvesInUsageErrorsAndSayWhoseHelpTellsMore) {
  const auto folder = std::filesystem::path(KILN_PROGRAM).parent_path();
  for (const std::string program :
       {"kiln", "kiln-signer", "kiln-log", "kiln-worker", "kiln-coordinator", "kiln-check", "kiln-fetcher",
        "kiln-rebuilder", "kiln-isolated", "kiln-measure"})
    for (const char* words : {"", " --nonsense", " nonsense", " --nonsense=1 x"}) {
      const Said said = run((folder / program).string() + words);
      EXPECT_EQ(said.exit, 2) << program << words;
      EXPECT_TRUE(said.text.starts_with(program + ": error: ")) << said.text;
      EXPECT_NE(said.text.find(program, program.size()), std::string::npos) << said.text;
      EXPECT_NE(said.text.find(" --help"), std::string::npos) << said.text;
      EXPECT_EQ(run((folder / program).string() + " --help").exit, 0) << program;
    }
  EXPECT_TRUE(
      run((folder / "kiln-signer").string() + " serve").text.ends_with("see kiln-signer serve --help\n"));
}

}  // namespace
}  // namespace kiln
