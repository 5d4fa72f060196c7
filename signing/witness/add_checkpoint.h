// The message of a log to a witness: the body of add-checkpoint. Source: C2SP tlog-witness.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "signing/log/merkle.h"

namespace kiln::signing {

struct AddCheckpoint {
  std::uint64_t oldSize = 0;
  std::vector<TreeHash> proof;  // of consistency; at most 63
  std::string checkpoint;       // a signed note

  // "old <size>\n", a base64 line per hash, an empty line, the note.
  std::string text() const;
  // kInvalidArgument for anything but what text() writes.
  static Result<AddCheckpoint> parse(std::string_view text);
};

}  // namespace kiln::signing
