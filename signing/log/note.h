// Signed notes: a text and the signatures over it. Source: C2SP signed-note.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/result.h"

namespace kiln::signing {

// The first four bytes of a key's id; says which key to try, proves nothing.
using KeyHint = std::array<std::uint8_t, 4>;

struct NoteSignature {
  std::string name;
  KeyHint hint{};
  std::string signature;  // what follows the hint; its form depends on the key
};

struct Note {
  std::string text;  // ends with a newline
  std::vector<NoteSignature> signatures;

  // text, an empty line, a line "— name base64(hint || signature)" per signature.
  std::string toString() const;
};

// Reads a note from outside: at most 64 KiB and 64 signatures. kInvalidArgument if it is malformed. Nothing
// in it may be believed before its signatures were verified.
Result<Note> parseNote(std::string_view text);

// 1 to 256 bytes of UTF-8 without spaces, control characters and '+'.
bool isKeyName(std::string_view name);

}  // namespace kiln::signing
