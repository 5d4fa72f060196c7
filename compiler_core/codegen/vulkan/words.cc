#include "compiler_core/codegen/vulkan/words.h"

#include "llvm/ADT/SmallVector.h"
#include "mlir/Target/SPIRV/SPIRVBinaryUtils.h"

namespace kiln::codegen {
namespace {

namespace spirv = mlir::spirv;

template <class Enum>
constexpr std::uint32_t word(Enum value) {
  return static_cast<std::uint32_t>(value);
}

void append(Words& to, std::string_view text) {
  llvm::SmallVector<std::uint32_t> words;
  spirv::encodeStringLiteralInto(words, text);
  to.insert(to.end(), words.begin(), words.end());
}

}  // namespace

unsigned bytesOf(Scalar type) {
  switch (type) {
    case Scalar::kBool:
    case Scalar::kI8:
      return 1;
    case Scalar::kI16:
      return 2;
    case Scalar::kI32:
    case Scalar::kF32:
      return 4;
    case Scalar::kI64:
    case Scalar::kF64:
      return 8;
  }
  return 0;
}

bool isFloat(Scalar type) {
  return type == Scalar::kF32 || type == Scalar::kF64;
}

Scalar integerOf(Scalar type) {
  switch (type) {
    case Scalar::kF32:
      return Scalar::kI32;
    case Scalar::kF64:
      return Scalar::kI64;
    case Scalar::kBool:
      return Scalar::kI8;
    default:
      return type;
  }
}

SpirvWords::SpirvWords() : glsl_(newId()) {
  need(Capability::Shader);
  need(Capability::Int64);
  need(Capability::PhysicalStorageBufferAddresses);
  need(Capability::VulkanMemoryModel);
  need(Capability::RoundingModeRTE);
  need(Capability::SignedZeroInfNanPreserve);
}

Id SpirvWords::once(Op op, Id type, const Words& operands) {
  Words key{word(op), type};
  key.insert(key.end(), operands.begin(), operands.end());
  const auto [found, isNew] = known_.try_emplace(key, 0);
  if (!isNew) return found->second;
  const Id id = found->second = newId();
  Words words;
  if (type != 0) words.push_back(type);
  words.push_back(id);
  words.insert(words.end(), operands.begin(), operands.end());
  write(globals_, op, words);
  return id;
}

Id SpirvWords::voidType() {
  return once(Op::OpTypeVoid, 0, {});
}

Id SpirvWords::type(Scalar scalar) {
  switch (scalar) {
    case Scalar::kBool:
      return once(Op::OpTypeBool, 0, {});
    case Scalar::kI8:
      need(Capability::Int8);
      break;
    case Scalar::kI16:
      need(Capability::Int16);
      break;
    case Scalar::kF64:
      need(Capability::Float64);
      usesDouble_ = true;
      break;
    default:
      break;
  }
  const std::uint32_t bits = 8 * bytesOf(scalar);
  return isFloat(scalar) ? once(Op::OpTypeFloat, 0, {bits}) : once(Op::OpTypeInt, 0, {bits, 0});
}

Id SpirvWords::vectorType(Scalar element, std::uint32_t count) {
  return once(Op::OpTypeVector, 0, {type(element), count});
}

Id SpirvWords::pointerType(Storage storage, Id pointee) {
  return once(Op::OpTypePointer, 0, {word(storage), pointee});
}

Id SpirvWords::arrayType(Scalar element, std::uint32_t count) {
  return once(Op::OpTypeArray, 0, {type(element), constant(Scalar::kI32, count)});
}

Id SpirvWords::functionType(Id result, const Words& parameters) {
  Words operands{result};
  operands.insert(operands.end(), parameters.begin(), parameters.end());
  return once(Op::OpTypeFunction, 0, operands);
}

Id SpirvWords::pushType() {
  const Id number = type(Scalar::kI64), before = next_;
  const Id id = once(Op::OpTypeStruct, 0, {number, number});
  if (id < before) return id;
  write(decorations_, Op::OpDecorate, Words{id, word(spirv::Decoration::Block)});
  for (std::uint32_t member : {0u, 1u})
    write(decorations_, Op::OpMemberDecorate, Words{id, member, word(spirv::Decoration::Offset), 8 * member});
  return id;
}

Id SpirvWords::constant(Scalar scalar, std::uint64_t bits) {
  const Id of = type(scalar);
  if (scalar == Scalar::kBool) return once(bits != 0 ? Op::OpConstantTrue : Op::OpConstantFalse, of, {});
  const unsigned bytes = bytesOf(scalar);
  if (bytes < 8) bits &= (std::uint64_t{1} << (8 * bytes)) - 1;
  Words operands{static_cast<std::uint32_t>(bits)};
  if (bytes == 8) operands.push_back(static_cast<std::uint32_t>(bits >> 32));
  return once(Op::OpConstant, of, operands);
}

Id SpirvWords::composite(Id type, const Words& parts) {
  return once(Op::OpConstantComposite, type, parts);
}

Id SpirvWords::variable(Storage storage, Id pointee, Id initializer) {
  const Id type = pointerType(storage, pointee), id = newId();
  Words operands{type, id, word(storage)};
  if (initializer != 0) operands.push_back(initializer);
  write(globals_, Op::OpVariable, operands);
  return id;
}

void SpirvWords::builtIn(Id variable, spirv::BuiltIn which) {
  write(decorations_, Op::OpDecorate, Words{variable, word(spirv::Decoration::BuiltIn), word(which)});
}

void SpirvWords::keepRounding(Id result) {
  write(decorations_, Op::OpDecorate, Words{result, word(spirv::Decoration::NoContraction)});
}

void SpirvWords::entryPoint(std::string_view name, Id function, const Words& variables,
                            std::uint32_t threads) {
  entries_.push_back({std::string(name), function, variables, threads});
}

std::string SpirvWords::finish() const {
  llvm::SmallVector<std::uint32_t> header;
  spirv::appendModuleHeader(header, spirv::Version::V_1_6, next_);
  Words all(header.begin(), header.end());
  for (const std::uint32_t capability : capabilities_) write(all, Op::OpCapability, Words{capability});
  Words import{glsl_};
  append(import, "GLSL.std.450");
  write(all, Op::OpExtInstImport, import);
  write(all, Op::OpMemoryModel,
        Words{word(spirv::AddressingModel::PhysicalStorageBuffer64), word(spirv::MemoryModel::Vulkan)});
  for (const Entry& entry : entries_) {
    Words operands{word(spirv::ExecutionModel::GLCompute), entry.function};
    append(operands, entry.name);
    operands.insert(operands.end(), entry.variables.begin(), entry.variables.end());
    write(all, Op::OpEntryPoint, operands);
  }
  for (const Entry& entry : entries_) {
    write(all, Op::OpExecutionMode,
          Words{entry.function, word(spirv::ExecutionMode::LocalSize), entry.threads, 1, 1});
    for (const std::uint32_t width : {32u, 64u}) {
      if (width == 64 && !usesDouble_) continue;
      for (const auto mode :
           {spirv::ExecutionMode::RoundingModeRTE, spirv::ExecutionMode::SignedZeroInfNanPreserve})
        write(all, Op::OpExecutionMode, Words{entry.function, word(mode), width});
    }
  }
  for (const Words* section : {&decorations_, &globals_, &functions_})
    all.insert(all.end(), section->begin(), section->end());
  std::string bytes;
  bytes.reserve(all.size() * 4);
  for (const std::uint32_t value : all)
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(value >> shift));
  return bytes;
}

}  // namespace kiln::codegen
