// toolchain.json: what a toolchain tree says about itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/digest.h"

namespace kiln {

struct ToolchainComponent {
  std::string name, version, path;
  Digest digest;
};

struct ToolchainDescription {
  std::string name, version, label;
  std::vector<ToolchainComponent> components;
  std::vector<std::string> targets;
};

// 1 to 128 letters, digits and . _ + -; kInvalidArgument says so.
Status checkToolchainLabel(std::string_view label);

// From outside: strict JSON, every member there, paths safe. kInvalidArgument names the member.
Result<ToolchainDescription> readToolchainDescription(std::string_view text);

}  // namespace kiln
