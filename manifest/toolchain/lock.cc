#include "manifest/toolchain/lock.h"

#include <algorithm>

#include "manifest/json/reader.h"

namespace kiln {
namespace {

constexpr std::size_t kMaxInputs = 4096;  // of one kind
constexpr std::size_t kMaxWord = 100;
constexpr std::uint64_t kMaxInputBytes = 999'999'999'999;

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
bool isLower(char c) {
  return c >= 'a' && c <= 'z';
}
bool isUpper(char c) {
  return c >= 'A' && c <= 'Z';
}

// A member of 1 to 100 characters: letters and digits, and from the second on also those of `more`.
Result<std::string> readWord(ObjectReader& reader, const char* name, std::string_view more, bool upper) {
  KILN_ASSIGN(std::string text, reader.string(name));
  auto plain = [&](char c) { return isDigit(c) || isLower(c) || (upper && isUpper(c)); };
  const bool fits =
      !text.empty() && text.size() <= kMaxWord && plain(text[0]) &&
      std::ranges::all_of(text, [&](char c) { return plain(c) || more.find(c) != std::string_view::npos; });
  if (!fits)
    return badMember(reader.path(name), std::string("must have 1 to 100 ") +
                                            (upper ? "letters" : "lower-case letters") + ", digits and " +
                                            std::string(more) + ", and begin with a letter or digit");
  return text;
}

Result<Digest> readInputDigest(ObjectReader& reader) {
  KILN_ASSIGN(Digest digest, reader.digest());
  if (digest.size == 0 || digest.size > kMaxInputBytes)
    return badMember(reader.path("size"), "must be from 1 to 999999999999");
  return digest;
}

// The lists of packages and wheels, alike but for the architecture.
Status readNamed(ObjectReader& lock, const char* list, const std::string& kind, bool architecture,
                 std::vector<LockedInput>& inputs) {
  KILN_ASSIGN(const Json* entries, lock.array(list));
  if (entries->size() > kMaxInputs) return badMember(lock.path(list), "must hold at most 4096 entries");
  std::string last;
  for (std::size_t i = 0; i < entries->size(); ++i) {
    KILN_ASSIGN(ObjectReader entry,
                ObjectReader::open((*entries)[i], lock.path(list) + "[" + std::to_string(i) + "]"));
    KILN_ASSIGN(const std::string name, readWord(entry, "name", "+.-", false));
    KILN_ASSIGN(const std::string version, readWord(entry, "version", "-.+:~", true));
    if (architecture) {
      KILN_ASSIGN(const std::string built, entry.string("architecture"));
      if (built != "amd64" && built != "all")
        return badMember(entry.path("architecture"), "must be amd64 or all");
    }
    KILN_ASSIGN(const Digest digest, readInputDigest(entry));
    KILN_TRY(entry.finish());
    if (name <= last) return badMember(entry.path("name"), "entries stand sorted by name, each once");
    last = name;
    inputs.push_back({kind + " " + name + " " + version, digest});
  }
  return {};
}

Result<LockedInput> readSource(ObjectReader& lock) {
  KILN_ASSIGN(ObjectReader source, lock.object("source"));
  KILN_ASSIGN(const std::string commit, source.string("commit"));
  const bool hex = commit.size() == 40 &&
                   std::ranges::all_of(commit, [](char c) { return isDigit(c) || (c >= 'a' && c <= 'f'); });
  if (!hex) return badMember(source.path("commit"), "must be 40 hex digits");
  KILN_ASSIGN(const Digest digest, readInputDigest(source));
  KILN_TRY(source.finish());
  return LockedInput{"source of commit " + commit, digest};
}

}  // namespace

Result<ToolchainLock> readToolchainLock(std::string_view text) {
  if (text.size() > kMaxToolchainLockBytes)
    return fail(Code::kInvalidArgument, "lock: must have at most 1 MiB");
  KILN_ASSIGN(const Json json, parseStrictJson(text));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "lock"));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_TRY(reader.expect("kind", "ToolchainLock"));
  ToolchainLock out;
  KILN_TRY(readNamed(reader, "packages", "package", true, out.inputs));
  KILN_TRY(readNamed(reader, "wheels", "wheel", false, out.inputs));
  KILN_ASSIGN(LockedInput source, readSource(reader));
  out.inputs.push_back(std::move(source));
  KILN_TRY(reader.finish());
  return out;
}

}  // namespace kiln
