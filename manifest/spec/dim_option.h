// The names of dimensions in --profile options.
#pragma once

#include <string>
#include <string_view>

namespace kiln {

// The name, behind that of the default profile where its own ':' would else end a profile's name (TensorFlow
// calls inputs "image:0").
inline std::string dimOption(std::string_view dim) {
  return (dim.find(':') == std::string_view::npos ? "" : "default:") + std::string(dim);
}

}  // namespace kiln
