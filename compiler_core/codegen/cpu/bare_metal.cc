#include "compiler_core/codegen/cpu/bare_metal.h"

#include <fmt/format.h>

#include "compiler_core/codegen/cpu/internal.h"
#include "compiler_core/runtime/program_abi.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsARM.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "mlir/IR/BuiltinOps.h"

namespace kiln::codegen {
namespace {

// Of FPSCR (Armv8-M Architecture Reference Manual, D1.2.94): AHP, DN, FZ, RMode and FZ16. Without them
// numbers are rounded to nearest, subnormals stay what they are and NaNs keep their payload. Other fields are
// not modes: with another LTPSIZE than the caller's, low-overhead loops would fault.
constexpr std::uint32_t kModes = 0x07c80000;

std::string weightName(std::size_t index) {
  return fmt::format("kiln_weight_{}", index);
}

// A module of constants alone, so that no pass ever looks at them.
std::unique_ptr<llvm::Module> weightsModule(const std::vector<std::vector<std::uint8_t>>& weights,
                                            llvm::TargetMachine& machine, llvm::LLVMContext& context) {
  auto module = std::make_unique<llvm::Module>("kiln_weights", context);
  module->setTargetTriple(machine.getTargetTriple());
  module->setDataLayout(machine.createDataLayout());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    auto* bytes = llvm::ConstantDataArray::get(context, llvm::ArrayRef(weights[i]));
    auto* global = new llvm::GlobalVariable(*module, bytes->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::ExternalLinkage, bytes, weightName(i));
    global->setVisibility(llvm::GlobalValue::HiddenVisibility);
    global->setSection(kWeightsSection);
    global->setAlignment(llvm::Align(KILN_ALIGNMENT));
  }
  return module;
}

// What stands around the run function: the arena, the addresses of the weights, the callbacks and the entry.
class Entry {
 public:
  Entry(llvm::Module& module, const BareMetalTable& table, std::size_t weights)
      : module_(module),
        table_(table),
        weights_(weights),
        pointer_(llvm::PointerType::getUnqual(module.getContext())),
        i32_(llvm::Type::getInt32Ty(module.getContext())),
        i64_(llvm::Type::getInt64Ty(module.getContext())) {}

