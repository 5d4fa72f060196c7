// Names, compared as rules, grants and people write them.
#pragma once

#include <string>
#include <string_view>

namespace kiln {

// Whether `text` is `pattern`, in which every '*' stands for any characters, none included. Takes no more
// time than the product of both lengths.
bool globMatches(std::string_view pattern, std::string_view text);

// 'A' to 'Z' as 'a' to 'z', whatever the locale; every other byte as it is, so that UTF-8 stays UTF-8.
inline std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace kiln
