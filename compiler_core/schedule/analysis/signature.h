// One kernel by itself: the operations that kiln-tile puts into it, as the @main of a module of their own.
// Its text is what a signature is the digest of, what `kiln-cc plan` writes down and what the tuner compiles,
// so that the three are the same by construction. It holds no name, place or number of the model: equal
// layers, of one model or of two, have one signature.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler_core/schedule/knobs/schedule.h"
#include "llvm/ADT/ArrayRef.h"

namespace mlir {
class Operation;
}

namespace kiln::schedule {

// What a kernel is compiled for, as far as the same operations may want another schedule: attributes of the
// module.
struct Environment {
  std::string target;                 // of the kernel's unit; empty: nobody wants signatures
  std::vector<std::string> features;  // of the processor
  bool contraction = true, tf32 = false;
  // kOff for devices. kOn and kDeterministic allow the same schedules, so that a kernel has one signature
  // under both, and what was measured under one serves the other.
  Reassociation reassociation = Reassociation::kOff;
};

// Operands from outside become arguments (kiln.input, kiln.weight as in @main; constant tensors are weights),
// numbers are repeated, the results of `members.front()` are returned. nullopt where a size or a number is
// known to the run alone. `members`: linalg operations of one block, the root first. Isolating the result
// gives the same text.
std::optional<std::string> isolate(llvm::ArrayRef<mlir::Operation*> members, const Environment& environment);

// "sha256:<hex>" of such a text.
std::string signatureOf(const std::string& isolated);

}  // namespace kiln::schedule
