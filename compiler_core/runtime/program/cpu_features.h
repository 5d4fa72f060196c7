// Which processor features this machine has, against the list in a manifest.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
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

// AT_HWCAP and AT_HWCAP2 of the auxiliary vector, where Linux says what programs may use.
struct ArmCapabilities {
  std::uint64_t hwcap = 0, hwcap2 = 0;
};
// As above for AArch64.
Status checkAArch64Features(std::span<const std::string> features, const std::string& target,
                            const ArmCapabilities& host);

struct RiscvCapabilities {
  std::uint64_t hwcap = 0;                  // AT_HWCAP: extensions of one letter
  std::optional<std::uint64_t> extensions;  // the others, by riscv_hwprobe; none before Linux 6.4
};
RiscvCapabilities hostRiscv();
// As above for 64-bit RISC-V; kUnimplemented, too, where the kernel does not say what there is.
Status checkRiscvFeatures(std::span<const std::string> features, const std::string& target,
                          const RiscvCapabilities& host);

// As above on this machine, whichever it is.
Status checkHostFeatures(std::span<const std::string> features, const std::string& target);

}  // namespace kiln::runtime
