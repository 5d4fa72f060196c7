// A compiled program in memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler_core/runtime/elf/elf_check.h"
#include "compiler_core/runtime/program/abi1.h"
#include "compiler_core/runtime/program/function_names.h"
#include "compiler_core/runtime/program_abi.h"
#include "manifest/artifact/manifest.h"

namespace kiln::runtime {

// What kiln_run takes (program_abi.h).
struct RunArguments {
  const kiln_callbacks& callbacks;
  void* arena;
  const void* const* weights;
  const void* const* inputs;
  void* const* outputs;
  const std::int64_t* symbols;
  std::int64_t* outputDims;
};

// A function of a program, where it is mapped.
struct Function {
  std::string name;
  Bytes code;  // lives as long as the program
};

// Owns the mapping; the table lives as long. Immutable, thread safe.
class Program {
 public:
  // Reads `path` into sealed anonymous memory, requires the digest of the manifest's program, checks the ELF
  // file (elf/elf_check.h), maps that same memory, and checks the program table against the manifest.
  // kDataLoss for a bad program, kUnimplemented for one of another machine or a later ABI. ABI 1, 2 and 3 are
  // served.
  static Result<std::unique_ptr<Program>> load(const std::string& path, const Manifest& manifest);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // As kiln_run and kiln_shapes (program_abi.h) of profile `profile`, an index of the manifest's.
  std::int32_t run(std::size_t profile, const RunArguments& with) const;
  void shapes(std::size_t profile, const std::int64_t* symbols, std::int64_t* outputDims) const;
  // The names of its functions; kDataLoss if the symbol table is malformed.
  Result<FunctionNames> functionNames() const;
  // Its functions with their code, by address; what its symbol table says of other places is left out. The
  // code of one ends where the next begins. kDataLoss as functionNames().
  Result<std::vector<Function>> functions() const;
  // A function's address as functionNames() counts.
  template <class Function>
  std::uint64_t relative(Function function) const {
    return reinterpret_cast<std::uintptr_t>(function) - base_;
  }
  // The sum of the outputs' ranks, the counts of indices included.
  std::size_t outputDims() const { return outputDims_; }

 private:
  Program() = default;
  Status find(const ElfImage& image, const Manifest& manifest);
  // What ABI 3 has beside the table.
  Status findSpaces(const ElfImage& image, const Manifest& manifest) const;
  const kiln_program& table(const ElfImage& image) const {
    return *reinterpret_cast<const kiln_program*>(base_ + image.symbolAddress);
  }
  int memory_ = -1;         // the sealed file; open so that debuggers can read symbols through /proc
  void* handle_ = nullptr;  // of dlopen
  std::uintptr_t base_ = 0;
  std::vector<ElfSegment> segments_;
  const kiln_profile* profiles_ = nullptr;
  std::size_t outputDims_ = 0;
  Abi1Run abi1Run_ = nullptr;             // of a program of ABI 1, which has no profiles
  std::vector<std::int64_t> abi1Shapes_;  // and whose shapes are the manifest's
};

}  // namespace kiln::runtime
