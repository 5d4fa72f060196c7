// Which of the program's profiles serves a call.
#pragma once

#include <cstdint>
#include <vector>

#include "manifest/artifact/manifest.h"

namespace kiln::runtime {

struct ProfileChoice {
  std::size_t profile = 0;            // index into the manifest's profiles
  std::vector<std::int64_t> symbols;  // as the program gets them: padded ones rounded up
  bool padded = false;
};

// The first profile whose ranges hold all symbols. If none does and the spec says "pad", the one that gets
// by with the least rounding up to its minima, of symbols that may be padded. kOutOfRange names symbol, value
// and every profile's range.
Result<ProfileChoice> chooseProfile(const Manifest& manifest, const std::vector<std::int64_t>& symbols);

// As chooseProfile with the choice made.
Result<ProfileChoice> takeProfile(const Manifest& manifest, std::size_t profile,
                                  const std::vector<std::int64_t>& symbols);

}  // namespace kiln::runtime
