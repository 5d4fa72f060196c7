// The table of programs of ABI 1: one profile of fixed shapes. Artifacts live longer than a runtime.
#pragma once

#include "compiler_core/runtime/program_abi.h"

namespace kiln::runtime {

using Abi1Run = std::int32_t (*)(const kiln_callbacks* callbacks, void* arena, const void* const* weights,
                                 const void* const* inputs, void* const* outputs);

struct Abi1Program {
  std::uint32_t abi, inputCount, outputCount, weightCount;
  std::uint64_t arenaBytes, scratchBytes;
  Abi1Run run;
};

// Both tables hide behind the same symbol, whose size is checked before its version is known.
static_assert(sizeof(Abi1Program) == sizeof(kiln_program));

}  // namespace kiln::runtime
