// Colours and rewritten lines are for who looks at a terminal, and asks for none otherwise.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <vector>

#include "tests/api/cli/kiln_process.h"

namespace kiln {
namespace {

using testing_support::runKiln;
using Variables = std::map<std::string, std::string>;

constexpr char kRed[] = "kiln: \x1b[1;31merror:\x1b[0m ";
constexpr char kPlain[] = "kiln: error: ";

// What a command that fails says where all of its streams are a terminal.
std::string onTerminal(const Variables& variables) {
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    std::vector<std::string> texts;
    for (const auto& [name, value] : variables) texts.push_back(name + "=" + value);
    std::vector<char*> environment;
    for (std::string& text : texts) environment.push_back(text.data());
    environment.push_back(nullptr);
    char program[] = KILN_PROGRAM, word[] = "bake";
    char* words[] = {program, word, nullptr};
    ::execve(program, words, environment.data());
    ::_exit(127);
  }
  std::string said;
  char buffer[4096];
  for (ssize_t got; (got = ::read(terminal, buffer, sizeof buffer)) > 0;)
    said.append(buffer, static_cast<std::size_t>(got));
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(terminal);
  EXPECT_EQ(WEXITSTATUS(status), 2);
  return said;
}

TEST(KilnColour, IsWhatTheTerminalAndTheVariablesSay) {
  EXPECT_EQ(onTerminal({{"TERM", "xterm"}}).rfind(kRed, 0), 0u);
  EXPECT_EQ(onTerminal({{"TERM", "dumb"}}).rfind(kPlain, 0), 0u);
  EXPECT_EQ(onTerminal({{"TERM", "xterm"}, {"NO_COLOR", "1"}}).rfind(kPlain, 0), 0u);
  EXPECT_EQ(onTerminal({{"TERM", "xterm"}, {"NO_COLOR", ""}}).rfind(kRed, 0), 0u) << "empty is not set";
  EXPECT_EQ(onTerminal({{"TERM", "dumb"}, {"CLICOLOR_FORCE", "1"}}).rfind(kRed, 0), 0u);
}

TEST(KilnColour, NoPipeGetsAnyUnlessForced) {
  const auto said = [](const Variables& variables) { return runKiln({"bake"}, variables).err; };
  EXPECT_EQ(said({{"TERM", "xterm"}}).rfind(kPlain, 0), 0u);
  EXPECT_EQ(said({{"CLICOLOR_FORCE", "1"}}).rfind(kRed, 0), 0u);
  EXPECT_EQ(said({{"CLICOLOR_FORCE", "0"}}).rfind(kPlain, 0), 0u);
  EXPECT_EQ(said({{"CLICOLOR_FORCE", "1"}, {"NO_COLOR", "x"}}).rfind(kPlain, 0), 0u);
  EXPECT_EQ(runKiln({"bake", "--json"}, {{"CLICOLOR_FORCE", "1"}}).out.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace kiln
