#include "compiler_core/runtime/program/program.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include "compiler_core/runtime/elf/elf_check.h"
#include "compiler_core/runtime/program/sealed_file.h"

namespace kiln::runtime {
namespace {

Status checkTable(const kiln_program& table, const ElfImage& image, std::uintptr_t base,
                  const Manifest& manifest) {
  if (table.abi != KILN_PROGRAM_ABI) {
    return fail(Code::kUnimplemented, "the program has ABI version " + std::to_string(table.abi) +
                                          ", this runtime serves version " +
                                          std::to_string(KILN_PROGRAM_ABI) +
                                          "; use the runtime of the artifact's toolchain");
  }
  const auto same = [](std::string_view what, std::uint64_t program, std::uint64_t stated) -> Status {
    if (program == stated) return {};
    return fail(Code::kDataLoss, "the program has " + std::string(what) + " " + std::to_string(program) +
                                     ", the manifest says " + std::to_string(stated));
  };
  KILN_TRY(same("ABI version", table.abi, manifest.programAbi));
  KILN_TRY(same("inputs", table.input_count, manifest.inputs.size()));
  KILN_TRY(same("outputs", table.output_count, manifest.outputs.size()));
  KILN_TRY(same("weights", table.weight_count, manifest.weights.size()));
  KILN_TRY(same("arena bytes", table.arena_bytes, manifest.arenaBytes));
  KILN_TRY(same("scratch bytes", table.scratch_bytes, manifest.scratchBytes));
  const auto entry = reinterpret_cast<std::uintptr_t>(table.run);
  if (entry < base || !image.contains(entry - base, 1, true)) {
    return fail(Code::kDataLoss, "the program's entry is outside its code");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Program>> Program::load(const std::string& path, const Manifest& manifest) {
  KILN_ASSIGN(SealedFile file, SealedFile::copy(path, manifest.program.digest.size));
  if (digestOf(file.bytes()) != manifest.program.digest) {
    return fail(Code::kDataLoss, path + ": its digest is not the manifest's; fetch the artifact again");
  }
  auto image = checkElf(file.bytes(), hostMachine(), KILN_PROGRAM_SYMBOL, sizeof(kiln_program));
  if (!image) return fail(image.error().in(path));

  std::unique_ptr<Program> program(new Program());
  program->memory_ = file.release();
  // By this process's number rather than "self", so that a debugger finds the symbols at the path too.
  const std::string name = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(program->memory_);
  program->handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (program->handle_ == nullptr) {
    const char* reason = ::dlerror();
    return fail(Code::kInternal,
                path + ": the system's loader refused it: " + (reason != nullptr ? reason : "no reason"));
  }
  link_map* map = nullptr;
  if (::dlinfo(program->handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) {
    return fail(Code::kInternal, path + ": the system's loader does not say where it is");
  }
  const std::uintptr_t base = map->l_addr;
  program->table_ = reinterpret_cast<const kiln_program*>(base + image->symbolAddress);
  if (auto checked = checkTable(*program->table_, *image, base, manifest); !checked) {
    return fail(checked.error().in(path));
  }
  return program;
}

Program::~Program() {
  if (handle_ != nullptr) ::dlclose(handle_);
  if (memory_ >= 0) ::close(memory_);
}

}  // namespace kiln::runtime
