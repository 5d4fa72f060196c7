// Digests of the IR after each stage and pass: two compiles that end in different bytes are told apart at the
// first record that differs, without keeping either's IR. No MLIR and no JSON in this header.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/digest.h"

namespace mlir {
class Operation;
}

namespace kiln::driver {

struct FunctionDigest {
  std::string name;
  Digest ir;
};

struct PassRecord {
  std::string pass;   // a pass's name ("canonicalize"), or "stage:" and a stage's ("stage:linalg")
  std::string scope;  // the function that the pass ran on; "" for the whole module
  Digest ir;          // of the textual IR of that scope, without locations
  std::vector<FunctionDigest> functions;  // of the module, in its order; empty where `scope` names one
};

// Not thread safe. Printing all IR after every pass makes a compile several times as slow.
class PassTrace {
 public:
  void record(std::string_view pass, mlir::Operation& op);
  // LLVM's textual IR, a module.
  void recordLlvm(std::string_view text);

  const std::vector<PassRecord>& records() const { return records_; }

 private:
  std::vector<PassRecord> records_;
};

}  // namespace kiln::driver
