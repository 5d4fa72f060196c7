// The largest that a log publishes; what is longer is none of it.
#pragma once

#include "signing/log/tiles.h"

namespace kiln::signing {

inline constexpr std::size_t kMaxTileBytes = (kMaxEntryBytes + 2) * kTileWidth;
inline constexpr std::size_t kMaxNoteBytes = 64 << 10;

}  // namespace kiln::signing
