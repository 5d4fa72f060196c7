#include "compiler_core/analysis/dim_binding.h"

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
    auto it = values_.find(name);
    if (it == values_.end())
      return fail(Code::kUnimplemented, "input " + quoted(input) + " has the symbolic dimension " +
                                            quoted(name) + ", which no profile pins; give --profile " + name +
                                            "=N:N:N with one number");
    if (it->second < 1 || it->second > kMaxDim)
      return fail(Code::kInvalidArgument, "the profile pins dimension " + quoted(name) + " to " +
                                              std::to_string(it->second) + "; it takes 1 to " +
                                              std::to_string(kMaxDim));
    used_.insert(*it);
    bound.shape.push_back(it->second);
    bound.dimNames.push_back(std::move(name));
  }
  return bound;
}

Status DimBinder::finish() const {
  for (const auto& [name, value] : values_)
    if (!used_.contains(name)) {
      std::string known;
      for (const auto& [have, number] : used_) known += (known.empty() ? "" : ", ") + have;
      return fail(Code::kInvalidArgument,
                  "the profile pins dimension " + quoted(name) + ", which no input of the model has" +
                      (known.empty() ? "; all its dimensions are numbers" : "; it has " + known));
    }
  return {};
}

Result<DimValues> pinnedDims(const std::string& profile, const std::vector<ProfileDim>& dims) {
  DimValues values;
  for (const ProfileDim& dim : dims) {
    if (dim.min != dim.opt || dim.opt != dim.max)
      return fail(Code::kUnimplemented,
                  "profile " + quoted(profile) + ", dimension " + quoted(dim.name) +
                      ": shape ranges are not served by this toolchain yet; give min = opt = max");
    values[dim.name] = dim.opt;
  }
  return values;
}

}  // namespace kiln::analysis
