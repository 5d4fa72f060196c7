// What a relocatable object shows of itself.
#include <fmt/format.h>

#include "compiler_core/codegen/cpu/internal.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace kiln::codegen {
namespace {

tl::unexpected<Error> unreadable(llvm::Error error) {
  return fail(Code::kInternal, "the linked program: " + llvm::toString(std::move(error)));
}

// Neither a name that something else would have to define, nor one beside the entry that could clash.
Status checkSymbols(const llvm::object::ObjectFile& object, const std::string& entry) {
  for (const llvm::object::SymbolRef& symbol : object.symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags) return unreadable(flags.takeError());
    if (!name) return unreadable(name.takeError());
    if (name->empty()) continue;
    if (*flags & llvm::object::SymbolRef::SF_Undefined)
      return fail(Code::kInternal, fmt::format("the program needs {}, which nothing defines", name->str()));
    if ((*flags & llvm::object::SymbolRef::SF_Global) && *name != entry)
      return fail(Code::kInternal, fmt::format("the program shows {}", name->str()));
  }
  return {};
}

}  // namespace

Result<std::string> hideAllBut(const std::string& entry, const std::string& elf) {
  auto object = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(elf, "program.o"));
  if (!object) return unreadable(object.takeError());
  llvm::objcopy::ConfigManager config;
  config.ELF.LocalizeHidden = true;
  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream out(buffer);
  if (auto error = llvm::objcopy::executeObjcopyOnBinary(config, **object, out))
    return unreadable(std::move(error));
  std::string hidden(buffer.begin(), buffer.end());
  auto made = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(hidden, "program.o"));
  if (!made) return unreadable(made.takeError());
  KILN_TRY(checkSymbols(**made, entry));
  return hidden;
}

}  // namespace kiln::codegen
