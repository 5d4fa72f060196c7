// What the outside calls the arguments of a program and their dimensions. JAX wraps a program of symbolic
// shapes in a function that takes the sizes of its arguments and hands them, with the arguments, to the one
// that calculates, whose arguments have the names: "b" as the attribute jax.global_constant of a size, "x" as
// the location of a tensor.
// Source: jax.export of JAX 0.10, calling conventions 9 and 10.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler_core/frontend/stablehlo/program/program.h"

namespace kiln::stablehlo {

struct EntryArgument {
  std::string own;    // as the program names it; "" where it does not
  std::string label;  // what the outside calls it: its own name, else "arg0"..., each once
  // By dimension: what its size is called, the same for sizes that the program asserts to be equal; "" for
  // numbers, and for sizes that are called after the input and the dimension.
  std::vector<std::string> dims;
  // What JAX hands in beside the function's own arguments: the name of a size, or kPlatformIndex; else "".
  std::string constant;
};

// JAX's attribute of arguments that a function does not have of its own.
inline constexpr std::string_view kGlobalConstant = "jax.global_constant";
// Which of the platforms that a program was exported for runs it.
inline constexpr std::string_view kPlatformIndex = "_platform_index";

// One per argument of `entry`, which is of `program`.
std::vector<EntryArgument> entryArguments(const Program& program, const Function& entry);

// The value of an argument that is kPlatformIndex: that of the processor, which the programs are written for;
// nullopt for any other, and where the file does not say which platforms it was exported for.
std::optional<std::int64_t> platformIndex(const Program& program, const EntryArgument& argument);

// What a run is given: the labels of the entry's arguments, but for a platform index that is known; none
// without an entry.
std::vector<std::string> namesOfInputs(const Program& program);

}  // namespace kiln::stablehlo
