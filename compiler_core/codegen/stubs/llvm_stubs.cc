// Empty stand-ins for what LLVM's static archives reference and Kiln never runs: the initialisers of back
// ends other than X86, AArch64, ARM, RISCV and NVPTX (called by lld's InitializeAll*), and Polly (referenced
// by Debian's LTO library).
#include <cstdlib>

#include "llvm/Plugins/PassPlugin.h"

#define KILN_NO_BACK_END(name)               \
  void LLVMInitialize##name##TargetInfo() {} \
  void LLVMInitialize##name##Target() {}     \
  void LLVMInitialize##name##TargetMC() {}   \
  void LLVMInitialize##name##AsmPrinter() {} \
  void LLVMInitialize##name##AsmParser() {}  \
  void LLVMInitialize##name##Disassembler() {}

extern "C" {
KILN_NO_BACK_END(AMDGPU)
KILN_NO_BACK_END(AVR)
KILN_NO_BACK_END(BPF)
KILN_NO_BACK_END(Hexagon)
KILN_NO_BACK_END(Lanai)
KILN_NO_BACK_END(LoongArch)
KILN_NO_BACK_END(M68k)
KILN_NO_BACK_END(MSP430)
KILN_NO_BACK_END(Mips)
KILN_NO_BACK_END(PowerPC)
KILN_NO_BACK_END(SPIRV)
KILN_NO_BACK_END(Sparc)
KILN_NO_BACK_END(SystemZ)
KILN_NO_BACK_END(VE)
KILN_NO_BACK_END(WebAssembly)
KILN_NO_BACK_END(XCore)
KILN_NO_BACK_END(Xtensa)
}

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  std::abort();
}
