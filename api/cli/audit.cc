#include "api/audit/auditor.h"

#include <fmt/format.h>

#include "api/cli/commands.h"
#include "api/cli/print.h"
#include "api/cli/trust_settings.h"
#include "api/client/audit_client.h"
#include "manifest/base/printable.h"

namespace kiln::cli {
namespace {

constexpr std::size_t kKeptFindings = 10'000;  // for --json; more are counted
constexpr std::uint64_t kProgressEvery = 100;  // artifacts

class FarmIndex final : public audit::IndexSource {
 public:
  explicit FarmIndex(const client::Client& client) : audits_(client) {}
  Result<v1::ListIndexedArtifactsResponse> artifacts(const v1::ListIndexRequest& request) override {
    return audits_.indexedArtifacts(request);
  }
  Result<v1::ListIndexedStatementsResponse> statements(const v1::ListIndexRequest& request) override {
    return audits_.indexedStatements(request);
  }
  Result<v1::ListIndexedToolchainsResponse> toolchains(const v1::ListIndexRequest& request) override {
    return audits_.indexedToolchains(request);
  }

 private:
  client::AuditClient audits_;
};

void showProgress(const Context& context, const audit::Counts& counts) {
  if (!context.terminal || counts.artifacts % kProgressEvery != 0) return;
  fmt::print(stderr, "\r{} artifacts, {} statements, {} findings", counts.artifacts, counts.statements,
             counts.findings);
}

Status run(Context& context) {
  KILN_ASSIGN(const auto trust, loadTrust(context));
  KILN_ASSIGN(const auto client, context.connect());
  FarmIndex index(*client);
  const audit::BlobReader blobs(client->blobs(), client->instance());
  Json findings = Json::array();
  audit::AuditOptions options;
  options.found = [&](const audit::Finding& finding) {
    if (!context.json)
      return printLine(kiln::printable(fmt::format("{} in {}: {}: {}", audit::findingName(finding.kind),
                                                   finding.table, finding.subject, finding.what),
                                       std::string::npos));
    if (findings.size() < kKeptFindings)
      findings.push_back({{"kind", audit::findingName(finding.kind)},
                          {"table", finding.table},
                          {"subject", finding.subject},
                          {"what", finding.what}});
  };
  options.progress = [&](const audit::Counts& counts) { showProgress(context, counts); };
  const TimePoint now = std::max(SystemClock().now(), trust.latestSeen);
  const auto counts = audit::auditIndex(index, blobs, trust.root, now, options);
  if (context.terminal) fmt::print(stderr, "\n");
  if (!counts) return fail(client->explain(counts.error()));
  if (context.json)
    printJson({{"toolchains", counts->toolchains},
               {"artifacts", counts->artifacts},
               {"statements", counts->statements},
               {"logRequired", !trust.root.logs.empty()},
               {"findingCount", counts->findings},
               {"findings", std::move(findings)}});
  else
    printLine(fmt::format(
        "{} toolchains, {} artifacts and {} statements agree with what is signed{}, but for {} findings",
        counts->toolchains, counts->artifacts, counts->statements,
        trust.root.logs.empty() ? " (the trust root names no log)" : " and logged", counts->findings));
  if (counts->findings == 0) return {};
  context.reported = true;
  return fail(Error{Code::kDataLoss, "the index does not agree with its statements", R"({"exitCode":5})"});
}

}  // namespace

void addAudit(CLI::App& app, Context& context) {
  auto& command =
      addCommand(app, context, "audit",
                 "Check every row of the farm's index against signed statements; exit 5 names each finding",
                 "kiln audit --trust-root root.json --json", [&context] { return run(context); });
  addFarmOptions(command, context);
  addTrustOptions(command, context);
}

}  // namespace kiln::cli
