#include "compiler_core/codegen/cuda/assemble.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "compiler_core/codegen/temporary_file.h"
#include "manifest/artifact/device_image_limit.h"
#include "manifest/base/file.h"
#include "manifest/base/run_program.h"

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

// What the program says, as one line.
std::string oneLine(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

Result<ProgramRun> start(const std::vector<std::string>& arguments, const std::string& directory) {
  std::vector<std::string> environment;
  if (const char* value = std::getenv("GLIBC_TUNABLES"))
    environment.push_back(fmt::format("GLIBC_TUNABLES={}", value));
  // The sandbox limits its time, and has no /dev/null.
  auto ended = runProgram(arguments, {.environment = std::move(environment),
                                      .directory = directory,
                                      .standardError = StandardError::kJoined,
                                      .maxBytes = kMessageBytes,
                                      .keepInput = true});
  if (!ended)
    return fail(Code::kFailedPrecondition, fmt::format("ptxas does not start: {}", ended.error().message));
  ended->out = oneLine(std::move(ended->out));
  return ended;
}

Status judge(const ProgramRun& ended, const std::string& arch) {
  if (const int signal = ended.signal; signal != 0) {
    const bool limit = signal == SIGKILL || signal == SIGXCPU || signal == SIGTERM;
    return fail(limit ? Code::kResourceExhausted : Code::kInternal,
                fmt::format("ptxas was ended by signal {}{}", signal,
                            limit ? "; it may need more memory or time than it is given" : ""));
  }
  const int exit = ended.exitCode;
  // What a loader without its libraries, or with a file that is no program, ends with.
  if (exit == 127 || exit == 126)
    return fail(Code::kFailedPrecondition, fmt::format("ptxas does not start: {}", ended.out));
  if (exit != 0)
    return fail(Code::kInternal, fmt::format("ptxas refuses the kernels for {}: {}", arch, ended.out));
  return {};
}

Result<std::string> readCubinFile(const std::string& path) {
  auto bytes = readRegular(path, kMaxDeviceImageBytes, O_NOFOLLOW);
  if (!bytes && bytes.error().code == Code::kInvalidArgument)
    return fail(Code::kInternal,
                fmt::format("ptxas left no cubin of at most {} bytes", kMaxDeviceImageBytes));
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
  KILN_ASSIGN(const ProgramRun ended, start(commandLine(assembler, input, output), assembler.workDirectory));
  KILN_TRY(judge(ended, assembler.arch));
  return readCubinFile(result.path);
}

}  // namespace kiln::codegen
