// One statement of the index, and the rows that it proves, against its bundle.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/audit/audit_trust.h"
#include "manifest/statement/provenance.h"
#include "storage/index/mention/mention.h"
#include "storage/index/mention/part.h"

namespace kiln::audit {

// Components by the tree's hash, of the trees whose toolchain.json was read and is theirs.
using KnownTrees = std::map<Digest, std::vector<index::PartRecord>>;

// What the statements about one artifact come to.
struct ArtifactStatements {
  struct Inherited {
    std::string payload;
    std::vector<index::Mention> mentions;  // sorted
  };
  std::vector<Provenance> provenances;                // signed and trusted
  std::vector<std::vector<index::Mention>> contents;  // of each, sorted
  std::vector<Inherited> inherited;  // of each other statement: the artifact's content, as the index has it
};

// Errors are of the farm being asked.
Status auditStatement(const Audit& audit, const v1::IndexedStatement& row, const Digest& artifact,
                      const KnownTrees& trees, ArtifactStatements& out);

// What statements inherited: what all provenances say of the content, and nothing that none says.
void auditInherited(const Audit& audit, const ArtifactStatements& statements);

}  // namespace kiln::audit
