// A compiled program in memory.
#pragma once

#include <memory>
#include <string>

#include "compiler_core/runtime/program_abi.h"
#include "manifest/artifact/manifest.h"

namespace kiln::runtime {

// Owns the mapping; the table lives as long. Immutable, thread safe.
class Program {
 public:
  // Reads `path` into sealed anonymous memory, requires the digest of the manifest's program, checks the ELF
  // file (elf/elf_check.h), maps that same memory, and checks the program table against the manifest.
  // kDataLoss for a bad program, kUnimplemented for one of another machine or a later ABI.
  static Result<std::unique_ptr<Program>> load(const std::string& path, const Manifest& manifest);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const kiln_program& table() const { return *table_; }

 private:
  Program() = default;
  int memory_ = -1;         // the sealed file; open so that debuggers can read symbols through /proc
  void* handle_ = nullptr;  // of dlopen
  const kiln_program* table_ = nullptr;
};

}  // namespace kiln::runtime
