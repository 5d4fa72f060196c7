// The ONNX backend suite on disk: which cases there are. No MLIR.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "manifest/base/result.h"
#include "tests/support/temp_directory.h"

namespace kiln::conformance {

struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;  // the suite's own, unless a data.json says otherwise
};

struct Case {
  std::string name;   // "node/test_abs"
  std::string group;  // "node"
  std::string model;  // path of the ONNX file
  // Folder of input_N.pb and output_N.pb. Empty for a light network: its input is arange(n)/n and its output
  // lies in the file `output`.
  std::string data;
  std::string output;
  Tolerance tolerance;
};

// The suite's folder, unpacked into a temporary one when it came as an archive.
class Suite {
 public:
  // `path`: a folder of cases, a folder of such folders (groups), or a .tar.zst of one. kNotFound when there
  // is no such thing, kInvalidArgument when the archive cannot be unpacked.
  static Result<Suite> open(const std::string& path);
  // Sorted by name.
  const std::vector<Case>& cases() const { return cases_; }

 private:
  std::unique_ptr<testing_support::TempDirectory> unpacked_;
  std::vector<Case> cases_;
};

// Those whose name contains one of `filters` (all when there is none), and of these every n-th.
std::vector<Case> choose(const std::vector<Case>& cases, const std::vector<std::string>& filters,
                         std::size_t every);

}  // namespace kiln::conformance
