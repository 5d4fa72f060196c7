#include "signing/server/tombstone_check.h"

#include "manifest/statement/provenance.h"
#include "signing/bundle/bundle.h"

namespace kiln::signing {

Status checkTombstone(const Tombstone& tombstone, const Digest& artifact, Records& records,
                      const KnownKeys& keys) {
  for (const Digest& digest : tombstone.statements) {
    auto refused = [&](const std::string& why) {
      return fail(Code::kFailedPrecondition, "tombstone: statement " + digest.text() + " " + why);
    };
    KILN_ASSIGN(auto text, records.find(digest));
    if (!text) return refused("is not in the records");
    KILN_ASSIGN(Bundle bundle, parseBundle(*text));
    KILN_ASSIGN(Statement statement, parseStatement(bundle.envelope.payload));
    if (statement.predicateType != kProvenanceType || statement.subjects.size() != 1 ||
        statement.subjects[0].sha256 != artifact.hash)
      return refused("is no provenance of this artifact");
    KILN_ASSIGN(Provenance provenance, Provenance::fromJson(statement.predicate));
    if (provenance.builderId != tombstone.builderId) return refused("is of another builder");
    if (const Status known = keys.check(bundle, provenance.builderId); !known)
      return refused("does not count: " + known.error().message);
  }
  return {};
}

}  // namespace kiln::signing
