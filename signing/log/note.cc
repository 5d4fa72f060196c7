#include "signing/log/note.h"

#include <algorithm>

#include "manifest/base/digest.h"
#include "manifest/base/utf8.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxNoteBytes = 64 << 10;
constexpr std::size_t kMaxSignatures = 64;
constexpr std::string_view kDash = "\xe2\x80\x94 ";  // em dash, space

tl::unexpected<Error> malformed(const char* what) {
  return fail(Code::kInvalidArgument, std::string("signed note: ") + what);
}

Result<NoteSignature> parseSignature(std::string_view line) {
  if (!line.starts_with(kDash)) return malformed("a signature line must begin with an em dash and a space");
  line.remove_prefix(kDash.size());
  const auto space = line.find(' ');
  if (space == std::string_view::npos) return malformed("a signature line must be a name and base64");
  NoteSignature out;
  out.name = line.substr(0, space);
  if (!isKeyName(out.name)) return malformed("the name of a key is not well formed");
  const std::string_view text = line.substr(space + 1);
  auto bytes = fromBase64(text);
  if (!bytes) return malformed("a signature is not base64 with padding");
  if (bytes->size() <= out.hint.size()) return malformed("a signature is too short");
  std::copy_n(bytes->begin(), out.hint.size(), out.hint.begin());
  out.signature = bytes->substr(out.hint.size());
  return out;
}

}  // namespace

bool isKeyName(std::string_view name) {
  if (name.empty() || name.size() > 256 || !isUtf8(name)) return false;
  // Unicode's further spaces begin with these bytes; names are host names, so whole blocks may be refused.
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return c > 0x20 && c != 0x7f && c != '+'; }) &&
         name.find("\xc2\x85") == name.npos && name.find("\xc2\xa0") == name.npos &&
         name.find("\xe1\x9a\x80") == name.npos && name.find("\xe2\x80") == name.npos &&
         name.find("\xe2\x81\x9f") == name.npos && name.find("\xe3\x80\x80") == name.npos;
}

std::string Note::toString() const {
  std::string out = text + "\n";
  for (const NoteSignature& one : signatures) {
    std::string bytes(one.hint.begin(), one.hint.end());
    bytes += one.signature;
    out.append(kDash).append(one.name).append(" ").append(toBase64(asBytes(bytes))).append("\n");
  }
  return out;
}

Result<Note> parseNote(std::string_view text) {
  if (text.size() > kMaxNoteBytes) return malformed("longer than 64 KiB");
  if (!isUtf8(text)) return malformed("not UTF-8");
  if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 && c != '\n'; }))
    return malformed("holds a control character");
  const auto end = text.rfind("\n\n");
  if (end == std::string_view::npos) return malformed("no empty line before the signatures");
  Note note;
  note.text = text.substr(0, end + 1);
  if (note.text == "\n") return malformed("no text");
  std::string_view rest = text.substr(end + 2);
  if (rest.empty() || rest.back() != '\n') return malformed("must end with a signature line");
  while (!rest.empty()) {
    const auto line = rest.find('\n');
    KILN_ASSIGN(NoteSignature one, parseSignature(rest.substr(0, line)));
    if (note.signatures.size() == kMaxSignatures) return malformed("more than 64 signatures");
    note.signatures.push_back(std::move(one));
    rest.remove_prefix(line + 1);
  }
  return note;
}

}  // namespace kiln::signing
