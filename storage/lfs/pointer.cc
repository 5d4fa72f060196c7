#include "storage/lfs/pointer.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "manifest/base/printable.h"

namespace kiln::lfs {
namespace {

// The second is what the format was called before it had its name.
constexpr std::string_view kVersions[] = {"https://git-lfs.github.com/spec/v1",
                                          "https://hawser.github.com/spec/v1"};
constexpr std::string_view kBeginnings[] = {"version https://git-lfs.github.com/spec/",
                                            "version https://hawser.github.com/spec/"};
constexpr std::string_view kHash = "sha256:";

tl::unexpected<Error> bad(const std::string& what) {
  return fail(Error{Code::kInvalidArgument, "a broken Git LFS pointer: " + what, R"({"exitCode":3})"});
}

// Takes the next line "KEY VALUE\n" off `text`; its value.
Result<std::string_view> takeLine(std::string_view& text, std::string_view key) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  if (end == text.npos) return bad("its last line has no end");
  if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ' ')
    return bad("where \"" + std::string(key) + "\" belongs stands " + inQuotes(line));
  text.remove_prefix(end + 1);
  return line.substr(key.size() + 1);
}

bool isExtension(std::string_view line) {
  return line.size() > 6 && line.starts_with("ext-") && line[4] >= '0' && line[4] <= '9' && line[5] == '-';
}

}  // namespace

Result<std::optional<Digest>> readPointer(std::string_view text) {
  const bool begins =
      std::ranges::any_of(kBeginnings, [&](std::string_view line) { return text.starts_with(line); });
  if (!begins || text.size() >= kMaxPointerBytes) return std::nullopt;
  KILN_ASSIGN(const std::string_view version, takeLine(text, "version"));
  if (std::ranges::find(kVersions, version) == std::end(kVersions))
    return bad("its version is " + inQuotes(version));
  if (isExtension(text))
    return fail(Code::kUnimplemented,
                "a Git LFS pointer with an extension (" + inQuotes(text.substr(0, text.find('\n'))) +
                    "): the file is what a program makes of the object, and none is run");
  KILN_ASSIGN(const std::string_view hash, takeLine(text, "oid"));
  KILN_ASSIGN(const std::string_view digits, takeLine(text, "size"));
  if (!text.empty()) return bad("it goes on behind its size with " + inQuotes(text));
  if (!hash.starts_with(kHash)) return bad("its object is named by " + inQuotes(hash) + ", not by a SHA-256");
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
  if (error != std::errc() || end != digits.data() + digits.size() ||
      (digits.size() > 1 && digits.starts_with('0')))
    return bad("its size is " + inQuotes(digits));
  const auto object = Digest::parse(hash, size);
  if (!object) return bad("its object is named by " + inQuotes(hash) + ", not by 64 lowercase hex digits");
  return *object;
}

}  // namespace kiln::lfs
