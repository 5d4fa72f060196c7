// Targets: their names and the sorted feature list each stands for. `native` and `host` are refused: a target
// must mean the same on every machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/result.h"

namespace kiln {

struct Target {
  std::string name;                   // "cpu:x86-64-v3"
  std::string triple;                 // "x86_64-unknown-linux-gnu"
  std::string cpu;                    // LLVM's name: "x86-64-v3"
  std::vector<std::string> features;  // sorted, "+" prefixed; the whole list, nothing implied
  // The GPU's architecture of a cuda: target ("sm_90a"), "vulkan-1.3" of vulkan:1.3, else empty. Triple, CPU
  // and features of such a target are those of the host program that launches its kernels, cpu:x86-64-v3.
  std::string device = {};
};

// What the processor runs of an artifact for a cuda: target, and where its nodes may fall back to.
inline constexpr char kHostTarget[] = "cpu:x86-64-v3";

// kInvalidArgument for text that is no target or is native/host; kUnimplemented for a well-formed target that
// this release does not serve, naming those it does. "a,b" is one artifact partitioned over both: a's triple
// and CPU, the features of both, and the device of the one that has one.
Result<Target> parseTarget(std::string_view name);
// The targets of "a,b" one by one, the primary first; errors as parseTarget.
Result<std::vector<Target>> parseTargets(std::string_view name);
// "a", "b" of "a,b"; of any text, nothing is checked.
std::vector<std::string> targetNames(std::string_view name);
std::vector<std::string> servedTargets();

}  // namespace kiln
