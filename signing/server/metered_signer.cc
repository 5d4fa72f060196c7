#include "signing/server/metered_signer.h"

#include <array>
#include <string_view>
#include <utility>

#include "manifest/statement/check_statement.h"
#include "manifest/statement/compile_summary.h"
#include "manifest/statement/image_statement.h"
#include "manifest/statement/ir_statement.h"
#include "manifest/statement/provenance.h"
#include "manifest/statement/reproduction.h"
#include "manifest/statement/statement.h"
#include "manifest/statement/tombstone.h"
#include "manifest/statement/toolchain_admission.h"
#include "manifest/statement/tune_statement.h"
#include "manifest/statement/vsa.h"

namespace kiln::signing {
namespace {

constexpr std::array<std::pair<std::string_view, const char*>, 10> kTypes{
    {{kProvenanceType, "provenance"},
     {kCompileType, "compile"},
     {kCheckType, "check"},
     {kImageType, "image"},
     {kReproductionType, "reproduction"},
     {kVsaType, "verdict"},
     {kTombstoneType, "tombstone"},
     {kToolchainType, "toolchain"},
     {kTuneType, "tune"},
     {kIrType, "ir"}}};

std::string typeOf(const std::string& text) {
  const auto statement = parseStatement(text);
  if (!statement) return "other";
  for (const auto& [type, name] : kTypes)
    if (statement->predicateType == type) return name;
  return "other";
}

}  // namespace

MeteredSigner::MeteredSigner(Signer& inner, prometheus::Registry& registry, const Clock& clock)
    : inner_(inner),
      clock_(clock),
      requests_(prometheus::BuildCounter()
                    .Name("kiln_signer_requests_total")
                    .Help("Statements to sign, by type and outcome")
                    .Register(registry)),
      seconds_(prometheus::BuildHistogram()
                   .Name("kiln_signer_seconds")
                   .Help("From a request to its answer")
                   .Register(registry)) {}

Result<std::string> MeteredSigner::sign(const SignRequest& request) {
  const TimePoint before = clock_.now();
  auto bundle = inner_.sign(request);
  const std::string type = typeOf(request.statement);
  const std::string code = bundle ? "OK" : std::string(codeName(bundle.error().code));
  requests_.Add({{"type", type}, {"code", code}}).Increment();
  seconds_
      .Add({{"type", type}},
           prometheus::Histogram::BucketBoundaries{.001, .0025, .005, .01, .025, .05, .1, .25, 1, 5, 30})
      .Observe(std::chrono::duration<double>(clock_.now() - before).count());
  return bundle;
}

}  // namespace kiln::signing
