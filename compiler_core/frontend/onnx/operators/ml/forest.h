// Tree ensembles as plain data: what the three operators say, checked, and the tables that a program walks.
// No MLIR. Whatever a model may ask of a feature becomes one comparison, `x <= limit`, with a successor for
// yes, no and NaN, so that every tree of every model is walked by the same few operations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "manifest/base/result.h"

namespace kiln::onnx::ml {

// By the numbers that TreeEnsemble has for them.
enum class Test { kLessOrEqual, kLess, kGreaterOrEqual, kGreater, kEqual, kNotEqual, kMember };
enum class Aggregate { kAverage, kSum, kMin, kMax };

struct Branch {
  std::int64_t tree = -1, id = 0;  // as the model calls them, for messages; -1: it names no trees
  Test test = Test::kLessOrEqual;
  std::int64_t feature = 0;
  double value = 0;
  std::vector<double> members;  // of kMember
  bool nanIsTrue = false;
  std::int64_t onTrue = 0, onFalse = 0;  // a branch, or ~leaf
};

struct LeafWeight {
  std::int64_t target = 0;
  double weight = 0;
};

struct Forest {
  std::int64_t targets = 0;
  std::vector<Branch> branches;
  std::vector<std::vector<LeafWeight>> leaves;  // none without weights, targets in range
  std::vector<std::int64_t> roots;              // a branch, or ~leaf; a tree each, in the model's order
  bool isWide = false;                          // its numbers are f64
};

// Row i below `leaves` is leaf i and leads to itself, the others are branches. From a row one goes to
// next[ways * row + 0] where x[feature] <= limit, to + 1 where it is greater, to + 2 where it is NaN (+ 1 if
// there are two ways).
struct Tables {
  std::int64_t leaves = 0, depth = 0, ways = 2;
  std::vector<double> limits;
  std::vector<std::int64_t> features, next, roots;
};

// The tables for `features` features; comparisons in f64 if `isWide`, else in f32. kInvalidArgument where a
// branch is reached twice or not at all, has a cycle or tests a feature that is not there; kUnimplemented
// where trees are too deep or too many. Both with tree and node.
Result<Tables> tabulate(const Forest& forest, std::int64_t features, bool isWide);

// What all leaves of each tree add to, if that is one target by one weight each; else empty.
std::vector<std::int64_t> targetsOfTrees(const Forest& forest);

std::string placeOf(std::int64_t tree, std::int64_t node);

}  // namespace kiln::onnx::ml
