#include "api/node/fixtures.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "manifest/spec/path.h"

namespace kiln::node {
namespace fs = std::filesystem;
namespace {

constexpr std::uintmax_t kMaxListBytes = 8 << 20;
constexpr std::string_view kGap = "  ";

Result<std::string> readList(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(path, error)) || fs::file_size(path, error) > kMaxListBytes) {
    return fail(Code::kDataLoss, path.string() + ": no list of the fixtures that were fetched");
  }
  std::ifstream stream(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(stream)), {});
}

}  // namespace

std::string fixtureList(std::vector<FixtureFile> files) {
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  std::string text;
  for (const auto& file : files) text += file.digest.hex() + std::string(kGap) + file.path + "\n";
  return text;
}

Result<std::map<std::string, std::string>> parseFixtureList(std::string_view text) {
  std::map<std::string, std::string> digests;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    const bool formed = end != text.npos && line.size() > 64 + kGap.size() &&
                        line.substr(64, kGap.size()) == kGap &&
                        Digest::parse(line.substr(0, 64), 0).has_value() &&
                        checkRelativePath(line.substr(64 + kGap.size())).has_value();
    if (!formed || !digests.emplace(line.substr(64 + kGap.size()), line.substr(0, 64)).second) {
      return fail(Code::kDataLoss, "the list of fixtures is not as it was written");
    }
    text.remove_prefix(end + 1);
  }
  return digests;
}

Result<std::size_t> checkFixtures(const std::string& directory) {
  const auto folder = fs::path(directory) / "fixtures";
  std::error_code error;
  if (!fs::exists(fs::symlink_status(folder, error))) return 0;
  KILN_ASSIGN(const auto text, readList(folder / kFixtureList));
  KILN_ASSIGN(auto listed, parseFixtureList(text));
  const auto count = listed.size();
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const auto name = it->path().lexically_relative(folder).generic_string();
    const auto kind = it->symlink_status(error).type();
    if (kind == fs::file_type::directory || name == kFixtureList) continue;
    const auto at = listed.find(name);
    if (at == listed.end() || kind != fs::file_type::regular) {
      return fail(Code::kDataLoss, "fixtures/" + name + ": was not fetched");
    }
    KILN_ASSIGN(const Digest found, digestOfFile(it->path().string()));
    if (found.hex() != at->second)
      return fail(Code::kDataLoss, "fixtures/" + name + ": has changed since it was fetched");
    listed.erase(at);
  }
  if (error) return fail(errnoError(error.value(), folder.string()));
  if (!listed.empty()) return fail(Code::kDataLoss, "fixtures/" + listed.begin()->first + ": is missing");
  return count;
}

}  // namespace kiln::node
