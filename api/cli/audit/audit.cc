#include "api/audit/auditor.h"

#include <fmt/format.h>

#include "api/cli/audit/commands.h"
#include "api/cli/audit/log_location.h"
#include "api/cli/base/print.h"
#include "api/cli/base/trust_settings.h"
#include "api/client/audit_client.h"
#include "manifest/base/counted.h"
#include "manifest/base/durable_file.h"
#include "manifest/base/printable.h"
#include "signing/keys/files.h"
#include "signing/trust/root_logs.h"

namespace kiln::cli {
namespace {

constexpr std::size_t kKeptFindings = 10'000;  // for --json; more are counted
constexpr std::uint64_t kProgressEvery = 100;  // artifacts
constexpr std::size_t kMaxCheckpoint = 64 << 10;

class FarmIndex final : public audit::IndexSource {
 public:
  explicit FarmIndex(client::Client& client) : client_(client), audits_(client) {}
  Result<v1::ListIndexedArtifactsResponse> artifacts(const v1::ListIndexRequest& request) override {
    return audits_.indexedArtifacts(request);
  }
  Result<v1::ListIndexedStatementsResponse> statements(const v1::ListIndexRequest& request) override {
    return audits_.indexedStatements(request);
  }
  Result<v1::ListIndexedToolchainsResponse> toolchains(const v1::ListIndexRequest& request) override {
    return audits_.indexedToolchains(request);
  }
  Result<v1::ListIndexedTuningResponse> tuning(const v1::ListIndexRequest& request) override {
    return audits_.indexedTuning(request);
  }
  Result<v1::ListLoggedResponse> logged(const v1::ListLoggedRequest& request) override {
    return audits_.logged(request);
  }
  Result<std::string> recalls() override { return client_.recalls(); }

