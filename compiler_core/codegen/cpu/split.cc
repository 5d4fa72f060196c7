#include "compiler_core/codegen/cpu/internal.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace kiln::codegen {
namespace {

// Enough work to pay for a part of its own. A constant: what is in which object must not depend on the
// machine.
constexpr std::size_t kInstructionsPerPart = 12000;

llvm::StringRef targetOf(const llvm::Function& function) {
  return function.getFnAttribute(kTargetFunctionAttr).getValueAsString();
}

// Numbers of parts, in the order of the module.
llvm::DenseMap<const llvm::GlobalValue*, std::size_t> assign(const llvm::Module& module) {
  llvm::DenseMap<const llvm::GlobalValue*, std::size_t> part;
  std::size_t number = 0, instructions = 0;
  llvm::StringRef target;
  for (const llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    const llvm::StringRef own = targetOf(function);
    if (instructions >= kInstructionsPerPart || (instructions > 0 && own != target)) {
      ++number;
      instructions = 0;
    }
    target = own;
    part[&function] = number;
    instructions += function.getInstructionCount();
  }
  return part;
}

}  // namespace

std::vector<Part> split(llvm::Module& module) {
  const auto part = assign(module);
  std::vector<Part> parts(1);
  for (llvm::Function& function : module) {
    const auto place = part.find(&function);
    if (place == part.end()) continue;
    parts.resize(std::max(parts.size(), place->second + 1));
    parts[place->second].target = targetOf(function).str();
    // The parts call each other by name; nothing of it is seen from outside the program.
    function.setLinkage(llvm::GlobalValue::ExternalLinkage);
    function.setVisibility(llvm::GlobalValue::HiddenVisibility);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    llvm::ValueToValueMapTy map;
    // Constants go everywhere and vanish where nothing uses them; what has a name outside is in one place.
    const auto clone = llvm::CloneModule(module, map, [&](const llvm::GlobalValue* value) {
      const auto place = part.find(value);
      if (place != part.end()) return place->second == i;
      return value->hasLocalLinkage() || i == 0;
    });
    llvm::raw_string_ostream out(parts[i].bitcode);
    llvm::WriteBitcodeToFile(*clone, out);
  }
  return parts;
}

}  // namespace kiln::codegen
