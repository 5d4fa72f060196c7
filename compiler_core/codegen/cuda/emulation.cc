#include <fmt/format.h>

#include "compiler_core/codegen/cuda/internal.h"
#include "compiler_core/runtime/emulated/emulated_abi.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"
#include "mlir/IR/BuiltinOps.h"

namespace kiln::codegen {
namespace {

llvm::GlobalVariable* addGlobal(llvm::Module& module, llvm::Constant* value, const std::string& name,
                                llvm::GlobalValue::LinkageTypes linkage) {
  return new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true, linkage, value, name);
}

// The exported kiln_emulation and the entries it points to: constant data, relocated by the load address.
Status addKernels(llvm::Module& module, const std::vector<MappedKernel>& kernels) {
  llvm::LLVMContext& context = module.getContext();
  const auto word = [&](std::uint32_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value);
  };
  std::vector<llvm::Constant*> entries;
  for (const MappedKernel& kernel : kernels) {
    llvm::Function* function = module.getFunction(kernel.name);
    if (!function || function->isDeclaration())
      return fail(Code::kInternal, fmt::format("the module defines no kernel {}", kernel.name));
    const auto text = [&](const char* prefix, const std::string& value) {
      return addGlobal(module, llvm::ConstantDataArray::getString(context, value), prefix + kernel.name,
                       llvm::GlobalValue::InternalLinkage);
    };
    entries.push_back(llvm::ConstantStruct::getAnon(
        {text("name_of_", kernel.name), function, word(kernel.threads), word(kernel.sharedBytes),
         word(static_cast<std::uint32_t>(kernel.parameters.size())), word(0),
         text("parameters_of_", kernel.parameters)}));
  }
  if (entries.empty()) return fail(Code::kInternal, "an emulation without kernels");
  auto* list = llvm::ConstantArray::get(llvm::ArrayType::get(entries[0]->getType(), entries.size()), entries);
  auto* table = addGlobal(module, list, "kiln_emulated_entries", llvm::GlobalValue::InternalLinkage);
  auto* value = llvm::ConstantStruct::getAnon(
      {word(KILN_EMULATION_ABI), word(static_cast<std::uint32_t>(kernels.size())), table});
  addGlobal(module, value, KILN_EMULATION_SYMBOL, llvm::GlobalValue::ExternalLinkage);
  return {};
}

}  // namespace

Result<std::string> emitEmulation(mlir::ModuleOp module, const std::vector<MappedKernel>& kernels,
                                  const CpuOptions& options) {
  const auto addExports = [&](llvm::Module& ir) { return addKernels(ir, kernels); };
  KILN_ASSIGN(CpuProgram program, generateSharedObject(module, addExports, options));
  return std::move(program.elf);
}

}  // namespace kiln::codegen
