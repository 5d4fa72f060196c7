#include "manifest/base/glob.h"

#include <cstddef>

namespace kiln {

bool globMatches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0;
  // The last '*' seen, and where in `text` what stands for it ends so far.
  std::size_t star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace kiln
