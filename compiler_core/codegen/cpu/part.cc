#include <fmt/format.h>

#include "compiler_core/codegen/cpu/internal.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/IPO/Internalize.h"

namespace kiln::codegen {
namespace {

void setAttributes(llvm::Module& module, const CpuOptions& options) {
  const std::string features = llvm::join(options.target.features, ",");
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    for (const char* name :
         {"target-cpu", "target-features", "tune-cpu", "min-legal-vector-width", kTargetFunctionAttr})
      function.removeFnAttr(name);
    function.addFnAttr("target-cpu", options.target.cpu);
    function.addFnAttr("target-features", features);
    function.addFnAttr("no-builtins");
    function.addFnAttr("frame-pointer", "none");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

// What code generation itself calls must keep its name until the linker resolves it.
bool isCalledByCodeGeneration(llvm::StringRef name) {
  return name == "memcpy" || name == "memmove" || name == "memset";
}

// Calls of functions that the library has once more for processors with AVX-512.
void chooseAvx512(llvm::Module& module, const llvm::Module& library) {
  for (llvm::Function& function : module) {
    const std::string name = function.getName().str() + "_avx512";
    if (function.isDeclaration() && library.getFunction(name)) function.setName(name);
  }
}

}  // namespace

Status linkLibrary(llvm::Module& module, const std::string& path, bool hasAvx512) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return fail(Code::kInvalidArgument, fmt::format("library {}: {}", path, buffer.getError().message()));
  // Lazily: only the bodies that are needed are read.
  auto library = llvm::getLazyBitcodeModule(**buffer, module.getContext());
  if (!library)
    return fail(Code::kInvalidArgument,
                fmt::format("library {}: {}", path, llvm::toString(library.takeError())));
  // The library carries no target of its own: it becomes part of the program before code is made.
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  if (hasAvx512) chooseAvx512(module, **library);
  if (llvm::Linker::linkModules(module, std::move(*library), llvm::Linker::Flags::LinkOnlyNeeded))
    return fail(Code::kInternal, fmt::format("library {} does not link into the program", path));
  return {};
}

Result<std::unique_ptr<llvm::Module>> completePart(const std::string& bitcode, const CpuOptions& options,
                                                   llvm::LLVMContext& context) {
  auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "kiln"), context);
  if (!module) return fail(Code::kInternal, "a part of the program: " + llvm::toString(module.takeError()));
  llvm::StringSet<> own;
  for (const llvm::GlobalValue& value : (*module)->global_values())
    if (!value.isDeclaration() && !value.hasLocalLinkage()) own.insert(value.getName());
  const bool hasAvx512 = llvm::is_contained(options.target.features, "+avx512f");
  for (const std::string& library : options.bitcode) KILN_TRY(linkLibrary(**module, library, hasAvx512));
  setAttributes(**module, options);
  llvm::internalizeModule(**module, [&](const llvm::GlobalValue& value) {
    return own.contains(value.getName()) || isCalledByCodeGeneration(value.getName());
  });
  std::string messages;
  llvm::raw_string_ostream out(messages);
  if (llvm::verifyModule(**module, &out))
    return fail(Code::kInternal, "the LLVM module does not verify: " + messages);
  return std::move(*module);
}

}  // namespace kiln::codegen
