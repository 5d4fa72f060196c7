// Runs another program for what it prints. It may hang, crash or print without end.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "manifest/base/result.h"

namespace kiln {

// What becomes of the program's standard error.
enum class StandardError {
  kDropped,
  kKept,    // in ProgramRun::err
  kJoined,  // in ProgramRun::out, in the order of writing
};

struct RunOptions {
  // After it the program is killed; without one it may take as long as it wants.
  std::optional<std::chrono::milliseconds> limit = std::nullopt;
  // Exactly these ("NAME=VALUE"); without them this process's own.
  std::optional<std::vector<std::string>> environment = std::nullopt;
  std::string directory = {};  // that it starts in; "": this process's
  StandardError standardError = StandardError::kDropped;
  std::size_t maxBytes = 1 << 20;  // kept of each stream; the rest is read and dropped
  bool keepInput = false;          // standard input stays this process's; /dev/null otherwise
  // It leads a process group, which is killed as a whole. A signal of the terminal then misses it.
  bool ownGroup = false;
};

struct ProgramRun {
  int exitCode = 0;  // 128 + the signal that ended it
  int signal = 0;    // 0: it ended by itself
  std::string out, err;
};

// `arguments` begin with the program's path. The program gets no descriptor beyond the three standard ones
// and no blocked signal, and SIGTERM if this process or the calling thread ends meanwhile. With a limit the
// program's own end counts, though a child of it still holds its streams; without one, their end.
// kDeadlineExceeded after the limit: the program is killed, and left to the kernel if it is not gone at once.
// What does not start has errnoError's code. Thread safe.
Result<ProgramRun> runProgram(const std::vector<std::string>& arguments, const RunOptions& options);

}  // namespace kiln
