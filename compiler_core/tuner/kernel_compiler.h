// One planned kernel (its isolated module) as a program of its own, under any schedule of its template. No
// MLIR in this header.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler_core/schedule/schedule.h"
#include "manifest/base/result.h"
#include "manifest/spec/target.h"

namespace kiln::tuner {

enum class Element { kF32, kF64, kI1, kI8, kI16, kI32, kI64 };  // as stored: i16 may be codes of f16 or bf16
struct KernelTensor {
  Element element = Element::kF32;
  std::uint64_t elements = 0;
  std::vector<std::int64_t> shape;
  std::uint64_t bytes() const;
};

// A weight as a program reads it.
struct KernelWeight {
  std::size_t number = 0;       // of the kernel's weights
  std::int64_t panelLanes = 0;  // columns of its panels (../package/panels.h); 0: as it is
  auto operator<=>(const KernelWeight&) const = default;
};

// A program of KILN_PROGRAM_ABI with one profile and no symbols.
struct KernelProgram {
  std::string elf;
  std::uint64_t arenaBytes = 0, scratchBytes = 0;
  std::vector<KernelWeight> weights;  // in the order of its pointers
};

struct Tools {
  std::string toolchainLib;   // folder of kmath.bc, kkernels.bc and libkiln_builtins-<arch>.a
  std::string workDirectory;  // existing, writable
};

class KernelCompiler {
 public:
  // kInvalidArgument: the text is no module of a kernel. kUnimplemented: it is for a device, or kiln-tile
  // would not isolate it again with the same text.
  static Result<KernelCompiler> open(const std::string& isolated, const Tools& tools);
  KernelCompiler(KernelCompiler&& other) noexcept;
  ~KernelCompiler();

  const std::string& signature() const;
  const Target& target() const;
  const schedule::Site& site() const;
  const Schedule& standard() const;
  const std::vector<KernelTensor>& inputs() const;
  const std::vector<KernelTensor>& weights() const;
  const std::vector<KernelTensor>& outputs() const;
  // Scalar operations of one run, estimated.
  double work() const;

  // kInvalidArgument as schedule::check; kInternal where a stage fails. Deterministic.
  Result<KernelProgram> compile(const Schedule& schedule) const;

 private:
  struct State;
  explicit KernelCompiler(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kiln::tuner
