// What a Program keeps of a location: the names that the framework gave, nothing of the author's machine.
#pragma once

#include <string>
#include <string_view>

namespace kiln::stablehlo {

class LocationName {
 public:
  // Appends a name, the outermost one first. False, and nothing more belongs to the name: `name` is no
  // isName(), names a file by an absolute path, or makes the whole longer than 1 KiB.
  bool add(std::string_view name);

  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace kiln::stablehlo
