// StableHLO's text through MLIR's parser, which Debian's archives do not instrument: what is ours around it,
// and that the bounds before it hold.
#include <cstdlib>

#include "compiler_core/frontend/stablehlo/text/read_text.h"

// The libraries of MLIR are not instrumented: what their headers poison or resize here, they touch there.
extern "C" const char* __asan_default_options() {
  return "detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0";
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMaxBytes = 1 << 16;
  if (size > kMaxBytes) return 0;
  auto program = kiln::stablehlo::readText({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!program && program.error().code == kiln::Code::kInternal) std::abort();
  return 0;
}
