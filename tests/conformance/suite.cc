#include "tests/conformance/suite.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "manifest/json/json.h"
#include "tests/support/child_process.h"

namespace kiln::conformance {
namespace {

namespace fs = std::filesystem;

struct DataJson {
  std::string url;
  Tolerance tolerance;
};

DataJson readDataJson(const fs::path& path) {
  DataJson data;
  std::ifstream file(path);
  auto json = parseJson(std::string(std::istreambuf_iterator<char>(file), {}));
  if (!json || !json->is_object()) return data;
  data.url = json->value("url", std::string());
  data.tolerance.relative = json->value("rtol", data.tolerance.relative);
  data.tolerance.absolute = json->value("atol", data.tolerance.absolute);
  return data;
}

// Cases whose stated outputs the suite's tolerance does not allow for the exact result: rounding of f32 where
// the result is 0. The inverse transform in f64 differs from them by up to 1.5e-6.
constexpr std::string_view kRoundedToNoise[] = {"test_dft_inverse", "test_dft_inverse_opset19"};
constexpr double kNoise = 2e-6;

std::vector<Case> findCases(const fs::path& root) {
  std::vector<Case> cases;
  std::map<std::string, Tolerance> light;  // of real/*/data.json, by the file name of the light network
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const fs::path& path = entry.path();
    const std::string file = path.filename().string();
    if (file == "data.json" && !fs::exists(path.parent_path() / "model.onnx")) {
      const DataJson data = readDataJson(path);
      light[fs::path(data.url).filename().string()] = data.tolerance;
    }
    if (path.extension() != ".onnx") continue;
    Case one;
    one.model = path.string();
    const fs::path output = path.parent_path() / (path.stem().string() + "_output_0.pb");
    if (file == "model.onnx") {
      one.name = fs::relative(path.parent_path(), root).generic_string();
      one.data = (path.parent_path() / "test_data_set_0").string();
      if (fs::exists(path.parent_path() / "data.json"))
        one.tolerance = readDataJson(path.parent_path() / "data.json").tolerance;
    } else if (fs::exists(output)) {
      one.name = (fs::relative(path.parent_path(), root) / path.stem()).generic_string();
      one.output = output.string();
    } else {
      continue;
    }
    // In a folder of one group the group is the folder itself.
    const std::size_t slash = one.name.find('/');
    one.group = slash == std::string::npos || one.name.starts_with("./")
                    ? fs::weakly_canonical(root).filename().string()
                    : one.name.substr(0, slash);
    if (one.name.starts_with("./")) one.name = one.name.substr(2);
    cases.push_back(std::move(one));
  }
  for (Case& one : cases)
    for (std::string_view name : kRoundedToNoise)
      if (fs::path(one.name).filename() == name) one.tolerance.absolute = kNoise;
  for (Case& one : cases)
    if (auto found = light.find(fs::path(one.model).filename().string());
        one.data.empty() && found != light.end())
      one.tolerance = found->second;
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

}  // namespace

Result<Suite> Suite::open(const std::string& path) {
  Suite suite;
  std::string root = path;
  if (fs::is_regular_file(path)) {
    suite.unpacked_ = std::make_unique<testing_support::TempDirectory>();
    root = *suite.unpacked_ / "suite";
    fs::create_directory(root);
    testing_support::ChildProcess tar({"/usr/bin/env", "tar", "--zstd", "-xf", path, "-C", root},
                                      *suite.unpacked_ / "tar.log");
    if (tar.wait() != 0) {
      std::ifstream log(*suite.unpacked_ / "tar.log");
      return fail(Code::kInvalidArgument, path + ": tar --zstd cannot unpack it: " +
                                              std::string(std::istreambuf_iterator<char>(log), {}));
    }
  } else if (!fs::is_directory(path)) {
    return fail(Code::kNotFound, "no suite at '" + path +
                                     "': name the ONNX backend test data, unpacked or as a .tar.zst archive");
  }
  suite.cases_ = findCases(root);
  if (suite.cases_.empty())
    return fail(Code::kNotFound, "no case below '" + path + "': a case is a folder with model.onnx");
  return suite;
}

std::vector<Case> choose(const std::vector<Case>& cases, const std::vector<std::string>& filters,
                         std::size_t every) {
  std::vector<Case> chosen;
  std::size_t matching = 0;
  for (const Case& one : cases) {
    const auto matches = [&](const std::string& filter) {
      return one.name.find(filter) != std::string::npos;
    };
    if (!filters.empty() && std::none_of(filters.begin(), filters.end(), matches)) continue;
    if (matching++ % every == 0) chosen.push_back(one);
  }
  return chosen;
}

}  // namespace kiln::conformance
