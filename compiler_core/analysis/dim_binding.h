// Symbolic dimensions of a model's inputs, bound to the numbers a shape profile pins. No MLIR.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/result.h"

namespace kiln::analysis {

using DimValues = std::map<std::string, std::int64_t>;

// A dimension as a model declares it: a number, a name, or neither.
struct DeclaredDim {
  std::optional<std::int64_t> value;
  std::string name;
};

struct BoundShape {
  std::vector<std::int64_t> shape;
  std::vector<std::string> dimNames;  // "" for dimensions given as numbers
};

// Binds the inputs of one model. A dimension without name is called "<input>.<index>", so that a profile can
// pin it too.
class DimBinder {
 public:
  explicit DimBinder(DimValues values) : values_(std::move(values)) {}

  // kUnimplemented names an unbound dimension and the flag that pins it; kInvalidArgument a negative or
  // absurd one.
  Result<BoundShape> bind(std::string_view input, const std::vector<DeclaredDim>& dims);
  // After all inputs: kInvalidArgument when the profile pins a name that no input has.
  Status finish() const;
  const DimValues& used() const { return used_; }

 private:
  DimValues values_, used_;
};

// Only fixed profiles are served: kUnimplemented names the first dimension whose min, opt and max differ.
struct ProfileDim {
  std::string name;
  std::int64_t min = 1, opt = 1, max = 1;
};
Result<DimValues> pinnedDims(const std::string& profile, const std::vector<ProfileDim>& dims);

}  // namespace kiln::analysis
