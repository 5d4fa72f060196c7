#include "compiler_core/codegen/cuda/assemble.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "compiler_core/codegen/temporary_file.h"
#include "manifest/artifact/device_image_limit.h"

namespace kiln::codegen {
namespace {

namespace fs = std::filesystem;

constexpr char kLoader[] = "ld-linux-x86-64.so.2";
constexpr std::size_t kMessageBytes = 4096;

// Paths still mean the same from another directory.
std::string absolute(const std::string& path) {
  std::error_code error;
  const fs::path found = fs::absolute(path, error);
  return error ? path : found.string();
}

std::vector<std::string> commandLine(const Assembler& assembler, const std::string& input,
                                     const std::string& output) {
  std::vector<std::string> arguments;
  const std::string lib = absolute(assembler.toolchainLib), loader = lib + "/" + kLoader;
  if (!assembler.toolchainLib.empty() && ::access(loader.c_str(), F_OK) == 0)
    arguments = {loader, "--library-path", lib};
  for (const std::string& argument :
       {absolute(assembler.ptxas), "-arch=" + assembler.arch, input, std::string("-o"), output})
    arguments.push_back(argument);
  return arguments;
}

struct Ended {
  int status = 0;
  std::string messages;
};

// All that the child writes is read, the beginning is kept.
std::string drain(int fd) {
  std::string kept;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    kept.append(buffer.data(), std::min(static_cast<std::size_t>(got), kMessageBytes - kept.size()));
  }
  for (char& c : kept)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  while (kept.ends_with(' ')) kept.pop_back();
  return kept;
}

Result<Ended> start(const std::vector<std::string>& arguments, const std::string& directory) {
  std::vector<char*> argv, environment;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::string tunables;
  if (const char* value = std::getenv("GLIBC_TUNABLES")) {
    tunables = fmt::format("GLIBC_TUNABLES={}", value);
    environment.push_back(tunables.data());
  }
  environment.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(errnoError(errno, "ptxas: pipe"));
  UniqueFd reading(ends[0]), writing(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, writing.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, writing.get(), STDERR_FILENO);
  ::posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  pid_t child = 0;
  const int error = ::posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    return fail(Code::kFailedPrecondition,
                fmt::format("ptxas does not start: {}", errnoError(error, arguments.front()).message));
  writing.reset();
  Ended ended;
  ended.messages = drain(reading.get());
  while (::waitpid(child, &ended.status, 0) < 0)
    if (errno != EINTR) return fail(errnoError(errno, "ptxas: waiting for its end"));
  return ended;
}

Status judge(const Ended& ended, const std::string& arch) {
  if (WIFSIGNALED(ended.status)) {
    const int signal = WTERMSIG(ended.status);
    const bool limit = signal == SIGKILL || signal == SIGXCPU || signal == SIGTERM;
    return fail(limit ? Code::kResourceExhausted : Code::kInternal,
                fmt::format("ptxas was ended by signal {}{}", signal,
                            limit ? "; it may need more memory or time than it is given" : ""));
  }
  const int exit = WEXITSTATUS(ended.status);
  // What a loader without its libraries, or with a file that is no program, ends with.
  if (exit == 127 || exit == 126)
    return fail(Code::kFailedPrecondition, fmt::format("ptxas does not start: {}", ended.messages));
  if (exit != 0)
    return fail(Code::kInternal, fmt::format("ptxas refuses the kernels for {}: {}", arch, ended.messages));
  return {};
}

Result<std::string> readAll(const std::string& path) {
  KILN_ASSIGN(UniqueFd file, openFile(path, O_RDONLY | O_NOFOLLOW, 0, path));
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return fail(errnoError(errno, path));
  if (!S_ISREG(info.st_mode) || info.st_size < 0 ||
      static_cast<std::uint64_t>(info.st_size) > kMaxDeviceImageBytes)
    return fail(Code::kInternal,
                fmt::format("ptxas left no cubin of at most {} bytes", kMaxDeviceImageBytes));
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  KILN_TRY(readExactly(file.get(), {reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()}, 0, path));
  return bytes;
}

}  // namespace

Result<std::string> assemble(const std::string& ptx, const Assembler& assembler) {
  if (assembler.ptxas.empty() || ::access(assembler.ptxas.c_str(), F_OK) != 0)
    return fail(
        Code::kUnimplemented,
        "this toolchain has no ptxas, so it serves no cuda target; infra/setup fetches CUDA's compiler parts "
        "for infra/toolchain/build");
  const std::string input = fmt::format(".kernels-{}.ptx", assembler.arch),
                    output = fmt::format(".kernels-{}.cubin", assembler.arch);
  const TemporaryFile source(assembler.workDirectory + "/" + input),
      result(assembler.workDirectory + "/" + output);
  KILN_TRY(source.write(ptx));
  KILN_ASSIGN(const Ended ended, start(commandLine(assembler, input, output), assembler.workDirectory));
  KILN_TRY(judge(ended, assembler.arch));
  return readAll(result.path);
}

}  // namespace kiln::codegen
