#include "api/cli/artifact/output_names.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace kiln::cli {
namespace {

constexpr std::size_t kLongest = 200;  // bytes, of the 255 that most file systems allow

std::string plain(std::string name) {
  name.resize(std::min(name.size(), kLongest));
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-' && c != '.') c = '_';
  if (name.empty() || name.starts_with('.')) name.replace(0, 1, "_");
  return name;
}

}  // namespace

std::vector<std::string> outputFileNames(const std::vector<std::string>& names) {
  std::set<std::string> taken;
  for (const std::string& name : names)
    if (plain(name) == name) taken.insert(name);
  std::vector<std::string> out;
  for (const std::string& name : names) {
    const std::string start = plain(name);
    std::string file = start;
    for (int n = 2; start != name && !taken.insert(file).second; ++n) file = start + "_" + std::to_string(n);
    out.push_back(file + ".npy");
  }
  return out;
}

}  // namespace kiln::cli