 private:
  client::Client& client_;
  client::AuditClient audits_;
};

struct Options {
  std::string checkpoint;
  std::uint64_t fromEntry = 0;
};

void showProgress(const Context& context, const audit::Counts& counts) {
  if (!context.terminal || counts.artifacts % kProgressEvery != 0) return;
  noteText(fmt::format("\r{}, {}, {}, {}", counted(counts.log.entries, "log entry"),
                       counted(counts.artifacts, "artifact"), counted(counts.statements, "statement"),
                       counted(counts.findings, "finding")));
}

// The log to walk: nothing if the root names none.
Result<std::unique_ptr<signing::LogSource>> logOf(const Context& context, const Options& options,
                                                  const signing::TrustRoot& root) {
  const bool wanted = !context.log.empty() || !options.checkpoint.empty() || options.fromEntry > 0;
  if (root.logs.empty() && !wanted) return std::unique_ptr<signing::LogSource>();
  if (root.logs.empty())
    return fail(
        Code::kPermissionDenied,
        "the trust root names no log, so there are no entries to check; leave out --log, --checkpoint "
        "and --since-entry, or use a root that names one");
  return openLog(context);
}

// Whoever wrote to the file decides what the log must continue.
Result<std::string> seenBefore(const Options& options, const signing::TrustRoot& root) {
  if (options.checkpoint.empty()) return std::string();
  auto text = signing::readTrustFile(options.checkpoint, kMaxCheckpoint);
  if (!text && text.error().code == Code::kNotFound) return std::string();
  if (!text) return text;
  const signing::RootLogs logs(root);
  if (auto opened = signing::openCheckpointText(*text, logs.logs()); !opened)
    return fail(opened.error().in(options.checkpoint));
  return text;
}

void report(const Context& context, const audit::Audited& audited, bool logged, Json findings) {
  const audit::Counts& counts = audited.counts;
  if (context.json)
    return printJson({{"toolchains", counts.toolchains},
                      {"artifacts", counts.artifacts},
                      {"statements", counts.statements},
                      {"logRequired", logged},
                      {"logEntries", counts.log.entries},
                      {"foreignEntries", counts.log.foreign},
                      {"recallEntries", counts.log.recalls},
                      {"checkpoint", audited.checkpoint},
                      {"admissionsWithoutInstance", audited.withoutInstance},
                      {"findingCount", counts.findings},
                      {"findings", std::move(findings)}});
  for (const std::string& label : audited.withoutInstance)
    printLine("note: the admission of toolchain " + printable(label) +
              " names no instance, so that it may be another's; whoever has the tree may run kiln toolchain "
              "add again, which makes one that does");
  std::string text = counted(counts.toolchains, "toolchain") + ", " + counted(counts.artifacts, "artifact") +
                     ", " + counted(counts.statements, "statement");
  if (logged) {
    text += ", " + counted(counts.log.entries, "log entry");
    const std::string recalls = counts.log.recalls > 0 ? counted(counts.log.recalls, "recall") : "";
    const std::string foreign =
        counts.log.foreign > 0 ? fmt::format("{} of other instances", counts.log.foreign) : "";
    if (!recalls.empty() || !foreign.empty())
      text += fmt::format(" ({}{}{})", foreign, foreign.empty() || recalls.empty() ? "" : ", ", recalls);
  }
  text += counts.findings > 0 ? ": " + counted(counts.findings, "finding")
          : logged            ? ": index, signatures and log agree"
                              : ": index and signatures agree; the trust root names no log";
  printLine(text);
}

Status run(Context& context, const Options& options) {
  KILN_ASSIGN(const auto trust, loadTrustWithoutPolicy(context));
  KILN_ASSIGN(const auto log, logOf(context, options, trust.root));
  KILN_ASSIGN(const auto client, context.connect());
  FarmIndex index(*client);
  const audit::BlobReader blobs(client->blobs(), client->instance());
  Json findings = Json::array();
  audit::AuditOptions asked;
  asked.log = log.get();
  asked.fromEntry = options.fromEntry;
  asked.recalls = trust.known().recalls;
  KILN_ASSIGN(asked.seenCheckpoint, seenBefore(options, trust.root));
  asked.found = [&](const audit::Finding& finding) {
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
  asked.progress = [&](const audit::Counts& counts) { showProgress(context, counts); };
  const TimePoint now = std::max(SystemClock().now(), trust.latestSeen);
  const auto audited = audit::auditIndex(index, blobs, trust.root, now, asked);
  if (context.terminal) noteText("\n");
  if (!audited && audited.error().code == Code::kOutOfRange) return fail(audited.error().in("--since-entry"));
  if (!audited) return fail(audited.error());  // of the farm or of the log: each names its own place
  if (!options.checkpoint.empty() && !audited->checkpoint.empty())
    KILN_TRY(replaceFile(options.checkpoint, audited->checkpoint));
  report(context, *audited, log != nullptr, std::move(findings));
  if (audited->counts.findings == 0) return {};
  context.reported = true;
  return fail(Error{Code::kDataLoss, "the index does not agree with its statements", R"({"exitCode":5})"});
}

}  // namespace

void addAudit(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command = addCommand(
      app, context, "audit",
      "Check the farm's index against its log and every row against signed statements; exit 5 names each "
      "finding",
      "kiln audit --trust-root root.json --checkpoint last-audit.checkpoint --json\n\n"
      "Walks the log, if the root names one: each entry must lead to a statement of the index, each recall "
      "in it must be in\nforce, and what the database keeps of it (leaves, proofs, checkpoints) must be the "
      "log's. Recalls that are known here\n(--recalls, and those kept beside the root) must be in force too. "
      "Then each statement and row must be signed, logged\nand what was signed. Findings: "
      "missing-statement, unlogged-signature, bad-signature, tampered-row, damaged-log.\nAn admission of an "
      "earlier release that names no instance is no finding; a note names its label.",
      [&context, options] { return run(context, *options); });
  addLogOption(command, context);
  command.add_option(
      "--checkpoint", options->checkpoint,
      "A file: the checkpoint in it, if it is there, must be continued; the newest one is kept in it");
  command.add_option("--since-entry", options->fromEntry, "Walk the log from this entry on (default 0)");
  addFarmOptions(command, context);
  addRootOptions(command, context);
}

}  // namespace kiln::cli
