// ToolchainLock: everything that a toolchain tree is made from, by version, digest and size, as
// infra/toolchain/build leaves it beside a tree. Described in manifest/FORMAT.md; the build's own reader is
// infra/toolchain/lockfile.py.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln {

inline constexpr std::uint64_t kMaxToolchainLockBytes = 1u << 20;

struct LockedInput {
  std::string
      what;  // for people: "package libc6 2.36-9", "wheel nvidia-cuda-nvcc 13.0.88", "source of commit ..."
  Digest digest;
};

struct ToolchainLock {
  std::vector<LockedInput> inputs;  // packages, wheels, the source; a digest may be there twice
};

// From outside: at most 1 MiB of strict JSON, every member there, names sorted and each once, the source and
// all sizes stated. kInvalidArgument names the member.
Result<ToolchainLock> readToolchainLock(std::string_view text);

}  // namespace kiln
