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
  std::vector<std::int64_t> shape;         // -1: the model leaves the dimension open, and no tensor fits
  std::vector<std::string> dimNames = {};  // what open dimensions are called; may be shorter than `shape`
};

struct Bindings {
  // What to add to the module's table of weights, each once: arguments whose tensors have the same type,
  // shape and bytes (tied weights) share one. It has the name of the first argument that it is bound to, or
  // that of the tensor where the argument has none.
  std::vector<ir::Weight> weights;
  // By argument: its entry of `weights`, nothing for one that stays an input.
  std::vector<std::optional<std::size_t>> ofArgument;
};

// Binds every tensor of every file to one argument; other arguments stay inputs. A file's tensors go by
// position where all of their names are numbers as numpy.savez writes them ("arr_0"; also "arg_0" and "0")
// and no argument has one of these names; else by name. Names are compared whole, else as paths: both
// "Dense_0.kernel" and "Dense_0/kernel" are "Dense_0['kernel']". Where nothing comes closer they are
// "params['Dense_0']['kernel']" as well, since the file's root is often left out, and so is
// "variables.Dense_0.kernel", since file and function may call the root differently. The order of a file
// says nothing: writers sort as they like, and two weights of one shape would change places unseen.
// kInvalidArgument lists what is wrong, all of it up to 16 lines: tensors that are no argument's
// (superfluous, with the names that come near), two for one argument, another type or shape, and arguments
// of a tree without a tensor (missing). A tree is what a name says before its first '.', '[' or '/': where a
// tensor is bound to one of its arguments, all of them must have one. By position, arguments between two
// bound ones must. Where no tensor of a file is an argument's, the arguments are named; where arguments have
// no names, what to give instead.
Result<Bindings> bind(const std::vector<Argument>& arguments, const std::vector<ParameterFile>& files);

}  // namespace kiln::parameters
