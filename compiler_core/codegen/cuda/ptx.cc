#include <fmt/format.h>

#include <mutex>

#include "compiler_core/codegen/cpu/internal.h"
#include "compiler_core/codegen/cuda/internal.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/Transforms/IPO/Internalize.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"

extern "C" {
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace kiln::codegen {
namespace {

// The version of PTX that all served devices have in common; ptxas 13.0 reads up to 9.0.
constexpr char kPtxFeature[] = "+ptx86";

// LLVM's target registry is process-wide, so its filling is too.
void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

// NVPTX computes a remainder from a rounded quotient; the math library's is exact, as it is on CPUs.
void callRemainders(llvm::Module& module) {
  std::vector<llvm::Instruction*> remainders;
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function))
      if (instruction.getOpcode() == llvm::Instruction::FRem) remainders.push_back(&instruction);
  for (llvm::Instruction* instruction : remainders) {
    llvm::IRBuilder<> b(instruction);
    llvm::Type* scalar = instruction->getType()->getScalarType();
    // 16-bit floats have an exact remainder in f32.
    llvm::Type* type = scalar->isDoubleTy() ? b.getDoubleTy() : b.getFloatTy();
    llvm::FunctionCallee callee = module.getOrInsertFunction(
        scalar->isDoubleTy() ? "kiln_remainder_f64" : "kiln_remainder_f32", type, type, type);
    const auto remainder = [&](llvm::Value* x, llvm::Value* y) {
      return b.CreateFPTrunc(b.CreateCall(callee, {b.CreateFPExt(x, type), b.CreateFPExt(y, type)}), scalar);
    };
    llvm::Value *x = instruction->getOperand(0), *y = instruction->getOperand(1), *result = nullptr;
    if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(instruction->getType())) {
      result = llvm::PoisonValue::get(vector);
      for (std::uint64_t i = 0; i < vector->getNumElements(); ++i)
        result = b.CreateInsertElement(
            result, remainder(b.CreateExtractElement(x, i), b.CreateExtractElement(y, i)), i);
    } else {
      result = remainder(x, y);
    }
    instruction->replaceAllUsesWith(result);
    instruction->eraseFromParent();
  }
}

Status markKernels(llvm::Module& module, const std::vector<MappedKernel>& kernels) {
  for (const MappedKernel& kernel : kernels) {
    llvm::Function* function = module.getFunction(kernel.name);
    if (!function || function->isDeclaration())
      return fail(Code::kInternal, fmt::format("the module defines no kernel {}", kernel.name));
    function->setCallingConv(llvm::CallingConv::PTX_Kernel);
    function->addFnAttr("nvvm.reqntid", std::to_string(kernel.threads));
  }
  return {};
}

// Parameters of which is said that nothing else points where they point.
using Alone = std::vector<llvm::Argument*>;

// In a kernel with barriers that holds for one thread, not for the threads of a block: what one of them
// writes behind such a pointer another reads after the barrier, and an optimiser that knew better would read
// it before. So it is left out there, and comes back for what turns out to be only read.
Alone takeAlone(llvm::Module& module) {
  Alone taken;
  for (llvm::Function& function : module) {
    if (function.getCallingConv() != llvm::CallingConv::PTX_Kernel) continue;
    const bool waits = llvm::any_of(llvm::instructions(function), [](const llvm::Instruction& instruction) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      return call && call->isConvergent();
    });
    if (!waits) continue;
    for (llvm::Argument& argument : function.args()) {
      if (!argument.hasNoAliasAttr()) continue;
      argument.removeAttr(llvm::Attribute::NoAlias);
      taken.push_back(&argument);
    }
  }
  return taken;
}

void giveBack(const Alone& taken) {
  for (llvm::Argument* argument : taken)
    if (argument->onlyReadsMemory()) argument->addAttr(llvm::Attribute::NoAlias);
}

// Everything but the kernels becomes part of them: a call needs a stack, which would be local memory.
void inlineAll(llvm::Module& module, const std::vector<MappedKernel>& kernels) {
  llvm::StringSet<> names;
  for (const MappedKernel& kernel : kernels) names.insert(kernel.name);
  llvm::internalizeModule(module,
                          [&](const llvm::GlobalValue& value) { return names.contains(value.getName()); });
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr("no-builtins");
    if (names.contains(function.getName())) continue;
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
}

Result<std::string> print(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream out(buffer);
  llvm::legacy::PassManager passes;
  llvm::TargetLibraryInfoImpl library(machine.getTargetTriple());
  library.disableAllFunctions();
  passes.add(new llvm::TargetLibraryInfoWrapperPass(library));
  if (machine.addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return fail(Code::kInternal, "the target writes no PTX");
  passes.run(module);
  return std::string(buffer.begin(), buffer.end());
}

}  // namespace

Result<std::unique_ptr<llvm::TargetMachine>> makeDeviceMachine(const std::string& arch, bool contraction) {
  initializeTarget();
  const llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) return fail(Code::kUnimplemented, "devices: " + error);
  // Never Fast: then every operation carries its rounding, and ptxas fuses nothing.
  llvm::TargetOptions settings;
  settings.AllowFPOpFusion = contraction ? llvm::FPOpFusion::Standard : llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, arch, kPtxFeature, settings, llvm::Reloc::PIC_, std::nullopt,
                                  llvm::CodeGenOptLevel::Aggressive));
  if (!machine) return fail(Code::kInternal, "no target machine for " + arch);
  return machine;
}

Result<std::string> emitPtx(mlir::ModuleOp module, const std::vector<MappedKernel>& kernels,
                            const CudaOptions& options) {
  KILN_ASSIGN(auto machine, makeDeviceMachine(options.arch, options.contraction));
  llvm::LLVMContext context;
  mlir::registerNVVMDialectTranslation(*module.getContext());
  KILN_ASSIGN(auto ir, translate(module, *machine, context));
  callRemainders(*ir);
  for (const std::string& library : options.bitcode) KILN_TRY(linkLibrary(*ir, library, /*hasAvx512=*/false));
  KILN_TRY(markKernels(*ir, kernels));
  inlineAll(*ir, kernels);
  std::string messages;
  llvm::raw_string_ostream out(messages);
  if (llvm::verifyModule(*ir, &out))
    return fail(Code::kInternal, "the device's LLVM module does not verify: " + messages);
  const Alone alone = takeAlone(*ir);
  optimize(*ir, *machine);
  giveBack(alone);
  return print(*ir, *machine);
}

}  // namespace kiln::codegen
