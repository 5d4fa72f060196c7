#include "compiler_core/partition/assign.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace kiln::partition {
namespace {

using Targets = std::vector<TargetIndex>;
using Runs = std::vector<std::vector<std::uint32_t>>;
constexpr std::nullopt_t kNo = std::nullopt;

// A chain: each node uses the one before.
Graph chain(std::vector<GraphNode> nodes, std::uint64_t transferCost) {
  Graph graph{std::move(nodes), {}};
  for (std::uint32_t i = 0; i + 1 < graph.nodes.size(); ++i)
    graph.values.push_back({i, {i + 1}, transferCost});
  return graph;
}

TEST(Assign, CheapestTargetAndThePrimaryOfEquals) {
  EXPECT_EQ(assign(chain({{{5, 5}}, {{5, 4}}, {{4, 5}}}, 0)), (Targets{0, 1, 0}));
}

TEST(Assign, ATransferThatCostsMoreThanItGainsIsNotMade) {
  EXPECT_EQ(assign(chain({{{10, 20}}, {{10, 6}}, {{10, 20}}}, 3)), (Targets{0, 0, 0}));
  EXPECT_EQ(assign(chain({{{10, 20}}, {{10, 3}}, {{10, 20}}}, 3)), (Targets{0, 1, 0}));
}

TEST(Assign, WhatCannotMoveStaysAndDrawsItsNeighbours) {
  // Node 1 can go to target 1 only; its neighbours are hardly better off on target 0.
  EXPECT_EQ(assign(chain({{{10, 11}}, {{kNo, 30}}, {{10, 11}}}, 5)), (Targets{1, 1, 1}));
  EXPECT_EQ(assign(chain({{{10, 20}}, {{kNo, 30}}, {{10, 20}}}, 5)), (Targets{0, 1, 0}));
}

TEST(Assign, ConnectedNodesMoveTogether) {
  // Alone none of the three pays for its transfers, together they do.
  EXPECT_EQ(assign(chain({{{10, 8}}, {{10, 8}}, {{10, 8}}, {{1, kNo}}}, 3)), (Targets{1, 1, 1, 0}));
  EXPECT_EQ(assign(chain({{{10, 9}}, {{10, 9}}, {{10, 9}}, {{1, kNo}}}, 4)), (Targets{0, 0, 0, 0}));
}

TEST(Assign, RunsThatMetMoveOnTogether) {
  // Node 1 joins its neighbours on target 0; only then do the three of them pay for following node 3.
  EXPECT_EQ(assign(chain({{{10, 15}}, {{13, 10}}, {{10, 12}}, {{kNo, 1}}}, 5)), (Targets{1, 1, 1, 1}));
  // One unit more, and they stay.
  EXPECT_EQ(assign(chain({{{10, 16}}, {{13, 10}}, {{10, 12}}, {{kNo, 1}}}, 5)), (Targets{0, 0, 0, 1}));
}

TEST(Assign, AValueIsTransferredOnceToEachTarget) {
  Graph graph{{{{1, kNo}}, {{kNo, 1}}, {{kNo, 1}}}, {{0, {1, 2}, 7}}};
  EXPECT_EQ(costOf(graph, assign(graph)), 3u + 7u);
}

// The node at `start` and what is connected to it by nodes of the same target.
std::set<std::uint32_t> runOf(const Graph& graph, const Targets& targets, std::uint32_t start) {
  std::set<std::uint32_t> run{start};
  for (std::size_t before = 0; before != run.size();) {
    before = run.size();
    for (const GraphValue& value : graph.values) {
      std::vector<std::uint32_t> nodes = value.users;
      nodes.push_back(value.from);
      std::erase_if(nodes, [&](std::uint32_t node) { return targets[node] != targets[start]; });
      if (std::ranges::any_of(nodes, [&](std::uint32_t node) { return run.contains(node); }))
        run.insert(nodes.begin(), nodes.end());
    }
  }
  return run;
}

TEST(Assign, NoRunWouldBeCheaperBesideItsNeighbours) {
  std::mt19937_64 random(11);
  const auto below = [&](std::uint64_t end) { return static_cast<std::uint32_t>(random() % end); };
  for (int round = 0; round < 200; ++round) {
    Graph graph;
    const std::uint32_t count = 2 + below(20);
    for (std::uint32_t i = 0; i < count; ++i) {
      graph.nodes.push_back({{below(60), below(60), below(60)}});
      if (i > 0) graph.values.push_back({below(i), {i}, below(50)});
    }
    const Targets targets = assign(graph);
    for (std::uint32_t node = 0; node < count; ++node)
      for (TargetIndex target = 0; target < 3; ++target) {
        Targets moved = targets;
        bool isBeside = false;
        const std::set<std::uint32_t> run = runOf(graph, targets, node);
        for (const std::uint32_t one : run) moved[one] = target;
        for (const GraphValue& value : graph.values) {
          const std::uint32_t user = value.users[0];
          isBeside |= run.contains(value.from) && targets[user] == target;
          isBeside |= run.contains(user) && targets[value.from] == target;
        }
        if (isBeside) EXPECT_GE(costOf(graph, moved), costOf(graph, targets)) << "round " << round;
      }
  }
}

TEST(Assign, NeverWorseThanAnyOneTargetAndTheSameEveryTime) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    Graph graph;
    const auto count = static_cast<std::uint32_t>(1 + random() % 40);
    for (std::uint32_t i = 0; i < count; ++i) {
      graph.nodes.push_back({{random() % 100, random() % 100, random() % 100}});
      if (i > 0) graph.values.push_back({static_cast<std::uint32_t>(random() % i), {i}, random() % 50});
    }
    const Targets targets = assign(graph);
    EXPECT_EQ(targets, assign(graph));
    // The start has every node at its cheapest; moves only gain.
    Targets start;
    for (const GraphNode& node : graph.nodes) {
      TargetIndex best = 0;
      for (TargetIndex t = 1; t < 3; ++t)
        if (*node.cost[t] < *node.cost[best]) best = t;
      start.push_back(best);
    }
    EXPECT_LE(costOf(graph, targets), costOf(graph, start));
    // Every node is in one run, after what it uses.
    std::vector<int> place(count, -1);
    int at = 0;
    for (const auto& run : segments(graph, targets))
      for (const std::uint32_t node : run) {
        EXPECT_EQ(place[node], -1);
        place[node] = at++;
        EXPECT_EQ(targets[node], targets[run.front()]);
      }
    EXPECT_EQ(at, static_cast<int>(count));
    for (const GraphValue& value : graph.values) EXPECT_LT(place[value.from], place[value.users[0]]);
  }
}

TEST(Segments, GoOnAsLongAsTheTargetLasts) {
  // Two branches, written one after the other: 0 -> 1 -> 4 and 2 -> 3 -> 4, with 1 and 3 elsewhere.
  const Graph graph{{{{1, 1}}, {{1, 1}}, {{1, 1}}, {{1, 1}}, {{1, 1}}},
                    {{0, {1}, 1}, {2, {3}, 1}, {1, {4}, 1}, {3, {4}, 1}}};
  EXPECT_EQ(segments(graph, {0, 1, 0, 1, 0}), (Runs{{0, 2}, {1, 3}, {4}}));
  EXPECT_EQ(segments(graph, {0, 0, 0, 0, 0}), (Runs{{0, 1, 2, 3, 4}}));
  EXPECT_TRUE(segments({}, {}).empty());
}

}  // namespace
}  // namespace kiln::partition
