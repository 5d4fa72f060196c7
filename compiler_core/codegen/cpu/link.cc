#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <deque>
#include <vector>

#include "compiler_core/codegen/cpu/internal.h"
#include "compiler_core/codegen/temporary_file.h"
#include "lld/Common/Driver.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "manifest/base/file.h"
#include "manifest/base/mutex.h"

LLD_HAS_DRIVER(elf)

namespace kiln::codegen {
namespace {

// Runs lld with `arguments` on the objects and the builtins; returns what it wrote.
Result<std::string> link(std::vector<const char*> arguments, const std::vector<std::string>& objects,
                         const CpuOptions& options) {
  // lld keeps its state in the process, and a link that ended badly must be the last one.
  static Mutex mutex;
  static bool usable KILN_GUARDED_BY(mutex) = true;
  const MutexLock lock(mutex);
  if (!usable)
    return fail(Code::kInternal, "an earlier link ended badly; the linker cannot run again in this process");

  const TemporaryFile output(options.workDirectory + "/.link-output.so");
  std::deque<TemporaryFile> inputs;
  for (const std::string& object : objects) {
    inputs.emplace_back(fmt::format("{}/.link-input-{}.o", options.workDirectory, inputs.size()));
    KILN_TRY(inputs.back().write(object));
  }
  arguments.insert(arguments.end(), {"-o", output.path.c_str()});
  for (const TemporaryFile& input : inputs) arguments.push_back(input.path.c_str());
  if (!options.builtinsArchive.empty()) {
    if (::access(options.builtinsArchive.c_str(), R_OK) != 0)
      return fail(Code::kInvalidArgument, errnoError(errno, options.builtinsArchive).message);
    arguments.push_back("--exclude-libs=ALL");
    arguments.push_back(options.builtinsArchive.c_str());
  }
  std::string messages;
  llvm::raw_string_ostream sink(messages);
  const lld::Result result = lld::lldMain(arguments, sink, sink, {{lld::Gnu, &lld::elf::link}});
  usable = result.canRunAgain;
  if (result.retCode != 0) return fail(Code::kInternal, "the program does not link: " + messages);
  auto file = llvm::MemoryBuffer::getFile(output.path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file) return fail(Code::kInternal, fmt::format("{}: {}", output.path, file.getError().message()));
  return (*file)->getBuffer().str();
}

}  // namespace

Result<std::string> linkShared(const std::vector<std::string>& objects, const CpuOptions& options) {
  // --no-undefined: a program that would need a library is an error here, never at load.
  return link({"ld.lld", "-shared", "--no-undefined", "-Bsymbolic", "--build-id=none", "--hash-style=gnu",
               "-znow", "-zrelro", "-znoexecstack", "-zseparate-code", "-ztext", "--gc-sections",
               "--threads=1", "--no-dynamic-linker"},
              objects, options);
}

Result<std::string> linkRelocatable(const std::vector<std::string>& objects, const CpuOptions& options) {
  return link({"ld.lld", "-r", "--build-id=none", "--threads=1"}, objects, options);
}

}  // namespace kiln::codegen
