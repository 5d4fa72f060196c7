// Symbolic dimensions of a model's inputs, bound to the numbers or ranges that shape profiles give. No MLIR.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
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

// In BoundShape: a range, not a number.
inline constexpr std::int64_t kSymbolic = -1;

struct BoundShape {
  std::vector<std::int64_t> shape;    // kSymbolic where a name has a range
  std::vector<std::string> dimNames;  // "" for dimensions given as numbers
};

// Both ends included. Every value is a multiple of `multiple`.
struct DimBounds {
  std::int64_t min = 1, max = 1, multiple = 1;
  bool operator==(const DimBounds&) const = default;
};

// A shape profile: a range for each symbolic dimension, or for an element "<input>[<index>]" of an integer
// input.
struct ProfileDim {
  std::string name;
  std::int64_t min = 1, opt = 1, max = 1;
  std::int64_t multiple = 1;  // positive, and min, opt and max are multiples of it
};
struct Profile {
  std::string name = "default";
  std::vector<ProfileDim> dims;

  const ProfileDim* find(std::string_view dim) const;
};

// What several profiles leave open.
struct ProfileBounds {
  DimValues fixed;  // one number in all profiles
  // The others: from the least to the largest of all. Where a profile gives a multiple, the largest number
  // that divides all values in all of them; a single value is a multiple of itself.
  std::map<std::string, DimBounds> ranges;
};
// kFailedPrecondition names a dimension that one profile gives and another does not.
Result<ProfileBounds> boundsOf(const std::vector<Profile>& profiles);

// Binds the inputs of one model. A dimension without name is called "<input>.<index>", so that a profile can
// pin it too.
class DimBinder {
 public:
  explicit DimBinder(DimValues values, std::map<std::string, DimBounds> ranges = {})
      : values_(std::move(values)), ranges_(std::move(ranges)) {}

  // kUnimplemented names an unbound dimension and the flag that pins it; kInvalidArgument a negative or
  // absurd one of the model, kFailedPrecondition one of the profiles.
  Result<BoundShape> bind(std::string_view input, const std::vector<DeclaredDim>& dims);
  // The number or range given for element `index` of an integer input's value, which then counts as used.
  std::optional<DimBounds> element(std::string_view input, std::int64_t index);
  // After all inputs: kFailedPrecondition when a profile gives a name that no input has.
  Status finish() const;
  const DimValues& used() const { return used_; }
  const std::map<std::string, DimBounds>& ranges() const { return ranges_; }

 private:
  DimValues values_, used_;
  std::map<std::string, DimBounds> ranges_;
  std::set<std::string> symbolic_;  // names of `ranges_` that were met
};

}  // namespace kiln::analysis
