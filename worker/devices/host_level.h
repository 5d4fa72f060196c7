// The highest CPU target this machine could execute: "cpu:x86-64-v3". "cpu:aarch64" on AArch64,
// "cpu:riscv64" on RISC-V, "cpu:unknown" on other architectures.
#pragma once

#include <string>

namespace kiln::devices {
std::string hostLevel();
}  // namespace kiln::devices
