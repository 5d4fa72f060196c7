#include "api/cli/artifact/run_jitdump.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <utility>

#include "compiler_core/runtime/elf/elf_check.h"
#include "compiler_core/runtime/session/functions.h"
#include "manifest/base/file.h"
#include "manifest/base/output_directory.h"

namespace kiln::cli {
namespace {

constexpr std::uint32_t kMagic = 0x4A695444;  // "JiTD" in the order of bytes of this machine
constexpr std::uint32_t kVersion = 1, kCodeLoad = 0;

struct Header {
  std::uint32_t magic = kMagic, version = kVersion, totalSize = 40, machine = 0, reserved = 0, process = 0;
  std::uint64_t time = 0, flags = 0;
};
static_assert(sizeof(Header) == 40);

// Behind it come the name with its NUL, and the code.
struct CodeLoad {
  std::uint32_t kind = kCodeLoad, totalSize = 0;
  std::uint64_t time = 0;
  std::uint32_t process = 0, thread = 0;
  std::uint64_t address = 0, codeAddress = 0, codeSize = 0, index = 0;
};
static_assert(sizeof(CodeLoad) == 56);

std::uint64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

template <class Record>
void append(std::string& to, const Record& record) {
  to.append(reinterpret_cast<const char*>(&record), sizeof record);
}

std::string dumpOf(const std::vector<runtime::Function>& functions) {
  const auto process = static_cast<std::uint32_t>(::getpid());
  std::string dump;
  append(dump, Header{.machine = static_cast<std::uint32_t>(runtime::hostMachine()),
                      .process = process,
                      .time = now()});
  std::uint64_t index = 0;
  for (const runtime::Function& function : functions) {
    const auto address = reinterpret_cast<std::uintptr_t>(function.code.data());
    const std::size_t size = sizeof(CodeLoad) + function.name.size() + 1 + function.code.size();
    append(dump, CodeLoad{.totalSize = static_cast<std::uint32_t>(size),
                          .time = now(),
                          .process = process,
                          .thread = static_cast<std::uint32_t>(::syscall(SYS_gettid)),
                          .address = address,
                          .codeAddress = address,
                          .codeSize = function.code.size(),
                          .index = index++});
    dump.append(function.name.c_str(), function.name.size() + 1);
    dump.append(reinterpret_cast<const char*>(function.code.data()), function.code.size());
  }
  return dump;
}

std::size_t pageBytes() {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

Result<Jitdump> Jitdump::write(const std::string& folder, const runtime::Artifact& artifact) {
  KILN_ASSIGN(const auto functions, runtime::functionsOf(*artifact.handle()));
  const std::string name = "jit-" + std::to_string(::getpid()) + ".dump", path = folder + "/" + name;
  KILN_ASSIGN(const auto directory, OutputDirectory::open(folder));
  KILN_TRY(directory.write(name, asBytes(dumpOf(functions))));
  // perf looks for a mapping of a file of this name that may be run.
  KILN_ASSIGN(const UniqueFd file, openRegular(path, O_NOFOLLOW));
  void* const mark = ::mmap(nullptr, pageBytes(), PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0);
  if (mark == MAP_FAILED)
    return fail(
        errnoError(errno, path + ": perf finds it by a mapping that may be run; name another folder"));
  return Jitdump(path, mark);
}

Jitdump::Jitdump(Jitdump&& other) noexcept
    : file_(std::move(other.file_)), mark_(std::exchange(other.mark_, nullptr)) {}

Jitdump::~Jitdump() {
  if (mark_ != nullptr) ::munmap(mark_, pageBytes());
}

}  // namespace kiln::cli
