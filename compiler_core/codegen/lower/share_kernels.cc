#include "compiler_core/codegen/lower/passes.h"
#include "compiler_core/ir/attributes.h"
#include "compiler_core/schedule/lower/lowering.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/BLAKE3.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/Pass.h"

namespace kiln::codegen {

#define GEN_PASS_DEF_SHAREKERNELSPASS
#include "compiler_core/codegen/lower/passes.h.inc"

namespace {

using namespace mlir;

// A kernel (environment, task, scratch) in two parts: the addresses and numbers that it reads from its
// environment, and the code that works on them.
class Kernel {
 public:
  explicit Kernel(func::FuncOp function) : function_(function) { findAddresses(); }

  // Equal for kernels that do the same to what they are given. Code is written down with values numbered in
  // order of first use; a name, an attribute or a type is one object of the context, so its address stands
  // for it. Digests are compared for equality alone: nothing depends on where objects lie.
  std::string digest() {
    for (NamedAttribute attribute : attributes()) {
      word(attribute.getName().getAsOpaquePointer());
      word(attribute.getValue().getAsOpaquePointer());
    }
    for (Operation* op : codeOps()) write(op);
    const auto bytes = llvm::BLAKE3::hash(
        ArrayRef(reinterpret_cast<const std::uint8_t*>(words_.data()), words_.size() * sizeof(words_[0])));
    words_ = {};
    numbers_.clear();
    return {bytes.begin(), bytes.end()};
  }
  func::FuncOp function() const { return function_; }

  // The code as a function of what it is given; this kernel keeps the addresses.
  func::FuncOp takeCode() {
    OpBuilder top(function_);
    SmallVector<Type> types;
    for (Value value : given_) types.push_back(value.getType());
    auto code = func::FuncOp::create(top, function_.getLoc(), (function_.getName() + "_code").str(),
                                     top.getFunctionType(types, {}));
    code.setPrivate();
    // Copies of it in every kernel would undo what sharing saves.
    code->setAttr("passthrough", top.getStrArrayAttr({"noinline"}));
    for (NamedAttribute attribute : attributes()) code->setAttr(attribute.getName(), attribute.getValue());
    Block* body = code.addEntryBlock();
    for (Operation* op : codeOps()) op->moveBefore(body, body->end());
    auto end = OpBuilder::atBlockEnd(body);
    func::ReturnOp::create(end, function_.getLoc());
    for (auto [value, argument] : llvm::zip_equal(given_, body->getArguments()))
      value.replaceUsesWithIf(argument, [&](OpOperand& use) { return code->isAncestor(use.getOwner()); });
    return code;
  }
  void dropCode() {
    const SmallVector<Operation*> ops = codeOps();
    for (Operation* op : llvm::reverse(ops)) op->erase();
  }
  void call(func::FuncOp code) {
    OpBuilder b(entry().getTerminator());
    func::CallOp::create(b, function_.getLoc(), code, given_);
  }

 private:
  Block& entry() { return function_.front(); }

  // What else is said about the kernel holds for its code too.
  SmallVector<NamedAttribute> attributes() {
    SmallVector<NamedAttribute> result;
    for (NamedAttribute attribute : function_->getDiscardableAttrs())
      if (attribute.getName() != ir::KernelAttr::kName) result.push_back(attribute);
    return result;
  }

  SmallVector<Operation*> codeOps() {
    SmallVector<Operation*> ops;
    for (Operation& op : entry().without_terminator())
      if (!addresses_.contains(&op)) ops.push_back(&op);
    return ops;
  }

  // What is computed from the environment by pointer arithmetic and reads alone, and small constants, which
  // are data of the program.
  void findAddresses() {
    const Value environment = entry().getArgument(0);
    for (Operation& op : entry()) {
      if (isa<memref::GetGlobalOp>(op)) addresses_.insert(&op);
      if (!isa<LLVM::GEPOp, LLVM::LoadOp>(op)) continue;
      auto base = op.getOperand(0);
      if (base != environment && !addresses_.contains(base.getDefiningOp())) continue;
      SmallVector<Operation*> offsets;
      for (Value operand : llvm::drop_begin(op.getOperands()))
        if (auto constant = operand.getDefiningOp<LLVM::ConstantOp>(); constant && constant->hasOneUse())
          offsets.push_back(constant);
      if (offsets.size() + 1 != op.getNumOperands()) continue;
      addresses_.insert_range(offsets);
      addresses_.insert(&op);
    }
  }

  void word(std::uintptr_t value) { words_.push_back(value); }
  void word(const void* object) { words_.push_back(reinterpret_cast<std::uintptr_t>(object)); }

  void write(Value operand) {
    auto [place, isNew] = numbers_.try_emplace(operand, numbers_.size());
    word(place->second);
    if (!isNew) return;
    given_.push_back(operand);
    word(operand.getType().getAsOpaquePointer());
  }
  void define(Value value) {
    numbers_.try_emplace(value, numbers_.size());
    word(value.getType().getAsOpaquePointer());
  }
  void write(Operation* op) {
    word(op->getName().getAsOpaquePointer());
    word(op->getAttrDictionary().getAsOpaquePointer());
    word(op->getNumOperands());
    for (Value operand : op->getOperands()) write(operand);
    word(op->getNumResults());
    for (Value result : op->getResults()) define(result);
    for (Block* successor : op->getSuccessors()) word(successor);  // the same in no other kernel
    word(op->getNumRegions());
    for (Region& region : op->getRegions()) {
      word(std::distance(region.begin(), region.end()));
      for (Block& block : region) {
        word(block.getNumArguments());
        for (Value argument : block.getArguments()) define(argument);
        word(block.getOperations().size());
        for (Operation& inner : block) write(&inner);
      }
    }
  }

  func::FuncOp function_;
  llvm::SmallPtrSet<Operation*, 16> addresses_;  // looked up only, never iterated
  SmallVector<Value> given_;                     // what the code uses and does not make
  llvm::DenseMap<Value, std::uintptr_t> numbers_;
  std::vector<std::uintptr_t> words_;
};

struct ShareKernelsPass : impl::ShareKernelsPassBase<ShareKernelsPass> {
  void runOnOperation() override {
    std::vector<Kernel> kernels;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (ir::KernelAttr::isOn(function) && function.getBody().hasOneBlock()) kernels.emplace_back(function);
    llvm::StringMap<std::vector<std::size_t>> alike;
    for (auto [i, kernel] : llvm::enumerate(kernels)) alike[kernel.digest()].push_back(i);
    std::vector<const std::vector<std::size_t>*> groups(kernels.size());
    for (const auto& group : alike) groups[group.second.front()] = &group.second;
    Builder b(&getContext());
    for (const auto* group : groups) {  // in the order of the kernels
      if (!group || group->size() < 2) continue;
      Kernel& first = kernels[group->front()];
      func::FuncOp code = first.takeCode();
      first.call(code);
      for (const std::size_t other : llvm::drop_begin(*group)) {
        kernels[other].dropCode();
        kernels[other].call(code);
        ir::CodeOfAttr::set(kernels[other].function(), b.getStringAttr(first.function().getName()));
      }
    }
  }
};

}  // namespace

}  // namespace kiln::codegen
