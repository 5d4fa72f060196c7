#include "compiler_core/runtime/program/program.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "compiler_core/runtime/elf/elf_check.h"
#include "compiler_core/runtime/program/sealed_file.h"
#include "manifest/base/file.h"

namespace kiln::runtime {
namespace {

Status same(std::string_view what, std::uint64_t program, std::uint64_t stated) {
  if (program == stated) return {};
  return fail(Code::kDataLoss, "the program has " + std::string(what) + " " + std::to_string(program) +
                                   ", the manifest says " + std::to_string(stated));
}

Status checkCounts(std::uint32_t inputs, std::uint32_t outputs, std::uint32_t weights,
                   const Manifest& manifest) {
  KILN_TRY(same("inputs", inputs, manifest.inputs.size()));
  KILN_TRY(same("outputs", outputs, manifest.outputs.size() + (manifest.indexChecks.empty() ? 0 : 1)));
  return same("weights", weights, manifest.weights.size());
}

bool isServed(std::uint32_t abi) {
  return abi == 1 || abi == KILN_PROGRAM_ABI || abi == KILN_PROGRAM_ABI_DEVICES;
}

Status checkMemory(std::uint64_t arena, std::uint64_t scratch, const ProgramProfile& stated) {
  KILN_TRY(same("arena bytes", arena, stated.arenaBytes));
  return same("scratch bytes", scratch, stated.scratchBytes);
}

// An address before the load address wraps around and lies in no segment.
Status checkCode(std::uint64_t entry, const ElfImage& image) {
  if (image.contains(entry, 1, true)) return {};
  return fail(Code::kDataLoss, "the program's entry is outside its code");
}

}  // namespace

Result<std::unique_ptr<Program>> Program::load(const std::string& path, const Manifest& manifest) {
  KILN_ASSIGN(SealedFile file, SealedFile::copy(path, manifest.program.digest.size));
  if (digestOf(file.bytes()) != manifest.program.digest) {
    return fail(Code::kDataLoss, path + ": its digest is not the manifest's; fetch the artifact again");
  }
  const std::size_t table =
      manifest.programAbi == KILN_PROGRAM_ABI_DEVICES ? sizeof(kiln_device_program) : sizeof(kiln_program);
  auto image = checkElf(file.bytes(), hostMachine(), KILN_PROGRAM_SYMBOL, table);
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
  program->base_ = map->l_addr;
  program->segments_ = image->segments;
  if (auto found = program->find(*image, manifest); !found) return fail(found.error().in(path));
  return program;
}

// Checks the table against manifest and image and keeps what run() needs of it.
Status Program::find(const ElfImage& image, const Manifest& manifest) {
  const kiln_program& table = this->table(image);
  if (!isServed(table.abi)) {
    return fail(Code::kUnimplemented, "the program has ABI version " + std::to_string(table.abi) +
                                          ", this runtime serves versions 1 to " +
                                          std::to_string(KILN_PROGRAM_ABI_DEVICES) +
                                          "; use the runtime of the artifact's toolchain");
  }
  KILN_TRY(same("ABI version", table.abi, manifest.programAbi));
  KILN_TRY(checkCounts(table.input_count, table.output_count, table.weight_count, manifest));
  for (const TensorInfo& output : manifest.outputs) outputDims_ += output.shape.size();
  if (!manifest.indexChecks.empty()) ++outputDims_;
  if (table.abi == 1) {
    const auto& first = reinterpret_cast<const Abi1Program&>(table);
    KILN_TRY(checkMemory(first.arenaBytes, first.scratchBytes, manifest.profiles.at(0)));
    KILN_TRY(checkCode(relative(first.run), image));
    abi1Run_ = first.run;
    for (const TensorInfo& output : manifest.outputs)
      for (const Dim& dim : output.shape) abi1Shapes_.push_back(dim.value);
    return {};
  }
  KILN_TRY(same("symbols", table.symbol_count, manifest.symbols.size()));
  KILN_TRY(same("output dimensions", table.output_dim_count, outputDims_));
  KILN_TRY(same("profiles", table.profile_count, manifest.profiles.size()));
  const std::uint64_t profiles = relative(table.profiles);
  if (profiles % alignof(kiln_profile) != 0 ||
      !image.contains(profiles, table.profile_count * sizeof(kiln_profile), false)) {
    return fail(Code::kDataLoss, "the program's profiles are outside its segments");
  }
  for (std::size_t i = 0; i < table.profile_count; ++i) {
    const kiln_profile& profile = table.profiles[i];
    KILN_TRY(checkMemory(profile.arena_bytes, profile.scratch_bytes, manifest.profiles[i]));
    KILN_TRY(checkCode(relative(profile.run), image));
    KILN_TRY(checkCode(relative(profile.shapes), image));
  }
  if (table.abi == KILN_PROGRAM_ABI_DEVICES) KILN_TRY(findSpaces(image, manifest));
  profiles_ = table.profiles;
  return {};
}

Status Program::findSpaces(const ElfImage& image, const Manifest& manifest) const {
  const auto& table = reinterpret_cast<const kiln_device_program&>(this->table(image));
  KILN_TRY(same("memory spaces", table.space_count, manifest.devices.size() + 1));
  const std::uint64_t place = relative(table.arena_bytes);
  const std::uint64_t numbers = std::uint64_t{table.program.profile_count} * table.space_count;
  if (place % alignof(std::uint64_t) != 0 || !image.contains(place, numbers * sizeof(std::uint64_t), false)) {
    return fail(Code::kDataLoss, "the program's list of arenas is outside its segments");
  }
  const std::uint64_t* next = table.arena_bytes;
  for (const ProgramProfile& profile : manifest.profiles) {
    KILN_TRY(same("arena bytes", *next++, profile.arenaBytes));
    for (const std::uint64_t stated : profile.deviceArenaBytes)
      KILN_TRY(same("arena bytes on a device", *next++, stated));
  }
  return {};
}

std::int32_t Program::run(std::size_t profile, const RunArguments& with) const {
  if (abi1Run_ == nullptr) {
    return profiles_[profile].run(&with.callbacks, with.arena, with.weights, with.inputs, with.outputs,
                                  with.symbols, with.outputDims);
  }
  std::copy(abi1Shapes_.begin(), abi1Shapes_.end(), with.outputDims);
  return abi1Run_(&with.callbacks, with.arena, with.weights, with.inputs, with.outputs);
}

void Program::shapes(std::size_t profile, const std::int64_t* symbols, std::int64_t* outputDims) const {
  if (abi1Run_ == nullptr) return profiles_[profile].shapes(symbols, outputDims);
  std::copy(abi1Shapes_.begin(), abi1Shapes_.end(), outputDims);
}

Result<FunctionNames> Program::functionNames() const {
  struct stat status;
  if (::fstat(memory_, &status) != 0) return fail(errnoError(errno, "the program's memory"));
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(status.st_size));
  KILN_TRY(readExactly(memory_, bytes, 0, "the program's symbols"));
  return readFunctionNames(bytes);
}

Result<std::vector<Function>> Program::functions() const {
  KILN_ASSIGN(const FunctionNames names, functionNames());
  std::vector<Function> functions;
  for (auto at = names.begin(); at != names.end(); ++at) {
    const auto home = std::ranges::find_if(segments_, [&](const ElfSegment& segment) {
      return segment.executable && at->first >= segment.address &&
             at->first - segment.address < segment.bytes;
    });
    if (home == segments_.end()) continue;
    std::uint64_t end = home->address + home->bytes;
    if (const auto next = std::next(at); next != names.end()) end = std::min(end, next->first);
    functions.push_back({at->second, Bytes(reinterpret_cast<const std::uint8_t*>(base_ + at->first),
                                           static_cast<std::size_t>(end - at->first))});
  }
  return functions;
}

Program::~Program() {
  if (handle_ != nullptr) ::dlclose(handle_);
  if (memory_ >= 0) ::close(memory_);
}

}  // namespace kiln::runtime
