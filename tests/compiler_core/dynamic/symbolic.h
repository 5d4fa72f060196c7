// Compiles kiln text of symbolic shape once for a profile, runs it at several shapes, and compares each run
// with a static compile of the same text at that shape for the CPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "manifest/base/result.h"

namespace kiln::testing {

struct SymbolSpan {
  std::int64_t min, opt, max;
};

struct SymbolicCheck {
  // @main, in whose types symbols are written by their names: tensor<[N]x[2*N+1]x8xf32>.
  std::string text;
  std::vector<std::pair<std::string, SymbolSpan>> symbols;
  // Values of all symbols per run; empty: at min, opt and max of all, and in between.
  std::vector<std::vector<std::int64_t>> runs;
  // The symbolic compile is for a device, run by the emulated one; `tf32` as in DeviceOptions.
  bool device = false, tf32 = false;
  // How far floats may be from the static compile's, where a device adds in an order of its own. With both 0
  // the bits are the same; with any number of threads, and in any order of a device's, they are anyhow.
  double relative = 0, absolute = 0;
  std::string target = "cpu:x86-64-v3";  // of both compiles
};

// An error names the first run that differs, leaves its plan, or states other shapes.
Status checkSymbolic(const SymbolicCheck& check);

}  // namespace kiln::testing
