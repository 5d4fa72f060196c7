#include <fmt/format.h>

#include "compiler_core/codegen/cpu/internal.h"
#include "compiler_core/runtime/program_abi.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

namespace kiln::codegen {
namespace {

Result<llvm::Function*> findFunction(llvm::Module& module, const std::string& name) {
  llvm::Function* function = module.getFunction(name);
  if (!function || function->isDeclaration())
    return fail(Code::kInternal, fmt::format("the module defines no function {}", name));
  return function;
}

}  // namespace

// The exported kiln_program and the profiles it points to: constant data, relocated by the load address.
Status addTable(llvm::Module& module, const ProgramTable& table) {
  llvm::LLVMContext& context = module.getContext();
  auto* i32 = llvm::Type::getInt32Ty(context);
  auto* i64 = llvm::Type::getInt64Ty(context);
  auto word = [&](std::size_t value) { return llvm::ConstantInt::get(i32, value); };
  auto wide = [&](std::uint64_t value) { return llvm::ConstantInt::get(i64, value); };
  auto addGlobal = [&](llvm::Constant* value, const char* name, llvm::GlobalValue::LinkageTypes linkage) {
    auto* global =
        new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true, linkage, value, name);
    global->setAlignment(llvm::Align(8));
    return global;
  };
  std::vector<llvm::Constant*> profiles;
  for (const ProfileEntry& profile : table.profiles) {
    KILN_ASSIGN(llvm::Function * run, findFunction(module, profile.run));
    KILN_ASSIGN(llvm::Function * shapes, findFunction(module, profile.shapes));
    profiles.push_back(
        llvm::ConstantStruct::getAnon({wide(profile.arenaBytes), wide(profile.scratchBytes), run, shapes}));
  }
  if (profiles.empty()) return fail(Code::kInternal, "a program without profiles");
  auto* list =
      llvm::ConstantArray::get(llvm::ArrayType::get(profiles[0]->getType(), profiles.size()), profiles);
  auto* entries = addGlobal(list, "kiln_profiles", llvm::GlobalValue::InternalLinkage);
  const auto abi = table.devices ? KILN_PROGRAM_ABI_DEVICES : KILN_PROGRAM_ABI;
  std::vector<llvm::Constant*> fields = {word(abi),
                                         word(table.inputs),
                                         word(table.outputs),
                                         word(table.weights),
                                         word(table.symbols),
                                         word(table.profiles.size()),
                                         word(table.outputDims),
                                         word(0),
                                         entries};
  if (table.devices) {
    std::vector<std::uint64_t> arenas;
    for (const ProfileEntry& profile : table.profiles) {
      arenas.push_back(profile.arenaBytes);
      arenas.insert(arenas.end(), profile.deviceArenaBytes.begin(), profile.deviceArenaBytes.end());
    }
    // ABI 3 adds kiln_device_program.
    auto* bytes = addGlobal(llvm::ConstantDataArray::get(context, arenas), "kiln_arena_bytes",
                            llvm::GlobalValue::InternalLinkage);
    fields.insert(fields.end(), {word(table.devices + 1), word(0), bytes});
  }
  addGlobal(llvm::ConstantStruct::getAnon(fields), KILN_PROGRAM_SYMBOL, llvm::GlobalValue::ExternalLinkage);
  return {};
}

Result<std::unique_ptr<llvm::Module>> translate(mlir::ModuleOp module, llvm::TargetMachine& machine,
                                                llvm::LLVMContext& context) {
  std::string messages;
  context.setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo* info, void* sink) {
        if (info->getSeverity() != llvm::DS_Error) return;
        llvm::raw_string_ostream out(*static_cast<std::string*>(sink));
        llvm::DiagnosticPrinterRawOStream printer(out);
        info->print(printer);
        out << "; ";
      },
      &messages);
  mlir::registerBuiltinDialectTranslation(*module.getContext());
  mlir::registerLLVMDialectTranslation(*module.getContext());
  // The conversions carry what is said about a loop, but not to where the translation looks.
  module.walk([](mlir::LLVM::BrOp branch) {
    if (auto about = branch->getAttrOfType<mlir::LLVM::LoopAnnotationAttr>("llvm.loop_annotation"))
      branch.setLoopAnnotationAttr(about);
  });
  // Names must not depend on who compiles where.
  auto ir = mlir::translateModuleToLLVMIR(module, context, "kiln");
  if (!ir) return fail(Code::kInternal, "the lowered module has no LLVM IR: " + messages);
  ir->setModuleIdentifier("kiln");
  ir->setSourceFileName("kiln");
  ir->setTargetTriple(machine.getTargetTriple());
  ir->setDataLayout(machine.createDataLayout());
  ir->setPICLevel(llvm::PICLevel::BigPIC);
  context.setDiagnosticHandlerCallBack(nullptr);
  return ir;
}

}  // namespace kiln::codegen
