// libFuzzer: in-toto statements and the predicates of every type that Kiln reads.
#include "manifest/statement/statement.h"
#include "manifest/statement/check_statement.h"
#include "manifest/statement/ir_statement.h"
#include "manifest/statement/provenance.h"
#include "manifest/statement/reproduction.h"
#include "manifest/statement/tombstone.h"
#include "manifest/statement/toolchain_admission.h"
#include "manifest/statement/vsa.h"

namespace {

// What was read is written in a form that reads back as the same.
template <class Predicate>
void readsBack(const kiln::Json& json) {
  const auto first = Predicate::fromJson(json);
  if (!first) return;
  const kiln::Json written = first->toJson();
  const auto second = Predicate::fromJson(written);
  if (!second || second->toJson() != written) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto statement = kiln::parseStatement(text);
  const auto json = statement ? kiln::Result<kiln::Json>(statement->predicate) : kiln::parseStrictJson(text);
  if (!json) return 0;
  readsBack<kiln::Provenance>(*json);
  readsBack<kiln::Reproduction>(*json);
  readsBack<kiln::CheckStatement>(*json);
  readsBack<kiln::IrStatement>(*json);
  readsBack<kiln::Tombstone>(*json);
  readsBack<kiln::ToolchainAdmission>(*json);
  readsBack<kiln::VerificationSummary>(*json);
  return 0;
}
