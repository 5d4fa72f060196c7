#include "compiler_core/partition/assign.h"

#include <gtest/gtest.h>

#include <random>

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

TEST(Assign, AValueIsTransferredOnceToEachTarget) {
  Graph graph{{{{1, kNo}}, {{kNo, 1}}, {{kNo, 1}}}, {{0, {1, 2}, 7}}};
  EXPECT_EQ(costOf(graph, assign(graph)), 3u + 7u);
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
