// libFuzzer: what statements from outside mention, sources of any form and key ids among it.
#include "storage/index/mention/mention.h"
#include "manifest/statement/provenance.h"
#include "storage/index/mention/part.h"
#include "tests/support/sample_provenance.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const kiln::Digest key = kiln::digestOf(text);
  (void)kiln::index::mentionsOf(text, key);
  (void)kiln::index::keyValue(text);
  (void)kiln::index::componentsOf(text);
  (void)kiln::index::lockedPartsOf(text);
  kiln::Provenance provenance = kiln::testing_support::sampleProvenance();
  provenance.resolvedDependencies[1].uri = "git+" + text;
  if (auto statement = kiln::provenanceStatement(key, provenance))
    (void)kiln::index::mentionsOf(*statement, key);
  return 0;
}
