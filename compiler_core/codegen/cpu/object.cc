#include <fmt/format.h>

#include <algorithm>

#include "compiler_core/codegen/cpu/internal.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Error.h"

namespace kiln::codegen {

Status measure(CpuProgram& program) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(program.elf, "program.so"));
  if (!file) return fail(Code::kInternal, "the linked program: " + llvm::toString(file.takeError()));
  for (const llvm::object::SectionRef& section : (*file)->sections())
    if (section.isText()) program.codeBytes += section.getSize();
  for (const llvm::object::ELFSymbolRef symbol : (*file)->symbols()) {
    auto type = symbol.getType();
    auto name = symbol.getName();
    if (!type || !name) {
      llvm::consumeError(type.takeError());
      llvm::consumeError(name.takeError());
      return fail(Code::kInternal, "the linked program has an unreadable symbol table");
    }
    if (*type == llvm::object::SymbolRef::ST_Function && symbol.getSize() > 0)
      program.functions.push_back({name->str(), symbol.getSize()});
  }
  std::ranges::sort(program.functions, {}, &CodeSymbol::name);
  return {};
}

}  // namespace kiln::codegen