  Status add() {
    llvm::Function* run = module_.getFunction(table_.profile.run);
    if (!run || run->isDeclaration())
      return fail(Code::kInternal, fmt::format("the module defines no function {}", table_.profile.run));
    // Kernels keep their names, which profilers show and the manifest measures.
    for (llvm::Function& function : module_) {
      if (function.isDeclaration()) continue;
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
      function.addFnAttr(llvm::Attribute::NoInline);
    }
    run->removeFnAttr(llvm::Attribute::NoInline);
    auto* type = llvm::FunctionType::get(i32_, {pointer_, pointer_}, false);
    auto* entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, table_.entry, module_);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(module_.getContext(), "", entry));
    llvm::Constant* none = llvm::ConstantPointerNull::get(pointer_);
    auto* dims = b.CreateAlloca(llvm::ArrayType::get(i64_, std::max(table_.outputDims, 1u)));
    auto* modes = b.CreateIntrinsic(i32_, llvm::Intrinsic::arm_get_fpscr, {});
    b.CreateIntrinsic(llvm::Intrinsic::arm_set_fpscr, {b.CreateAnd(modes, b.getInt32(~kModes))});
    auto* status = b.CreateCall(run->getFunctionType(), run,
                                {callbacks(), memory("kiln_arena", table_.profile.arenaBytes), weights(),
                                 entry->getArg(0), entry->getArg(1), none, dims});
    b.CreateIntrinsic(llvm::Intrinsic::arm_set_fpscr, {modes});
    b.CreateRet(status);
    return {};
  }

 private:
  llvm::GlobalVariable* constant(llvm::Constant* value, const char* name) {
    return new llvm::GlobalVariable(module_, value->getType(), /*isConstant=*/true,
                                    llvm::GlobalValue::InternalLinkage, value, name);
  }

  // Memory that is written before it is read, so that its first content makes no difference.
  llvm::Constant* memory(const char* name, std::uint64_t bytes) {
    if (bytes == 0) return llvm::ConstantPointerNull::get(pointer_);
    auto* type = llvm::ArrayType::get(llvm::Type::getInt8Ty(module_.getContext()), bytes);
    auto* global =
        new llvm::GlobalVariable(module_, type, /*isConstant=*/false, llvm::GlobalValue::InternalLinkage,
                                 llvm::ConstantAggregateZero::get(type), name);
    global->setSection(kArenaSection);
    global->setAlignment(llvm::Align(KILN_ALIGNMENT));
    return global;
  }

  llvm::Constant* weights() {
    std::vector<llvm::Constant*> addresses;
    auto* byte = llvm::Type::getInt8Ty(module_.getContext());
    for (std::size_t i = 0; i < weights_; ++i) {
      auto* weight = new llvm::GlobalVariable(module_, byte, /*isConstant=*/true,
                                              llvm::GlobalValue::ExternalLinkage, nullptr, weightName(i));
      weight->setVisibility(llvm::GlobalValue::HiddenVisibility);
      addresses.push_back(weight);
    }
    return constant(llvm::ConstantArray::get(llvm::ArrayType::get(pointer_, weights_), addresses),
                    "kiln_weights");
  }

  // parallel_for(user, kernel, environment, tasks), one task after the other; `user` is the scratch memory.
  llvm::Function* serialFor() {
    llvm::LLVMContext& context = module_.getContext();
    auto* type =
        llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer_, pointer_, pointer_, i64_}, false);
    auto* kernel = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer_, i64_, pointer_}, false);
    auto* function =
        llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "kiln_serial_for", module_);
    auto* before = llvm::BasicBlock::Create(context, "", function);
    auto* loop = llvm::BasicBlock::Create(context, "", function);
    auto* after = llvm::BasicBlock::Create(context, "", function);
    llvm::IRBuilder<> b(before);
    b.CreateCondBr(b.CreateICmpSGT(function->getArg(3), b.getInt64(0)), loop, after);
    b.SetInsertPoint(loop);
    auto* task = b.CreatePHI(i64_, 2);
    b.CreateCall(kernel, function->getArg(1), {function->getArg(2), task, function->getArg(0)});
    auto* next = b.CreateAdd(task, b.getInt64(1));
    task->addIncoming(b.getInt64(0), before);
    task->addIncoming(next, loop);
    b.CreateCondBr(b.CreateICmpSLT(next, function->getArg(3)), loop, after);
    b.SetInsertPoint(after);
    b.CreateRetVoid();
    return function;
  }

  // kiln_callbacks as far as ABI 2 reads it.
  llvm::Constant* callbacks() {
    return constant(
        llvm::ConstantStruct::getAnon({serialFor(), memory("kiln_scratch", table_.profile.scratchBytes)}),
        "kiln_callbacks");
  }

  llvm::Module& module_;
  const BareMetalTable& table_;
  std::size_t weights_;
  llvm::PointerType* pointer_;
  llvm::Type *i32_, *i64_;
};

Result<std::string> programObject(mlir::ModuleOp module, const BareMetalTable& table, std::size_t weights,
                                  const CpuOptions& options, std::string& optimized) {
  KILN_ASSIGN(auto machine, makeTargetMachine(options));
  llvm::LLVMContext context;
  KILN_ASSIGN(auto ir, translate(module, *machine, context));
  KILN_TRY(Entry(*ir, table, weights).add());
  std::string bitcode;
  llvm::raw_string_ostream out(bitcode);
  llvm::WriteBitcodeToFile(*ir, out);
  KILN_ASSIGN(auto whole, completePart(bitcode, options, context));
  optimize(*whole, *machine);
  if (options.keepIr) {
    llvm::raw_string_ostream text(optimized);
    whole->print(text, nullptr);
  }
  return emitObject(*whole, *machine);
}

Result<std::string> weightsObject(const std::vector<std::vector<std::uint8_t>>& weights,
                                  const CpuOptions& options) {
  KILN_ASSIGN(auto machine, makeTargetMachine(options));
  llvm::LLVMContext context;
  const auto module = weightsModule(weights, *machine, context);
  return emitObject(*module, *machine);
}

}  // namespace

Result<CpuProgram> generateBareMetalProgram(mlir::ModuleOp module, const BareMetalTable& table,
                                            const std::vector<std::vector<std::uint8_t>>& weights,
                                            const CpuOptions& options) {
  CpuProgram program;
  KILN_ASSIGN(std::string code, programObject(module, table, weights.size(), options, program.llvmIr));
  KILN_ASSIGN(std::string constants, weightsObject(weights, options));
  KILN_ASSIGN(const std::string linked, linkRelocatable({std::move(code), std::move(constants)}, options));
  KILN_ASSIGN(program.elf, hideAllBut(table.entry, linked));
  KILN_TRY(measure(program));
  return program;
}

}  // namespace kiln::codegen
