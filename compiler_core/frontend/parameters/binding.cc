#include "compiler_core/frontend/parameters/binding.h"

#include <algorithm>
#include <ranges>
#include <set>
#include <string_view>
#include <utility>

#include "compiler_core/frontend/parameters/argument_names.h"
#include "compiler_core/frontend/parameters/names.h"
#include "compiler_core/frontend/parameters/shared_weights.h"
#include "compiler_core/frontend/parameters/tensor_checks.h"
#include "manifest/base/counted.h"
#include "manifest/base/printable.h"

namespace kiln::parameters {
namespace {

constexpr std::size_t kMaxComplaints = 16;

struct Bound {
  const ParameterFile* file = nullptr;
  const ir::Weight* tensor = nullptr;
};

std::string typeText(DType dtype, const std::vector<std::int64_t>& shape,
                     const std::vector<std::string>& dimNames = {}) {
  std::string out(dtypeName(dtype));
  out += '[';
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out += ',';
    if (shape[i] >= 0)
      out += std::to_string(shape[i]);
    else
      out += i < dimNames.size() && !dimNames[i].empty() ? printable(dimNames[i]) : "?";
  }
  return out + "]";
}

class Binder {
 public:
  explicit Binder(const std::vector<Argument>& arguments)
      : arguments_(arguments), names_(arguments), bound_(arguments.size()) {
    areNamed_ = std::ranges::any_of(arguments, [](const Argument& one) { return !one.name.empty(); });
  }

  void bindFile(const ParameterFile& file) {
    const auto isName = [&](const ir::Weight& tensor) { return names_.isArgument(tensor.name); };
    const auto isPosition = [](const ir::Weight& tensor) { return positionOf(tensor.name).has_value(); };
    if (file.tensors.empty()) return;
    const auto isSimilar = [&](const ir::Weight& tensor) { return names_.find(tensor.name).has_value(); };
    if (std::ranges::all_of(file.tensors, isPosition) && std::ranges::none_of(file.tensors, isName))
      return bindByPosition(file);
    if (std::ranges::any_of(file.tensors, isSimilar)) return bindByName(file);
    if (areNamed_) {
      complainOfNames(file);
      return bindByName(file);
    }
    complain(
        file.path + ": the program's arguments have no names that " + tensorPlace(file.tensors.front().name) +
        " could be; number the tensors by the arguments (\"0\", or numpy.savez(file, *leaves)), or give a "
        "program that names its arguments (of JAX: as_text(debug_info=True), or an export)");
  }

  Result<Bindings> finish() {
    complainOfMissing();
    if (count_ == 0) return shared();
    std::string all = "the parameters do not fit the program's arguments: ";
    for (const std::string& one : complaints_) all += (&one == &complaints_.front() ? "" : "; ") + one;
    if (count_ > complaints_.size()) all += "; and " + std::to_string(count_ - complaints_.size()) + " more";
    return fail(Code::kInvalidArgument, std::move(all));
  }

 private:
  void complain(std::string what) {
    if (count_++ < kMaxComplaints) complaints_.push_back(std::move(what));
  }
  std::string argumentText(std::size_t at) const {
    return "argument " + std::to_string(at) +
           (arguments_[at].name.empty() ? "" : " " + inQuotes(arguments_[at].name));
  }

  void put(const ParameterFile& file, const ir::Weight& tensor, std::size_t at) {
    const Argument& argument = arguments_[at];
    const std::string where = file.path + ": " + tensorPlace(tensor.name);
    if (const Bound& before = bound_[at]; before.tensor != nullptr) {
      return complain(where + " is " + argumentText(at) + ", as " + tensorPlace(before.tensor->name) +
                      " of " + before.file->path + " is already");
    }
    bound_[at] = {&file, &tensor};
    if (tensor.dtype == argument.dtype && tensor.shape == argument.shape) return;
    complain(where + " is " + typeText(tensor.dtype, tensor.shape) + ", " + argumentText(at) + " is " +
             typeText(argument.dtype, argument.shape, argument.dimNames));
  }
  void superfluous(const ParameterFile& file, const ir::Weight& tensor) {
    if (count_ >= kMaxComplaints) return complain({});
    complain(file.path + ": " + tensorPlace(tensor.name) + " is superfluous: no argument has this name" +
             names_.orNearest(tensor.name));
  }

  // For a file that has none of them.
  void complainOfNames(const ParameterFile& file) {
    constexpr std::size_t kMaxNames = 8;
    std::string names;
    for (const Argument& one : arguments_ | std::views::take(kMaxNames))
      names += (names.empty() ? "" : ", ") + inQuotes(one.name);
    if (arguments_.size() > kMaxNames)
      names += " and " + std::to_string(arguments_.size() - kMaxNames) + " more";
    complain(file.path + ": none of its tensors has the name of an argument; those are " + names);
  }

  void bindByName(const ParameterFile& file) {
    for (const ir::Weight& tensor : file.tensors) {
      if (const auto at = names_.find(tensor.name))
        put(file, tensor, *at);
      else
        superfluous(file, tensor);
    }
  }
  void bindByPosition(const ParameterFile& file) {
    for (const ir::Weight& tensor : file.tensors) {
      const std::size_t at = *positionOf(tensor.name);
      if (at < arguments_.size()) {
        put(file, tensor, at);
        first_ = std::min(first_, at);
        last_ = std::max(last_, at);
      } else {
        complain(file.path + ": " + tensorPlace(tensor.name) + " is superfluous: the program has " +
                 counted(arguments_.size(), "argument"));
      }
    }
  }
  void complainOfMissing() {
    std::set<std::string, std::less<>> trees;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      if (bound_[i].tensor != nullptr) trees.emplace(rootOf(pathOf(arguments_[i].name)));
    }
    trees.erase("");
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      if (bound_[i].tensor != nullptr) continue;
      if ((first_ < i && i < last_) || trees.contains(rootOf(pathOf(arguments_[i].name))))
        complain(argumentText(i) + " is missing: no tensor of the files is bound to it");
    }
  }

  Bindings shared() const {
    Bindings out;
    SharedWeights shared(out.weights);
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      out.ofArgument.emplace_back();
      if (bound_[i].tensor == nullptr) continue;
      ir::Weight weight = *bound_[i].tensor;
      if (!arguments_[i].name.empty()) weight.name = arguments_[i].name;
      out.ofArgument.back() = shared.add(std::move(weight));
    }
    return out;
  }

  const std::vector<Argument>& arguments_;
  ArgumentNames names_;
  bool areNamed_ = false;                    // whether any argument has a name
  std::vector<Bound> bound_;                 // by argument
  std::size_t first_ = SIZE_MAX, last_ = 0;  // of the arguments that are bound by position
  std::vector<std::string> complaints_;
  std::size_t count_ = 0;  // of complaints, those that were not kept included
};

}  // namespace

Result<Bindings> bind(const std::vector<Argument>& arguments, const std::vector<ParameterFile>& files) {
  Binder binder(arguments);
  for (const ParameterFile& file : files) binder.bindFile(file);
  return binder.finish();
}

}  // namespace kiln::parameters
