// Inputs that are sequences or optionals. A program's inputs are tensors, so a CompileSpec says which tensors
// such an input holds. No JSON, so that MLIR units can have it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/result.h"

namespace kiln {

struct Composite {
  bool present = true;  // false: an optional without a value
  // One per tensor: its shape; nullopt is the shape that the model declares.
  std::vector<std::optional<std::vector<std::int64_t>>> tensors;
  bool operator==(const Composite&) const = default;
};
using Composites = std::map<std::string, Composite>;  // by input name

inline constexpr std::size_t kMaxCompositeTensors = 4096;

// A command's "--sequence INPUT=..." into `composites`: a number of tensors ("x=2"), their shapes
// ("x=[2,3],[]") or "x=none" for an optional that is absent. kInvalidArgument names the option.
Status addComposite(std::string_view argument, Composites& composites);

}  // namespace kiln
