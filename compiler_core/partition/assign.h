// The assignment of nodes to targets, and the order in which the parts run. No MLIR: a pure function of
// numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace kiln::partition {

// A target by its place in the list of targets; 0 is the primary.
using TargetIndex = std::uint32_t;

struct GraphNode {
  // Time on each target in picoseconds; none: it cannot go there. At least one is there.
  std::vector<std::optional<std::uint64_t>> cost;
};

// What one node makes and others use.
struct GraphValue {
  std::uint32_t from = 0;
  std::vector<std::uint32_t> users;
  std::uint64_t transferCost = 0;  // of bringing it to another target, in picoseconds
};

// Nodes stand in an order in which they can run.
struct Graph {
  std::vector<GraphNode> nodes;
  std::vector<GraphValue> values;
};

// Every node goes to the target where it is cheapest (the first of equals); then each connected run of nodes
// of one target moves to a target beside it as long as that makes the whole cheaper, transfers included. A
// value is brought to each target once, whatever the number of its users. Deterministic.
std::vector<TargetIndex> assign(const Graph& graph);

// The time of all nodes and transfers.
std::uint64_t costOf(const Graph& graph, const std::vector<TargetIndex>& targets);

// The nodes as runs of one target each, in an order that respects the values: a run holds everything that
// can go on before the target has to change.
std::vector<std::vector<std::uint32_t>> segments(const Graph& graph, const std::vector<TargetIndex>& targets);

}  // namespace kiln::partition
