#include <fmt/format.h>

#include "compiler_core/codegen/cpu/internal.h"
#include "compiler_core/codegen/cuda/internal.h"
#include "compiler_core/codegen/vulkan/internal.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/IPO/Internalize.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/DCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/Scalarizer.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Scalar/StructurizeCFG.h"
#include "llvm/Transforms/Utils/FixIrreducible.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/LowerSwitch.h"
#include "llvm/Transforms/Utils/UnifyFunctionExitNodes.h"
#include "llvm/Transforms/Utils/UnifyLoopExits.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"

namespace kiln::codegen {
namespace {

// The kernels come to LLVM in the form that NVPTX has for them: threads, blocks and barriers as intrinsics,
// shared memory as an address space. Which of its devices makes no difference to what leaves this file.
constexpr char kMachine[] = "sm_80";

// Kernels are what stays visible. The math library's functions stay functions: SPIR-V has calls, and each of
// them is in the module once. All else becomes part of its callers.
void markFunctions(llvm::Module& module, const std::vector<MappedKernel>& kernels) {
  llvm::StringSet<> names;
  for (const MappedKernel& kernel : kernels) names.insert(kernel.name);
  llvm::internalizeModule(module,
                          [&](const llvm::GlobalValue& value) { return names.contains(value.getName()); });
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr("no-builtins");
    if (names.contains(function.getName())) continue;
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    const bool isLibrary = function.getName().starts_with("kiln_");
    function.removeFnAttr(isLibrary ? llvm::Attribute::AlwaysInline : llvm::Attribute::NoInline);
    function.addFnAttr(isLibrary ? llvm::Attribute::NoInline : llvm::Attribute::AlwaysInline);
  }
}

// In a kernel with barriers nothing is promised of pointers: see codegen/cuda/ptx.cc.
void dropPromises(llvm::Module& module) {
  for (llvm::Function& function : module) {
    const bool waits = llvm::any_of(llvm::instructions(function), [](const llvm::Instruction& instruction) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      return call && call->isConvergent();
    });
    if (!waits) continue;
    for (llvm::Argument& argument : function.args()) argument.removeAttr(llvm::Attribute::NoAlias);
  }
}

// Fewer passes than for a CPU: those that make wide vectors, odd integers or tables of what is small stay
// out.
void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::PassBuilder builder(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::TargetLibraryInfoImpl library(machine.getTargetTriple());
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass(/*InsertLifetimeIntrinsics=*/false));
  llvm::FunctionPassManager each;
  llvm::ScalarizerPassOptions scalars;
  scalars.ScalarizeLoadStore = true;
  each.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  each.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  each.addPass(llvm::ScalarizerPass(scalars));
  each.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  each.addPass(llvm::InstCombinePass());
  each.addPass(llvm::SimplifyCFGPass());
  each.addPass(
      llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
  each.addPass(llvm::GVNPass());
  // Fewer steps for a driver to count: llvmpipe of Mesa 22.3 leaves every loop of a thread after 65,535 in
  // all.
  each.addPass(llvm::LoopUnrollPass(
      llvm::LoopUnrollOptions(/*OptLevel=*/2).setPartial(true).setRuntime(false).setPeeling(false)));
  each.addPass(llvm::InstCombinePass());
  each.addPass(llvm::SimplifyCFGPass());
  each.addPass(llvm::ScalarizerPass(scalars));
  each.addPass(llvm::DCEPass());
  each.addPass(llvm::LowerSwitchPass());
  each.addPass(llvm::UnifyFunctionExitNodesPass());
  each.addPass(llvm::FixIrreduciblePass());
  each.addPass(llvm::UnifyLoopExitsPass());
  each.addPass(llvm::LoopSimplifyPass());
  each.addPass(llvm::StructurizeCFGPass());
  each.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(each)));
  passes.addPass(llvm::GlobalDCEPass());
  passes.run(module, modules);
}

}  // namespace

Result<std::unique_ptr<llvm::Module>> prepareSpirv(mlir::ModuleOp module,
                                                   const std::vector<MappedKernel>& kernels,
                                                   const VulkanOptions& options, llvm::LLVMContext& context) {
  KILN_ASSIGN(auto functions, lowerDeviceKernels(module, createLowerToNvvmPass(), /*scalarMath=*/true));
  KILN_ASSIGN(auto machine, makeDeviceMachine(kMachine, /*contraction=*/false));
  mlir::registerNVVMDialectTranslation(*functions->getContext());
  KILN_ASSIGN(auto ir, translate(*functions, *machine, context));
  // Twice: what the math library brings has such operations too.
  KILN_TRY(replaceInexact(*ir));
  for (const std::string& library : options.bitcode) KILN_TRY(linkLibrary(*ir, library, /*hasAvx512=*/false));
  KILN_TRY(replaceInexact(*ir));
  for (const std::string& library : options.bitcode) KILN_TRY(linkLibrary(*ir, library, /*hasAvx512=*/false));
  markFunctions(*ir, kernels);
  dropPromises(*ir);
  std::string messages;
  llvm::raw_string_ostream out(messages);
  if (llvm::verifyModule(*ir, &out))
    return fail(Code::kInternal, "the device's LLVM module does not verify: " + messages);
  optimise(*ir, *machine);
  return ir;
}

}  // namespace kiln::codegen
