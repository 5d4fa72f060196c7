// What all stages of one compile share. Private to this folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler_core/driver/compiler.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"

namespace kiln::driver {

// The pass of the partition stage; the request may leave it out.
inline constexpr char kPartitionPass[] = "kiln-partition";

// What a program is compiled for.
struct Targets {
  std::vector<Target> all;       // the primary first
  Target host;                   // kHostTarget
  bool fallsBackToHost = false;  // which nobody named: it is the last of `all`

  const Target& primary() const { return all.front(); }
  const Target& named(std::string_view name) const;  // one of `all`
};

// Errors as parseTarget and checkRules.
Result<Targets> targetsOf(const CompileRequest& request);

// Writes the IR after each stage as numbered text files; with an empty directory, nothing.
class IrWriter {
 public:
  explicit IrWriter(std::string directory) : directory_(std::move(directory)) {}

  Status write(std::string_view stage, std::string_view text, std::string_view extension);
  Status write(std::string_view stage, mlir::ModuleOp module);

 private:
  std::string directory_;
  int count_ = 0;
};

// Must outlive the IR that is made in its context, and stay where it is. `request` and `observer` must
// outlive it. For one thread.
struct Compilation {
  Compilation(const CompileRequest& wanted, const CompileObserver& watching, Targets servedTargets);

  void begin(Stage stage) const;
  bool isDisabled(std::string_view pass) const;

  const CompileRequest& request;
  const CompileObserver& observer;
  const Targets targets;
  mlir::MLIRContext context;
  IrWriter ir;
};

}  // namespace kiln::driver
