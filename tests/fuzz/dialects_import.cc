// Capture of TOSA and linalg as a whole. MLIR's own libraries are not instrumented: what is ours around them
// is, and what crashes in them ends in the child process that tries it first.
#include <cstdlib>

#include "compiler_core/frontend/dialects/import/import.h"

// What MLIR's headers poison or resize here, its libraries touch there.
extern "C" const char* __asan_default_options() {
  return "detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0";
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMaxBytes = 1 << 16;
  if (size > kMaxBytes) return 0;
  auto program = kiln::dialects::readProgram({data, size}, "fuzz");
  if (!program) {
    if (program.error().code == kiln::Code::kInternal) std::abort();
    return 0;
  }
  const auto shared = std::make_shared<kiln::dialects::Program>(std::move(*program));
  // A profile for what no input leaves open is refused, so once without.
  kiln::frontend::ImportOptions plain, open;
  open.ranges["arg0.0"] = {1, 8};
  for (const auto* options : {&plain, &open}) {
    mlir::MLIRContext context;
    kiln::frontend::prepareContext(context);
    const auto captured = kiln::dialects::importProgram(context, shared, *options);
    if (!captured && captured.error().code == kiln::Code::kInternal) std::abort();
  }
  return 0;
}
