#include "compiler_core/analysis/dim_binding.h"

#include <algorithm>
#include <numeric>

#include "manifest/spec/dim_option.h"

namespace kiln::analysis {
namespace {

constexpr std::int64_t kMaxDim = std::int64_t{1} << 31;

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

}  // namespace

Result<BoundShape> DimBinder::bind(std::string_view input, const std::vector<DeclaredDim>& dims) {
  BoundShape bound;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const DeclaredDim& dim = dims[i];
    if (dim.value) {
      if (*dim.value < 0 || *dim.value > kMaxDim)
        return fail(Code::kInvalidArgument, "input " + quoted(input) + ": dimension " + std::to_string(i) +
                                                " is " + std::to_string(*dim.value));
      bound.shape.push_back(*dim.value);
      bound.dimNames.emplace_back();
      continue;
    }
    std::string name = dim.name.empty() ? std::string(input) + "." + std::to_string(i) : dim.name;
    if (auto range = ranges_.find(name); range != ranges_.end()) {
      if (range->second.min < 1 || range->second.max > kMaxDim)
        return fail(Code::kFailedPrecondition, "the profiles let dimension " + quoted(name) + " be " +
                                                   std::to_string(range->second.min) + " to " +
                                                   std::to_string(range->second.max) +
                                                   "; a range takes 1 to " + std::to_string(kMaxDim));
      symbolic_.insert(name);
      bound.shape.push_back(kSymbolic);
      bound.dimNames.push_back(std::move(name));
      continue;
    }
    auto it = values_.find(name);
    if (it == values_.end())
      return fail(Code::kUnimplemented, "input " + quoted(input) + " has the symbolic dimension " +
                                            quoted(name) + ", which no profile gives; give --profile " +
                                            dimOption(name) + "=N with a number or --profile " +
                                            dimOption(name) + "=MIN:OPT:MAX");
    if (it->second < 0 || it->second > kMaxDim)
      return fail(Code::kFailedPrecondition, "the profile pins dimension " + quoted(name) + " to " +
                                                 std::to_string(it->second) + "; it takes 0 to " +
                                                 std::to_string(kMaxDim));
    used_.insert(*it);
    bound.shape.push_back(it->second);
    bound.dimNames.push_back(std::move(name));
  }
  return bound;
}

std::optional<DimBounds> DimBinder::element(std::string_view input, std::int64_t index) {
  const std::string name = std::string(input) + "[" + std::to_string(index) + "]";
  if (auto range = ranges_.find(name); range != ranges_.end()) {
    symbolic_.insert(name);
    return range->second;
  }
  auto value = values_.find(name);
  if (value == values_.end()) return std::nullopt;
  used_.insert(*value);
  return DimBounds{value->second, value->second};
}

Status DimBinder::finish() const {
  std::string known;
  for (const auto& [have, number] : used_) known += (known.empty() ? "" : ", ") + have;
  for (const std::string& have : symbolic_) known += (known.empty() ? "" : ", ") + have;
  const auto unknown = [&](const std::string& name) {
    return fail(Code::kFailedPrecondition,
                "the profile gives dimension " + quoted(name) + ", which no input of the model has" +
                    (known.empty() ? "; all its dimensions are numbers" : "; it has " + known));
  };
  for (const auto& [name, value] : values_)
    if (!used_.contains(name)) return unknown(name);
  for (const auto& [name, range] : ranges_)
    if (!symbolic_.contains(name)) return unknown(name);
  return {};
}

const ProfileDim* Profile::find(std::string_view dim) const {
  for (const ProfileDim& candidate : dims)
    if (candidate.name == dim) return &candidate;
  return nullptr;
}

namespace {

// Of a dimension that every profile has.
std::int64_t multipleOf(std::string_view dim, const std::vector<Profile>& profiles) {
  std::int64_t common = 0;
  bool isGiven = false;
  for (const Profile& profile : profiles) {
    const ProfileDim& one = *profile.find(dim);
    isGiven = isGiven || one.multiple > 1;
    common = std::gcd(common, one.min == one.max ? one.min : one.multiple);
  }
  return isGiven ? std::max<std::int64_t>(common, 1) : 1;
}

}  // namespace

Result<ProfileBounds> boundsOf(const std::vector<Profile>& profiles) {
  ProfileBounds bounds;
  for (const Profile& profile : profiles)
    for (const ProfileDim& dim : profile.dims) {
      auto [place, isNew] = bounds.ranges.try_emplace(dim.name, DimBounds{dim.min, dim.max});
      place->second.min = std::min(place->second.min, dim.min);
      place->second.max = std::max(place->second.max, dim.max);
      if (!isNew) continue;
      for (const Profile& other : profiles)
        if (!other.find(dim.name))
          return fail(Code::kFailedPrecondition, "profile " + quoted(profile.name) + " gives dimension " +
                                                     quoted(dim.name) + ", profile " + quoted(other.name) +
                                                     " does not; every profile gives every dimension");
    }
  for (auto it = bounds.ranges.begin(); it != bounds.ranges.end();) {
    if (it->second.min != it->second.max) {
      it->second.multiple = multipleOf(it->first, profiles);
      ++it;
      continue;
    }
    bounds.fixed[it->first] = it->second.min;
    it = bounds.ranges.erase(it);
  }
  return bounds;
}

}  // namespace kiln::analysis
