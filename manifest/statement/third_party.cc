#include "manifest/statement/third_party.h"

#include <algorithm>
#include <array>

#include "manifest/statement/check_statement.h"
#include "manifest/statement/compile_summary.h"
#include "manifest/statement/reproduction.h"
#include "manifest/statement/tombstone.h"
#include "manifest/statement/toolchain_admission.h"
#include "manifest/statement/tune_statement.h"
#include "manifest/statement/vsa.h"

namespace kiln {
namespace {

constexpr std::array<std::string_view, 6> kOfFarms{kProvenanceType, kCompileType,   kCheckType,
                                                   kTombstoneType,  kToolchainType, kTuneType};

template <class T>
Status read(const Statement& statement) {
  const auto predicate = T::fromJson(statement.predicate);
  return predicate ? Status() : fail(predicate.error().in(statement.predicateType));
}

}  // namespace

Status checkThirdParty(const Statement& statement) {
  const std::string& type = statement.predicateType;
  if (std::ranges::find(kOfFarms, type) != kOfFarms.end())
    return fail(Code::kInvalidArgument,
                "statement: " + type + " is for the farm that made the artifact to say");
  if (type == kReproductionType) return read<Reproduction>(statement);
  if (type == kVsaType) return read<VerificationSummary>(statement);
  return {};
}

}  // namespace kiln
