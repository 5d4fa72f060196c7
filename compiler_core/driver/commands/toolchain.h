// Finds the files that kiln-cc needs.
#pragma once

#include <string>

#include "manifest/base/result.h"

namespace kiln::driver {

// The `lib` folder of the toolchain: of `toolchain` when that is given, else beside the running program
// (../lib; in a build tree ../toolchain/lib). kNotFound says what was looked for.
Result<std::string> findToolchainLib(const std::string& toolchain);

// A program that stands beside the running one.
std::string besideThisProgram(const std::string& name);

// Makes the C library's math the same on every processor, by running this program again with GLIBC_TUNABLES
// set as the farm sets it. Returns when that is already so. LLVM folds constants through the host's libm,
// which otherwise picks other code, with other last bits, depending on FMA.
Status pinHostMath(char** argv);

}  // namespace kiln::driver
