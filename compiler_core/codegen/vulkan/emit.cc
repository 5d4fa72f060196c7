#include <fmt/format.h>

#include "compiler_core/codegen/vulkan/function.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/InstIterator.h"

namespace kiln::codegen {
namespace {

namespace spirv = mlir::spirv;
using Storage = SpirvWords::Storage;

constexpr unsigned kSharedSpace = 3;  // NVPTX

Scalar unitOf(unsigned bytes) {
  return bytes == 1 ? Scalar::kI8 : bytes == 2 ? Scalar::kI16 : bytes == 4 ? Scalar::kI32 : Scalar::kI64;
}

// By how many bytes each memory that is no address is reached at least.
Result<llvm::DenseMap<const llvm::GlobalVariable*, unsigned>> narrowestAccesses(llvm::Module& module) {
  llvm::DenseMap<const llvm::GlobalVariable*, unsigned> narrowest;
  for (const llvm::Function& function : module)
    for (const llvm::Instruction& op : llvm::instructions(function)) {
      const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&op);
      if (pointer == nullptr) continue;
      KILN_ASSIGN(const llvm::GlobalVariable* root, memoryOf(pointer));
      const auto type = scalarOf(llvm::getLoadStoreType(&op));
      if (root == nullptr || !type) continue;
      const unsigned bytes = bytesOf(*type);
      const auto [found, isNew] = narrowest.try_emplace(root, bytes);
      if (!isNew) found->second = std::min(found->second, bytes);
    }
  return narrowest;
}

// The bytes of a constant of numbers, little endian.
bool appendBytes(const llvm::Constant& value, const llvm::DataLayout& layout, std::string& to) {
  const auto number = [&](const llvm::APInt& bits, std::uint64_t bytes) {
    for (std::uint64_t i = 0; i < bytes; ++i)
      to.push_back(8 * i < bits.getBitWidth() ? static_cast<char>(bits.lshr(8 * i).getRawData()[0] & 0xff)
                                              : 0);
  };
  const std::uint64_t size = layout.getTypeStoreSize(value.getType()).getFixedValue();
  if (value.isNullValue() || llvm::isa<llvm::UndefValue>(value)) {
    to.append(layout.getTypeAllocSize(value.getType()).getFixedValue(), 0);
    return true;
  }
  if (const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(&value))
    return number(integer->getValue(), size), true;
  if (const auto* real = llvm::dyn_cast<llvm::ConstantFP>(&value))
    return number(real->getValueAPF().bitcastToAPInt(), size), true;
  const auto* array = llvm::dyn_cast<llvm::ArrayType>(value.getType());
  if (array == nullptr) return false;
  for (std::uint64_t i = 0; i < array->getNumElements(); ++i) {
    const llvm::Constant* element = value.getAggregateElement(static_cast<unsigned>(i));
    if (element == nullptr || !appendBytes(*element, layout, to)) return false;
  }
  return true;
}

class Emitter {
 public:
  Emitter(llvm::Module& module, const std::vector<MappedKernel>& kernels) : ir_(module), kernels_(kernels) {}

  Result<SpirvImage> run() {
    addBuiltIns();
    KILN_TRY(addMemories());
    SpirvImage image;
    for (llvm::Function& function : ir_)
      if (!function.isDeclaration()) m_.functions[&function] = m_.words.newId();
    for (llvm::Function& function : ir_) {
      if (function.isDeclaration() ||
          std::ranges::find(kernels_, function.getName(), &MappedKernel::name) != kernels_.end())
        continue;
      KILN_TRY(FunctionWriter(m_, function).write(/*isKernel=*/false));
    }
    for (const MappedKernel& kernel : kernels_) {
      llvm::Function* function = ir_.getFunction(kernel.name);
      if (function == nullptr || function->isDeclaration())
        return fail(Code::kInternal, fmt::format("the module defines no kernel {}", kernel.name));
      const std::size_t before = m_.words.codeWords();
      KILN_TRY(FunctionWriter(m_, *function).write(/*isKernel=*/true));
      image.kernels.push_back({kernel.name, kernel.threads, kernel.sharedBytes,
                               4 * (m_.words.codeWords() - before), floatUseOf(*function)});
      m_.words.entryPoint(kernel.name, m_.functions[function], variablesOf(*function), kernel.threads);
    }
    image.words = m_.words.finish();
    return image;
  }

 private:
  void addBuiltIns() {
    SpirvWords& w = m_.words;
    m_.push = w.variable(Storage::PushConstant, w.pushType());
    m_.threadId = w.variable(Storage::Input, w.type(Scalar::kI32));
    w.builtIn(m_.threadId, spirv::BuiltIn::LocalInvocationIndex);
    m_.blockId = w.variable(Storage::Input, w.vectorType(Scalar::kI32, 3));
    w.builtIn(m_.blockId, spirv::BuiltIn::WorkgroupId);
    common_ = {m_.push, m_.threadId, m_.blockId};
  }

  Status addMemories() {
    SpirvWords& w = m_.words;
    const llvm::DataLayout& layout = ir_.getDataLayout();
    KILN_ASSIGN(const auto narrowest, narrowestAccesses(ir_));
    for (const llvm::GlobalVariable& global : ir_.globals()) {
      const auto access = narrowest.find(&global);
      if (access == narrowest.end()) continue;
      IndexedMemory memory{0, unitOf(access->second), global.getAddressSpace() == kSharedSpace};
      const std::uint64_t bytes = layout.getTypeAllocSize(global.getValueType()).getFixedValue();
      const auto count = static_cast<std::uint32_t>((bytes + access->second - 1) / access->second);
      const Id type = w.arrayType(memory.unit, count);
      if (memory.shared) {
        memory.variable = w.variable(Storage::Workgroup, type);
      } else {
        std::string data;
        if (!global.isConstant() || !global.hasInitializer() ||
            !appendBytes(*global.getInitializer(), layout, data))
          return fail(Code::kInternal, fmt::format("the data {} is not served", global.getName().str()));
        data.resize(static_cast<std::size_t>(count) * access->second);
        Words parts;
        for (std::uint32_t i = 0; i < count; ++i) {
          std::uint64_t bits = 0;
          for (unsigned k = 0; k < access->second; ++k)
            bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(data[i * access->second + k]))
                    << (8 * k);
          parts.push_back(w.constant(memory.unit, bits));
        }
        memory.variable = w.variable(Storage::Private, type, w.composite(type, parts));
        common_.push_back(memory.variable);
      }
      m_.memory[&global] = memory;
    }
    return {};
  }

  // What an entry point has to name; its shared memory is its own.
  Words variablesOf(const llvm::Function& kernel) const {
    Words variables = common_;
    for (const llvm::GlobalVariable& global : ir_.globals()) {
      const auto found = m_.memory.find(&global);
      if (found != m_.memory.end() && found->second.shared &&
          global.getName() == (kernel.getName() + "_shared").str())
        variables.push_back(found->second.variable);
    }
    return variables;
  }

  llvm::Module& ir_;
  const std::vector<MappedKernel>& kernels_;
  SpirvModule m_;
  Words common_;
};

}  // namespace

Result<SpirvImage> emitSpirv(llvm::Module& module, const std::vector<MappedKernel>& kernels) {
  return Emitter(module, kernels).run();
}

}  // namespace kiln::codegen
