// Targets without an operating system.
#pragma once

#include <string_view>

namespace kiln {

// Whether programs for a target's triple ("thumbv8.1m.main-none-unknown-eabihf") run without an operating
// system. Such a program is an object to link into a firmware, and nothing here runs it.
inline bool isBareMetal(std::string_view triple) {
  return triple.find("-none-") != std::string_view::npos;
}

}  // namespace kiln
