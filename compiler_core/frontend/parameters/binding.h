// Which tensor of the given files is which argument of a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler_core/frontend/parameters/parameter_file.h"

namespace kiln::parameters {

// An argument of a program, or an input of a graph, as its frontend names it.
struct Argument {
  std::string name;  // may be empty: it is found by its position then
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
};

struct Bindings {
  // What to add to the module's table of weights, each once: arguments whose tensors have the same type,
  // shape and bytes (tied weights) share one. It has the name of the first argument that it is bound to, or
  // that of the tensor where the argument has none.
  std::vector<ir::Weight> weights;
  // By argument: its entry of `weights`, nothing for one that stays an input.
  std::vector<std::optional<std::size_t>> ofArgument;
};

// Binds every tensor of every file to one argument; other arguments stay inputs. All of a file's tensors go
// the same way, the first of these that fits:
// - By position, where all names are numbers as numpy.savez writes them ("arr_0"; also "arg_0" and "0") and
//   no argument has one of these names.
// - By name, where at least one of them is an argument's. Names are compared whole, else as paths: both
//   "Dense_0.kernel" and "Dense_0/kernel" are "Dense_0['kernel']". Where nothing comes closer they are
//   "params['Dense_0']['kernel']" as well, since the file's root is often left out, and so is
//   "variables.Dense_0.kernel", since file and function may call the root differently.
// - In the order of the file, to the first arguments, where it has at most as many tensors. Not for
//   safetensors, whose writers sort.
// kInvalidArgument lists what is wrong, all of it up to 16 lines: tensors that are no argument's
// (superfluous), two for one argument, another type or shape, and arguments of a tree without a tensor
// (missing). A tree is what a name says before its first '.', '[' or '/': where a tensor is bound to one of
// its arguments, all of them must have one. By position, arguments between two bound ones must.
Result<Bindings> bind(const std::vector<Argument>& arguments, const std::vector<ParameterFile>& files);

}  // namespace kiln::parameters
