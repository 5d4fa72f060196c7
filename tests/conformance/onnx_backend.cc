// onnx_backend: runs the ONNX backend test suite, compiled or (with --evaluate) in the reference evaluator.
// The suite's data are not part of this repository; they are found by --suite.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "manifest/json/json.h"
#include "tests/conformance/run_case.h"
#include "tests/support/temp_directory.h"

namespace kiln::conformance {
namespace {

constexpr const char* kUsage =
    "usage: onnx_backend --suite DIR [--filter TEXT] [--json FILE] [--evaluate]\n"
    "DIR holds one folder per case (model.onnx, test_data_set_0) or folders of such folders.\n"
    "Each case is compiled for cpu:x86-64-v3 and run; with --evaluate the reference evaluator runs it, "
    "before and after "
    "the rewrite stage.\n"
    "example: onnx_backend --suite onnx-backend/node --json report.json\n";

Tolerance toleranceOf(const std::filesystem::path& directory) {
  Tolerance tolerance;
  std::ifstream file(directory / "data.json");
  if (!file) return tolerance;
  auto json = parseJson(std::string(std::istreambuf_iterator<char>(file), {}));
  if (json && json->is_object()) {
    tolerance.relative = json->value("rtol", tolerance.relative);
    tolerance.absolute = json->value("atol", tolerance.absolute);
  }
  return tolerance;
}

std::vector<std::filesystem::path> findCases(const std::filesystem::path& suite) {
  std::vector<std::filesystem::path> cases;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(suite))
    if (entry.path().filename() == "model.onnx") cases.push_back(entry.path().parent_path());
  std::sort(cases.begin(), cases.end());
  return cases;
}

Status compileFresh(const std::filesystem::path& directory) {
  testing_support::TempDirectory scratch;
  return compileCase(directory, KILN_TOOLCHAIN_LIB, scratch.path(), toleranceOf(directory));
}

const char* outcomeName(Outcome outcome) {
  return outcome == Outcome::kPassed ? "passed" : outcome == Outcome::kFailed ? "failed" : "skipped";
}

int main(const std::vector<std::string>& arguments) {
  std::string suite, filter, report;
  bool evaluate = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--help") return std::cout << kUsage, 0;
    if (arguments[i] == "--evaluate") {
      evaluate = true;
      continue;
    }
    std::string* target = arguments[i] == "--suite"    ? &suite
                          : arguments[i] == "--filter" ? &filter
                          : arguments[i] == "--json"   ? &report
                                                       : nullptr;
    if (!target || i + 1 == arguments.size()) return std::cerr << kUsage, 2;
    *target = arguments[++i];
  }
  if (!std::filesystem::is_directory(suite)) {
    std::cerr << "no suite at '" << suite << "': unpack the ONNX backend test data and name its folder\n"
              << kUsage;
    return 6;
  }
  std::size_t counts[3] = {};
  Json list = Json::array();
  for (const auto& directory : findCases(suite)) {
    std::string name = std::filesystem::relative(directory, suite).string();
    if (name.find(filter) == std::string::npos) continue;
    CaseResult result =
        toResult(name, evaluate ? evaluateCase(directory, toleranceOf(directory)) : compileFresh(directory));
    ++counts[static_cast<std::size_t>(result.outcome)];
    if (result.outcome == Outcome::kFailed) std::cout << "FAILED " << name << ": " << result.reason << "\n";
    list.push_back({{"case", name}, {"outcome", outcomeName(result.outcome)}, {"reason", result.reason}});
  }
  if (!report.empty())
    std::ofstream(report) << Json{{"cases", list}}.dump(1, ' ', false, Json::error_handler_t::replace)
                          << "\n";
  std::cout << counts[0] << " passed, " << counts[1] << " failed, " << counts[2] << " skipped\n";
  return counts[1] == 0 ? 0 : 10;
}

}  // namespace
}  // namespace kiln::conformance

int main(int argc, char** argv) {
  return kiln::conformance::main({argv + 1, argv + argc});
}
