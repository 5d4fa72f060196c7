#include "compiler_core/partition/assign.h"

#include <algorithm>
#include <set>

namespace kiln::partition {
namespace {

using Targets = std::vector<TargetIndex>;

std::uint64_t transfers(const GraphValue& value, const Targets& targets) {
  std::set<TargetIndex> elsewhere;
  for (const std::uint32_t user : value.users)
    if (targets[user] != targets[value.from]) elsewhere.insert(targets[user]);
  return elsewhere.size() * value.transferCost;
}

TargetIndex cheapest(const GraphNode& node) {
  TargetIndex best = 0;
  for (TargetIndex i = 0; i < node.cost.size(); ++i)
    if (node.cost[i] && (!node.cost[best] || *node.cost[i] < *node.cost[best])) best = i;
  return best;
}

// Moves connected runs of nodes.
class Improver {
 public:
  Improver(const Graph& graph, Targets& targets)
      : graph_(graph), targets_(targets), valuesOf_(graph.nodes.size()) {
    for (std::uint32_t i = 0; i < graph.values.size(); ++i) {
      valuesOf_[graph.values[i].from].push_back(i);
      for (const std::uint32_t user : graph.values[i].users) valuesOf_[user].push_back(i);
    }
  }

  // One visit of every run; whether anything moved.
  bool pass() {
    bool moved = false;
    std::vector<bool> seen(graph_.nodes.size());
    for (std::uint32_t node = 0; node < graph_.nodes.size(); ++node) {
      if (seen[node]) continue;
      const Run run = runAt(node, seen);
      moved |= improve(run);
    }
    return moved;
  }

 private:
  struct Run {
    std::vector<std::uint32_t> nodes;
    std::set<std::uint32_t> values;
    std::set<TargetIndex> beside;
  };

  Run runAt(std::uint32_t start, std::vector<bool>& seen) const {
    Run run{{start}, {}, {}};
    seen[start] = true;
    const TargetIndex target = targets_[start];
    for (std::size_t next = 0; next < run.nodes.size(); ++next)
      for (const std::uint32_t value : valuesOf_[run.nodes[next]]) {
        if (!run.values.insert(value).second) continue;
        const auto visit = [&](std::uint32_t node) {
          if (targets_[node] != target) {
            run.beside.insert(targets_[node]);
          } else if (!seen[node]) {
            seen[node] = true;
            run.nodes.push_back(node);
          }
        };
        visit(graph_.values[value].from);
        for (const std::uint32_t user : graph_.values[value].users) visit(user);
      }
    return run;
  }

  std::optional<std::uint64_t> costOn(const Run& run, TargetIndex target) {
    std::uint64_t total = 0;
    for (const std::uint32_t node : run.nodes) {
      if (!graph_.nodes[node].cost[target]) return std::nullopt;
      total += *graph_.nodes[node].cost[target];
    }
    for (const std::uint32_t node : run.nodes) targets_[node] = target;
    for (const std::uint32_t value : run.values) total += transfers(graph_.values[value], targets_);
    return total;
  }

  bool improve(const Run& run) {
    const TargetIndex from = targets_[run.nodes.front()];
    TargetIndex best = from;
    std::uint64_t least = *costOn(run, from);
    for (const TargetIndex target : run.beside)
      if (const auto cost = costOn(run, target); cost && *cost < least) {
        least = *cost;
        best = target;
      }
    for (const std::uint32_t node : run.nodes) targets_[node] = best;
    return best != from;
  }

  const Graph& graph_;
  Targets& targets_;
  std::vector<std::vector<std::uint32_t>> valuesOf_;
};

}  // namespace

Targets assign(const Graph& graph) {
  Targets targets;
  for (const GraphNode& node : graph.nodes) targets.push_back(cheapest(node));
  Improver improver(graph, targets);
  // Every move makes the whole cheaper and two runs one, so this ends.
  while (improver.pass()) {
  }
  return targets;
}

std::uint64_t costOf(const Graph& graph, const Targets& targets) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) total += graph.nodes[i].cost[targets[i]].value_or(0);
  for (const GraphValue& value : graph.values) total += transfers(value, targets);
  return total;
}

std::vector<std::vector<std::uint32_t>> segments(const Graph& graph, const Targets& targets) {
  std::vector<std::uint32_t> waiting(graph.nodes.size());
  std::vector<std::vector<std::uint32_t>> valuesFrom(graph.nodes.size());
  for (std::uint32_t i = 0; i < graph.values.size(); ++i) {
    valuesFrom[graph.values[i].from].push_back(i);
    for (const std::uint32_t user : graph.values[i].users) ++waiting[user];
  }
  std::set<std::uint32_t> ready;
  for (std::uint32_t i = 0; i < waiting.size(); ++i)
    if (waiting[i] == 0) ready.insert(i);
  std::vector<std::vector<std::uint32_t>> out;
  while (!ready.empty()) {
    const TargetIndex target = targets[*ready.begin()];
    std::vector<std::uint32_t>& segment = out.emplace_back();
    const auto next = [&] {
      return std::ranges::find_if(ready, [&](std::uint32_t node) { return targets[node] == target; });
    };
    for (auto at = next(); at != ready.end(); at = next()) {
      const std::uint32_t node = *at;
      ready.erase(at);
      segment.push_back(node);
      for (const std::uint32_t value : valuesFrom[node])
        for (const std::uint32_t user : graph.values[value].users)
          if (--waiting[user] == 0) ready.insert(user);
    }
  }
  return out;
}

}  // namespace kiln::partition
