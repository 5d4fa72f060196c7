#include "manifest/statement/third_party.h"

#include <algorithm>
#include <array>

#include "manifest/statement/check_statement.h"
#include "manifest/statement/compile_summary.h"
#include "manifest/statement/image_statement.h"
#include "manifest/statement/ir_statement.h"
#include "manifest/statement/reproduction.h"
#include "manifest/statement/tombstone.h"
#include "manifest/statement/toolchain_admission.h"
#include "manifest/statement/tune_statement.h"
#include "manifest/statement/vsa.h"

namespace kiln {
namespace {

constexpr std::array<std::string_view, 8> kOfFarms{kProvenanceType, kCompileType, kCheckType,
                                                   kImageType,      kIrType,      kTombstoneType,
                                                   kToolchainType,  kTuneType};

}  // namespace

Status checkThirdParty(const Statement& statement) {
  const std::string& type = statement.predicateType;
  if (std::ranges::find(kOfFarms, type) != kOfFarms.end())
    return fail(Code::kInvalidArgument,
                "statement: " + type + " is for the farm that made the artifact to say");
  if (type == kReproductionType)
    if (const auto again = Reproduction::fromJson(statement.predicate); !again)
      return fail(again.error().in(type));
  if (type != kVsaType) return {};
  const auto summary = VerificationSummary::fromJson(statement.predicate);
  if (!summary) return fail(summary.error().in(type));
  for (const Subject& subject : statement.subjects)
    if (subject.sha256 != summary->artifact.hash)
      return fail(Code::kInvalidArgument,
                  type + ": it summarises another artifact (" + summary->artifact.text() + ")");
  return {};
}

}  // namespace kiln
