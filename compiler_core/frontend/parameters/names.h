// Names of tensors and arguments, as exporters write paths into trees.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kiln::parameters {

// The steps of a path with '\0' between them: "params['Dense_0']['kernel']", "params.Dense_0.kernel" and
// "params/Dense_0/kernel" are the same. "" for a name without steps.
std::string pathOf(std::string_view name);

// A path without its first step; "" where there is no other.
std::string_view behindRoot(std::string_view path);

// The first step of a path of at least two; "" for others.
std::string_view rootOf(std::string_view path);

// The number that a name is: "arr_7", "arg_7" and "7", below a million.
std::optional<std::size_t> positionOf(std::string_view name);

}  // namespace kiln::parameters
