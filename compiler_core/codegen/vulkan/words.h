// A SPIR-V module in the making: its sections, and types and constants that are there once each. Private to
// this folder; not thread safe. Every id that a function returns is valid for the module's life.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "mlir/Dialect/SPIRV/IR/SPIRVEnums.h"

namespace kiln::codegen {

using Id = std::uint32_t;
using Words = std::vector<std::uint32_t>;

// The scalar types of programs; kinds of numbers, integers without a sign.
enum class Scalar { kBool, kI8, kI16, kI32, kI64, kF32, kF64 };
unsigned bytesOf(Scalar type);  // kBool: 1, as in memory
bool isFloat(Scalar type);
Scalar integerOf(Scalar type);  // of the same width

class SpirvWords {
 public:
  using Op = mlir::spirv::Opcode;
  using Capability = mlir::spirv::Capability;
  using Storage = mlir::spirv::StorageClass;

  SpirvWords();

  Id newId() { return next_++; }
  void need(Capability capability) { capabilities_.insert(static_cast<std::uint32_t>(capability)); }

  Id voidType();
  Id type(Scalar scalar);
  Id pointerType(Storage storage, Id pointee);
  // An array with the stride of its elements where memory of the storage class has a layout.
  Id arrayType(Scalar element, std::uint32_t count);
  Id functionType(Id result, const Words& parameters);
  // {u64, u64}, with the offsets 0 and 8.
  Id pushType();
  Id vectorType(Scalar element, std::uint32_t count);

  // `bits` of the type's width, in the low bits.
  Id constant(Scalar type, std::uint64_t bits);
  Id composite(Id type, const Words& parts);
  Id glsl() const { return glsl_; }

  // Of Storage::Workgroup, Private (`initializer` is not 0), PushConstant or Input.
  Id variable(Storage storage, Id pointee, Id initializer = 0);
  void builtIn(Id variable, mlir::spirv::BuiltIn which);
  // The rounding that the source says: no addition joins a product.
  void keepRounding(Id result);

  void entryPoint(std::string_view name, Id function, const Words& variables, std::uint32_t threads);

  // Writes an instruction of a function, in order.
  void code(Op op, std::initializer_list<std::uint32_t> operands) { write(functions_, op, operands); }
  void code(Op op, const Words& operands) { write(functions_, op, operands); }
  std::size_t codeWords() const { return functions_.size(); }

  // The module; nothing may be added behind that.
  std::string finish() const;

 private:
  template <class Operands>
  static void write(Words& to, Op op, const Operands& operands) {
    to.push_back((static_cast<std::uint32_t>(operands.size() + 1) << 16) | static_cast<std::uint32_t>(op));
    to.insert(to.end(), operands.begin(), operands.end());
  }
  // A type or constant, once: `operands` go behind the result, `type` (not 0) before it.
  Id once(Op op, Id type, const Words& operands);

  struct Entry {
    std::string name;
    Id function;
    Words variables;
    std::uint32_t threads;
  };

  Id next_ = 1;
  Id glsl_;
  std::set<std::uint32_t> capabilities_;
  std::map<Words, Id> known_;
  Words decorations_, globals_, functions_;
  std::vector<Entry> entries_;
  bool usesDouble_ = false;
};

}  // namespace kiln::codegen
