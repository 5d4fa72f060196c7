#include "tests/conformance/stablehlo/corpus.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/support/child_process.h"

namespace kiln::conformance {
namespace {

namespace fs = std::filesystem;

// Cases whose stated results have lost more than they allow to lose, so that the exact ones fail: sums that
// cancel out, rounded to f32 or bf16 after each step where Kiln keeps more, and sinh and cosh as exp(x +
// log(1/2)), which is off by several parts in 10^7 where exp is large, powers of complex numbers in f32 that
// are off by more than a part in 10^6, and an ill-conditioned triangular system whose stated solution is off
// by up to 3 parts in 10^6 itself.
struct Allowance {
  std::string_view name;
  double relative;
};
constexpr Allowance kInexact[] = {
    {"testdata/conv_general_dilated_float32_2_3_9_float32_12_1_3", 1e-6},
    {"testdata/cosh_float32_20_20_chlo", 1e-6},
    {"testdata/cumprod_complex64_8_9", 1e-6},
    {"testdata/cumsum_bfloat16_8_9", 2e-3},
    {"testdata/dot_general_bfloat16_4_3_complex64_3_6", 1e-6},
    {"testdata/dot_general_float16_4_3_complex64_3_6", 1e-6},
    {"testdata/dot_general_float32_4_3_complex64_3_6", 1e-6},
    {"testdata/dot_general_int16_4_3_complex64_3_6", 1e-6},
    {"testdata/dot_general_int32_4_3_float32_3_6", 1e-6},
    {"testdata/dot_general_int64_4_3_complex64_3_6", 1e-6},
    {"testdata/dot_general_int8_4_3_float32_3_6", 1e-6},
    {"testdata/dot_general_uint16_4_3_complex64_3_6", 1e-6},
    {"testdata/dot_general_uint16_4_3_float32_3_6", 1e-6},
    {"testdata/dot_general_uint8_4_3_complex64_3_6", 1e-6},
    {"testdata/pow_complex64_20_30_complex64_20_30", 2e-6},
    {"testdata/reduce_window_add_float32_12_12", 1e-6},
    {"testdata/sinh_float32_20_20_chlo", 1e-6},
    {"testdata/triangular_solve_float32_2_8_8_float32_2_10_8", 1e-6},
};

// The lines between "// -----".
std::vector<std::string> partsOf(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> parts(1);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("// -----"))
      parts.emplace_back();
    else
      parts.back() += line + "\n";
  }
  return parts;
}

bool hasCode(const std::string& part) {
  return part.find("func.func") != std::string::npos || part.find("\"func.func\"") != std::string::npos;
}

std::vector<StablehloCase> casesBelow(const fs::path& root) {
  std::vector<StablehloCase> cases;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".mlir") continue;
    const std::string path = entry.path().string();
    std::string name = fs::relative(entry.path(), root).generic_string();
    name.resize(name.size() - 5);
    const std::vector<std::string> parts = partsOf(path);
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (hasCode(parts[i]))
        cases.push_back({parts.size() == 1 ? name : name + ":" + std::to_string(i), path, i});
  }
  for (StablehloCase& one : cases)
    if (const auto* found = std::ranges::find(kInexact, one.name, &Allowance::name);
        found != std::end(kInexact))
      one.allowance = found->relative;
  std::ranges::sort(cases, {}, &StablehloCase::name);
  return cases;
}

}  // namespace

Result<StablehloCorpus> StablehloCorpus::open(const std::string& path) {
  StablehloCorpus corpus;
  std::string root = path;
  if (fs::is_regular_file(path)) {
    corpus.unpacked_ = std::make_unique<testing_support::TempDirectory>();
    root = *corpus.unpacked_ / "corpus";
    fs::create_directory(root);
    testing_support::ChildProcess tar({"/usr/bin/env", "tar", "--zstd", "-xf", path, "-C", root},
                                      *corpus.unpacked_ / "tar.log");
    if (tar.wait() != 0) return fail(Code::kInvalidArgument, path + ": tar --zstd cannot unpack it");
  } else if (!fs::is_directory(path)) {
    return fail(
        Code::kNotFound,
        "no cases at '" + path + "': name StableHLO's conformance cases, unpacked or as a .tar.zst archive");
  }
  // An archive holds one folder.
  if (!fs::exists(fs::path(root) / "testdata"))
    for (const auto& entry : fs::directory_iterator(root))
      if (fs::exists(entry.path() / "testdata")) root = entry.path().string();
  corpus.cases_ = casesBelow(root);
  if (corpus.cases_.empty()) return fail(Code::kNotFound, "no .mlir file below '" + path + "'");
  return corpus;
}

Result<std::string> moduleText(const StablehloCase& one) {
  const std::vector<std::string> parts = partsOf(one.path);
  if (one.part >= parts.size()) return fail(Code::kNotFound, one.path + ": there is no such module in it");
  return parts[one.part];
}

}  // namespace kiln::conformance
