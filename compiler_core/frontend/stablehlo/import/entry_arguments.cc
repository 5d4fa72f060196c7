#include "compiler_core/frontend/stablehlo/import/entry_arguments.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler_core/frontend/stablehlo/import/names.h"
#include "compiler_core/frontend/stablehlo/program/attributes.h"

namespace kiln::stablehlo {
namespace {

// JAX's names of sizes are identifiers; anything else is left to the input's name.
bool isSizeName(std::string_view name) {
  constexpr std::size_t kMaxName = 128;
  if (name.empty() || name.size() > kMaxName || name.front() == '_') return false;
  return std::ranges::all_of(name, [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

// An argument, or the size of one of its dimensions.
struct Origin {
  std::size_t argument = 0;
  std::optional<std::size_t> dim;
  auto operator<=>(const Origin&) const = default;
};

class Tracer {
 public:
  Tracer(const Program& program, const Function& entry) : program_(program), entry_(entry) {
    arguments_.resize(entry.body.arguments.size());
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const ValueId value = entry.body.arguments[i];
      origins_[value] = {i, std::nullopt};
      if (value < entry.types.size()) arguments_[i].dims.resize(entry.types[value].shape.size());
      if (i >= entry.arguments.size()) continue;
      arguments_[i].own = entry.arguments[i].name;
      if (const auto* text = attributeAs<std::string>(entry.arguments[i].attributes, kGlobalConstant))
        arguments_[i].constant = *text;
    }
  }

  std::vector<EntryArgument> run() {
    for (const Operation& operation : entry_.body.operations) visit(operation);
    FreeNames free;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      EntryArgument& argument = arguments_[i];
      const std::string& known = argument.own.empty() ? argument.constant : argument.own;
      argument.label = free.take(known.empty() ? "arg" + std::to_string(i) : known);
    }
    nameSizes();
    return std::move(arguments_);
  }

 private:
  std::optional<Origin> originOf(ValueId value) const {
    const auto found = origins_.find(value);
    return found == origins_.end() ? std::nullopt : std::optional(found->second);
  }

  // Only what JAX's wrapper does; all else leaves values without an origin.
  void visit(const Operation& operation) {
    const auto first = operation.operands.empty() ? std::nullopt : originOf(operation.operands[0]);
    if (operation.name == "get_dimension_size" && first && !first->dim && operation.results.size() == 1) {
      const auto* dim = attributeAs<std::int64_t>(operation.attributes, "dimension");
      if (dim && *dim >= 0 && static_cast<std::size_t>(*dim) < arguments_[first->argument].dims.size())
        origins_[operation.results[0]] = {first->argument, static_cast<std::size_t>(*dim)};
    } else if (operation.name == "convert" && first && first->dim && operation.results.size() == 1) {
      origins_[operation.results[0]] = *first;
    } else if (operation.name == "compare" && operation.operands.size() == 2 &&
               operation.results.size() == 1) {
      const auto* direction = attributeAs<Enumerated>(operation.attributes, "comparison_direction");
      if (direction && direction->name == "EQ") equations_[operation.results[0]] = &operation;
    } else if (operation.name == "custom_call" && !operation.operands.empty()) {
      const auto* target = attributeAs<std::string>(operation.attributes, "call_target_name");
      const auto equation = equations_.find(operation.operands[0]);
      if (target && *target == "shape_assertion" && equation != equations_.end())
        join(originOf(equation->second->operands[0]), originOf(equation->second->operands[1]));
    } else if (operation.name == "call") {
      const auto* callee = attributeAs<SymbolName>(operation.attributes, "callee");
      if (const Function* function = callee ? program_.find(callee->name) : nullptr)
        names(operation, *function);
    }
  }

  // What the function that is called names its arguments.
  void names(const Operation& call, const Function& callee) {
    for (std::size_t i = 0; i < call.operands.size() && i < callee.arguments.size(); ++i) {
      const auto origin = originOf(call.operands[i]);
      if (!origin) continue;
      const Argument& argument = callee.arguments[i];
      if (!origin->dim) {
        std::string& own = arguments_[origin->argument].own;
        if (own.empty()) own = argument.name;
      } else if (const auto* name = attributeAs<std::string>(argument.attributes, kGlobalConstant);
                 name && isSizeName(*name)) {
        sizes_.try_emplace(*origin, *name);
      }
    }
  }

  void join(const std::optional<Origin>& a, const std::optional<Origin>& b) {
    if (!a || !b || !a->dim || !b->dim) return;
    const Origin x = leaderOf(*a), y = leaderOf(*b);
    if (x != y) leaders_[std::max(x, y)] = std::min(x, y);
  }

  // The first of the sizes that are asserted to be equal.
  Origin leaderOf(Origin size) const {
    for (auto next = leaders_.find(size); next != leaders_.end(); next = leaders_.find(size))
      size = next->second;
    return size;
  }

  void nameSizes() {
    std::map<Origin, std::string> byLeader;
    std::set<std::string> taken;
    for (const auto& [size, name] : sizes_)
      if (!byLeader.contains(leaderOf(size)) && taken.insert(name).second) byLeader[leaderOf(size)] = name;
    for (const auto& [size, leader] : leaders_) {
      const Origin first = leaderOf(leader);
      if (!byLeader.contains(first))
        byLeader[first] = arguments_[first.argument].label + "." + std::to_string(*first.dim);
    }
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      for (std::size_t dim = 0; dim < arguments_[i].dims.size(); ++dim)
        if (const auto found = byLeader.find(leaderOf({i, dim})); found != byLeader.end())
          arguments_[i].dims[dim] = found->second;
  }

  const Program& program_;
  const Function& entry_;
  std::vector<EntryArgument> arguments_;
  std::map<ValueId, Origin> origins_;
  std::map<ValueId, const Operation*> equations_;
  std::map<Origin, std::string> sizes_;
  std::map<Origin, Origin> leaders_;  // each but the leaders themselves: one that comes before it
};

}  // namespace

std::vector<EntryArgument> entryArguments(const Program& program, const Function& entry) {
  return Tracer(program, entry).run();
}

std::optional<std::int64_t> platformIndex(const Program& program, const EntryArgument& argument) {
  if (argument.constant != kPlatformIndex) return std::nullopt;
  const auto found = std::ranges::find(program.platforms, "cpu");
  if (found == program.platforms.end()) return std::nullopt;
  return found - program.platforms.begin();
}

std::vector<std::string> namesOfInputs(const Program& program) {
  std::vector<std::string> names;
  const Function* entry = program.entry();
  if (!entry) return names;
  for (const EntryArgument& argument : entryArguments(program, *entry))
    if (!platformIndex(program, argument)) names.push_back(argument.label);
  return names;
}

}  // namespace kiln::stablehlo
