// Runs the real `kiln` and keeps what it says.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/temp_directory.h"

namespace kiln::testing_support {

struct KilnResult {
  int exit = -1;
  std::string out, err;

  std::string lastLine() const {
    auto text = out;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text.substr(text.rfind('\n') + 1);
  }
};

// Where a program's output goes instead of into the KilnResult ("" for there), and what to do while it runs
// and, in its own process, right before it starts.
struct KilnStreams {
  std::string out, err;
  std::function<void(pid_t)> running;
  std::function<void()> starting;
};

// `environment` replaces the process's own but for PATH and the switch of a mutation run.
inline KilnResult runKiln(const std::vector<std::string>& arguments,
                          const std::map<std::string, std::string>& environment = {},
                          const std::string& directory = "/", const KilnStreams& streams = {}) {
  const TempDirectory scratch;
  const auto out = streams.out.empty() ? scratch / "out" : streams.out;
  const auto err = streams.err.empty() ? scratch / "err" : streams.err;
  std::vector<std::string> words{KILN_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables{"PATH=/usr/bin:/bin"};
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  for (const char* name : {"KILN_MUTANT", "KILN_MUTANTS_REACHED"})
    if (const char* value = std::getenv(name)) variables.push_back(std::string(name) + "=" + value);
  const auto pointers = [](std::vector<std::string>& from) {
    std::vector<char*> to;
    for (auto& each : from) to.push_back(each.data());
    to.push_back(nullptr);
    return to;
  };
  auto argv = pointers(words), envp = pointers(variables);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::chdir(directory.c_str()) != 0) ::_exit(126);
    ::dup2(::open("/dev/null", O_RDONLY), 0);
    ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT, 0600), 1);
    ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT, 0600), 2);
    if (streams.starting) streams.starting();
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
  }
  if (streams.running) streams.running(child);
  int status = 0;
  ::waitpid(child, &status, 0);
  const auto slurp = [](const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  };
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          streams.out.empty() ? slurp(out) : "", streams.err.empty() ? slurp(err) : ""};
}

}  // namespace kiln::testing_support
