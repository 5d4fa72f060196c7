// One function of LLVM IR as SPIR-V. Private to this folder.
#pragma once

#include <optional>
#include <string>

#include "compiler_core/codegen/vulkan/internal.h"
#include "compiler_core/codegen/vulkan/words.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

namespace kiln::codegen {

// Memory that is reached by an index: a kernel's shared memory, or a constant. An array of integers as wide
// as the narrowest access, since SPIR-V has no memory of several types; wider values are put together.
struct IndexedMemory {
  Id variable = 0;
  Scalar unit = Scalar::kI32;
  bool shared = false;
};

// What functions of the module have in common.
struct SpirvModule {
  SpirvWords words;
  Id push = 0, threadId = 0, blockId = 0;
  llvm::DenseMap<const llvm::Function*, Id> functions;
  llvm::DenseMap<const llvm::GlobalVariable*, IndexedMemory> memory;
};

// The scalar type of LLVM's; 16-bit floats are their codes, pointers numbers: addresses of 64 bits, and
// offsets of 32 bits where the memory is indexed. Nothing for types that kernels cannot have.
std::optional<Scalar> scalarOf(const llvm::Type* type);

// The variable behind a pointer, through GEPs, phis and selects; null for addresses of the device's memory.
// kInternal: paths bring different ones.
Result<const llvm::GlobalVariable*> memoryOf(const llvm::Value* pointer);

class FunctionWriter {
 public:
  FunctionWriter(SpirvModule& module, llvm::Function& function)
      : m_(module), w_(module.words), f_(function) {}

  // Of a kernel: no parameters, but loads of its arguments. Errors name function and instruction.
  Status write(bool isKernel);

 private:
  using Op = SpirvWords::Op;
  using Storage = SpirvWords::Storage;

  tl::unexpected<Error> refused(const llvm::Instruction& op, std::string_view why) const;

  // values.cc
  Result<Scalar> scalar(const llvm::Value& value) const;
  Id id(const llvm::Value* value);
  Id constantOf(const llvm::Constant& value);
  Id number(Scalar type, std::uint64_t bits) { return w_.constant(type, bits); }
  Id emit(Op op, Scalar type, const Words& operands);
  Id glsl(std::uint32_t instruction, Scalar type, const Words& operands);
  Id select(Scalar type, Id condition, Id yes, Id no);
  Id cast(Scalar from, Scalar to, Id value);                   // the same bits
  Id resize(Scalar from, Scalar to, Id value, bool isSigned);  // integers
  void define(const llvm::Instruction& op, Id value);

  // memory.cc
  Status address(const llvm::GetElementPtrInst& op);
  Status load(const llvm::LoadInst& op);
  Status store(const llvm::StoreInst& op);
  Id loadAddress(Scalar type, Id address, std::uint32_t alignment);
  Id element(const IndexedMemory& memory, Id offset, unsigned index);
  void loadArguments();

  // arithmetic.cc
  Status binary(const llvm::BinaryOperator& op);
  Status compare(const llvm::CmpInst& op);
  Status convert(const llvm::CastInst& op);

  // intrinsics.cc
  Status intrinsic(const llvm::IntrinsicInst& op);
  Status wholeIntrinsic(const llvm::IntrinsicInst& op, Scalar type);
  Status realIntrinsic(const llvm::IntrinsicInst& op, Scalar type);
  Id extreme(Scalar type, Id a, Id b, bool largest, bool propagatesNan);
  Id isNan(Scalar type, Id value);
  Id isOfClass(Scalar type, Id value, std::uint32_t classes);
  Id leadingZeros(Scalar type, Id value);
  Id setBits(Scalar type, Id value);
  Id rounded(Scalar type, Id value);
  void barrier();

  // function.cc
  Status instruction(const llvm::Instruction& op);
  Status terminator(const llvm::BasicBlock& block, const Merges& merges);
  Id label(const llvm::BasicBlock* block);

  SpirvModule& m_;
  SpirvWords& w_;
  llvm::Function& f_;
  bool isKernel_ = false;
  llvm::DenseMap<const llvm::Value*, Id> ids_;
  llvm::DenseMap<const llvm::BasicBlock*, Id> labels_;
};

}  // namespace kiln::codegen
