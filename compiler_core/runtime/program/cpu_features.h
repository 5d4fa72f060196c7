// Which processor features this machine has, against the list in a manifest.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "manifest/base/result.h"

namespace kiln::runtime {

// CPUID and XGETBV as the processor answers them; injected so that tests can be another machine.
struct CpuidSource {
  // eax, ebx, ecx, edx of a leaf; all zero for a leaf beyond the processor's highest.
  std::function<std::array<std::uint32_t, 4>(std::uint32_t leaf, std::uint32_t subleaf)> cpuid;
  // XCR0: the register state that the operating system saves.
  std::function<std::uint64_t()> xcr0;
};
CpuidSource hostCpuid();

// `features` in LLVM's names with a leading "+", all for x86-64. kUnimplemented naming every feature that is
// missing or unknown to this runtime, and the target.
Status checkX86Features(std::span<const std::string> features, const std::string& target,
                        const CpuidSource& source);

// As above for AArch64; `hwcap` is AT_HWCAP of the auxiliary vector, where Linux says what programs may use.
Status checkAArch64Features(std::span<const std::string> features, const std::string& target,
                            std::uint64_t hwcap);

// As above on this machine, whichever it is.
Status checkHostFeatures(std::span<const std::string> features, const std::string& target);

}  // namespace kiln::runtime
