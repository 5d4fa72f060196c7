// toolchain.json: what a toolchain tree says about itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/digest.h"

namespace kiln::jobs {

struct ToolchainComponent {
  std::string name, version, path;
  Digest digest;
};

struct ToolchainDescription {
  std::string name, version, label;
  std::vector<ToolchainComponent> components;
  std::vector<std::string> targets;
};

// From outside: strict JSON, every member there, paths safe. kInvalidArgument names the member.
Result<ToolchainDescription> readToolchainDescription(std::string_view text);

}  // namespace kiln::jobs
