#include "manifest/spec/target.h"

#include <algorithm>

#include "manifest/base/printable.h"

namespace kiln {
namespace {

// The x86-64-v3 level of the System V ABI supplement, in LLVM's feature names, implied ones included.
const Target& x8664v3() {
  static const Target target{
      "cpu:x86-64-v3",
      "x86_64-unknown-linux-gnu",
      "x86-64-v3",
      {"+64bit", "+avx",  "+avx2", "+bmi",    "+bmi2",   "+cmov",  "+crc32", "+cx16",   "+cx8",
       "+f16c",  "+fma",  "+fxsr", "+lzcnt",  "+mmx",    "+movbe", "+nopl",  "+popcnt", "+sahf",
       "+sse",   "+sse2", "+sse3", "+sse4.1", "+sse4.2", "+ssse3", "+x87",   "+xsave"}};
  return target;
}

bool isWord(std::string_view text, std::string_view extra) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || extra.find(c) != std::string_view::npos;
  });
}
bool isNumber(std::string_view text) {
  return !text.empty() && text.size() <= 4 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool isCpu(std::string_view text) {
  std::size_t plus = text.find('+');
  std::string_view level = text.substr(0, plus);
  bool known = level == "x86-64" || level == "x86-64-v2" || level == "x86-64-v3" || level == "x86-64-v4" ||
               level == "aarch64" || (level.starts_with("aarch64-") && isWord(level.substr(8), "-"));
  if (!known) return false;
  while (plus != std::string_view::npos) {
    text.remove_prefix(plus + 1);
    plus = text.find('+');
    if (!isWord(text.substr(0, plus), ".-_")) return false;
  }
  return true;
}

bool isWellFormed(std::string_view name) {
  if (name.starts_with("cpu:")) return isCpu(name.substr(4));
  if (name.starts_with("cuda:sm_")) {
    name.remove_prefix(8);
    if (!name.empty() && name.back() >= 'a' && name.back() <= 'f') name.remove_suffix(1);
    return isNumber(name) && name.size() >= 2;
  }
  if (name.starts_with("vulkan:1.")) return isNumber(name.substr(9));
  return false;
}

std::string served() {
  std::string out;
  for (const std::string& name : servedTargets()) out += (out.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace

std::vector<std::string> servedTargets() {
  return {x8664v3().name};
}

Result<Target> parseTarget(std::string_view name) {
  if (name == x8664v3().name) return x8664v3();
  std::string_view rest = name.substr(0, 1024);
  if (rest.size() != name.size()) return fail(Code::kInvalidArgument, "target name longer than 1024 bytes");
  while (true) {
    std::size_t comma = rest.find(',');
    std::string_view part = rest.substr(0, comma);
    std::string_view kind = part.substr(part.find(':') == std::string_view::npos ? 0 : part.find(':') + 1);
    if (kind == "native" || kind == "host")
      return fail(Code::kInvalidArgument,
                  "target " + inQuotes(name) + ": " + std::string(kind) +
                      " means something else on every machine; name a target, such as " + served());
    if (!isWellFormed(part))
      return fail(Code::kInvalidArgument,
                  "target " + inQuotes(name) + ": not a target; this release serves " + served());
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return fail(Code::kUnimplemented,
              "target " + inQuotes(name) + " is not served; this release serves " + served());
}

}  // namespace kiln
