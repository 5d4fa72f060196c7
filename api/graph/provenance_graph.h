// The graph behind an artifact: from sources and toolchain components over inputs and builders to the
// artifact, and to who reproduced and checked it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/graph/graph.h"
#include "manifest/statement/check_statement.h"
#include "manifest/statement/provenance.h"
#include "manifest/statement/reproduction.h"
#include "manifest/toolchain/description.h"

namespace kiln::graph {

struct Submitter {
  std::string name, job;
};

// What a statement says that counts, and the digest of the statement, "sha256:<hex>".
struct Built {
  Provenance provenance;
  std::string statement;
};

struct Ancestry {
  Digest artifact;
  std::vector<Built> provenances;
  std::vector<Reproduction> reproductions;
  std::vector<CheckStatement> checks;
  std::optional<ToolchainDescription> toolchain;  // of the tree that the provenances name
  std::vector<Submitter> submitters;              // as the farm recorded; signed by nobody
};

Graph provenanceGraph(const Ancestry& ancestry);

// The digest of the statement that says so, "sha256:<hex>": that of its canonical text.
std::string statementOf(const Digest& artifact, const Reproduction& said);
std::string statementOf(const Digest& artifact, const CheckStatement& said);

}  // namespace kiln::graph
