#include <fmt/format.h>

#include "compiler_core/codegen/cpu/internal.h"
#include "compiler_core/runtime/program_abi.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

namespace kiln::codegen {
namespace {

Status linkLibrary(llvm::Module& module, const std::string& path) {
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
  if (llvm::Linker::linkModules(module, std::move(*library), llvm::Linker::Flags::LinkOnlyNeeded))
    return fail(Code::kInternal, fmt::format("library {} does not link into the program", path));
  return {};
}

Result<llvm::Function*> findFunction(llvm::Module& module, const std::string& name) {
  llvm::Function* function = module.getFunction(name);
  if (!function || function->isDeclaration())
    return fail(Code::kInternal, fmt::format("the module defines no function {}", name));
  return function;
}

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
  auto* value = llvm::ConstantStruct::getAnon(
      {word(KILN_PROGRAM_ABI), word(table.inputs), word(table.outputs), word(table.weights),
       word(table.symbols), word(table.profiles.size()), word(table.outputDims), word(0), entries});
  addGlobal(value, KILN_PROGRAM_SYMBOL, llvm::GlobalValue::ExternalLinkage);
  return {};
}

void setAttributes(llvm::Module& module, const CpuOptions& options) {
  const std::string features = llvm::join(options.target.features, ",");
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    for (const char* name : {"target-cpu", "target-features", "tune-cpu", "min-legal-vector-width"})
      function.removeFnAttr(name);
    function.addFnAttr("target-cpu", options.target.cpu);
    function.addFnAttr("target-features", features);
    function.addFnAttr("no-builtins");
    function.addFnAttr("frame-pointer", "none");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

// What code generation itself calls must keep its name until the linker resolves it.
bool staysVisible(const llvm::GlobalValue& value) {
  const llvm::StringRef name = value.getName();
  return name == KILN_PROGRAM_SYMBOL || name == "memcpy" || name == "memmove" || name == "memset";
}

}  // namespace

Result<std::unique_ptr<llvm::Module>> translate(mlir::ModuleOp module, const ProgramTable& table,
                                                const CpuOptions& options, llvm::TargetMachine& machine,
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
  // Names must not depend on who compiles where.
  auto ir = mlir::translateModuleToLLVMIR(module, context, "kiln");
  if (!ir) return fail(Code::kInternal, "the lowered module has no LLVM IR: " + messages);
  ir->setModuleIdentifier("kiln");
  ir->setSourceFileName("kiln");
  ir->setTargetTriple(machine.getTargetTriple());
  ir->setDataLayout(machine.createDataLayout());
  ir->setPICLevel(llvm::PICLevel::BigPIC);
  for (const std::string& library : options.bitcode) KILN_TRY(linkLibrary(*ir, library));
  KILN_TRY(addTable(*ir, table));
  setAttributes(*ir, options);
  llvm::internalizeModule(*ir, staysVisible);
  llvm::raw_string_ostream out(messages);
  if (llvm::verifyModule(*ir, &out))
    return fail(Code::kInternal, "the LLVM module does not verify: " + messages);
  context.setDiagnosticHandlerCallBack(nullptr);
  return ir;
}

}  // namespace kiln::codegen
