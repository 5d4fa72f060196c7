// The fixtures of a fetched artifact. No signature covers them (they are made beside the compile and only
// warm up), so what was fetched is listed in fixtures/SHA256SUMS, in the form that sha256sum -c reads, and
// checked before use.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::node {

inline constexpr char kFixtureList[] = "SHA256SUMS";

// A file beside the artifact that the runtime needs only for warming up: "fixtures.json",
// "default/input_0.npy".
struct FixtureFile {
  std::string path;  // below fixtures/
  Digest digest;
};

// The list's text, sorted by path.
std::string fixtureList(std::vector<FixtureFile> files);

// The hex digests by path. kDataLoss for anything that fixtureList() would not write; the text is from
// outside.
Result<std::map<std::string, std::string>> parseFixtureList(std::string_view text);

// Checks that `directory`/fixtures holds the files of its list, unchanged, and no others; how many there are.
// 0 if there is no such folder. kDataLoss names the file that differs.
Result<std::size_t> checkFixtures(const std::string& directory);

}  // namespace kiln::node
