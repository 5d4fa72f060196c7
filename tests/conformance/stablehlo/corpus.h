// StableHLO's own conformance cases on disk: testdata/ has one for each file, interpret/ one for each
// function of each module between lines "// -----". No MLIR.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "manifest/base/result.h"
#include "tests/support/temp_directory.h"

namespace kiln::conformance {

struct StablehloCase {
  std::string name;      // "testdata/abs_float32_20_20", "interpret/abs:2"
  std::string path;      // of the file
  std::size_t part = 0;  // the module in it
  // Of the largest result, by which results may differ beyond what the case allows.
  double allowance = 0;
};

class StablehloCorpus {
 public:
  // `path`: the folder that holds testdata/ and interpret/, or a .tar.zst of one. kNotFound where there is no
  // such thing, kInvalidArgument where the archive cannot be unpacked.
  static Result<StablehloCorpus> open(const std::string& path);
  // Sorted by name.
  const std::vector<StablehloCase>& cases() const { return cases_; }

 private:
  std::unique_ptr<testing_support::TempDirectory> unpacked_;
  std::vector<StablehloCase> cases_;
};

// The module's text. kNotFound where the file cannot be read or has no such part.
Result<std::string> moduleText(const StablehloCase& one);

}  // namespace kiln::conformance
