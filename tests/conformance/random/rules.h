// What random graphs are made of: one row per operator.
#pragma once

#include <span>
#include <string_view>

#include "tests/conformance/random/graph.h"

namespace kiln::conformance::random {

struct Rule {
  std::string_view op;
  std::int64_t since;  // first opset in which the rule's form of the operator is valid
  // Adds a node of the operator (and what it needs); false when no value of the graph fits.
  bool (*apply)(Graph& graph, const Rule& rule);
  // For rules of one form: the types it takes, and for floating point how it treats errors and magnitudes.
  unsigned types = 0;
  double (*slope)(double bound) = nullptr;   // limits |f'| for |x| <= bound; null: exact
  double (*growth)(double bound) = nullptr;  // limits |f|; null: the same
};

std::span<const Rule> rules();

// An operator of the importer without a rule, and why.
struct Absence {
  std::string_view op, reason;
};
std::span<const Absence> absences();

// A graph of 1 to 12 rules.
Model generate(std::uint64_t seed);

}  // namespace kiln::conformance::random
