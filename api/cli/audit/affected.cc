#include <fmt/format.h>

#include "api/audit/page_walk.h"
#include "api/cli/audit/commands.h"
#include "api/cli/base/artifact_option.h"
#include "api/cli/base/print.h"
#include "api/cli/base/source_name.h"
#include "api/client/audit_client.h"
#include "manifest/base/clock.h"
#include "manifest/base/counted.h"
#include "manifest/base/printable.h"

namespace kiln::cli {
namespace {

constexpr int kPage = 500, kMaxLimit = 1'000'000;

struct Options {
  std::string artifact, source, toolchain, component, worker, operatorName, key, target, submitter, device,
      since, until, token;
  int limit = 50;
};

// "2026-11-20" or "2026-11-20T05:23:32Z".
Status readTime(const std::string& text, const char* flag, google::protobuf::Timestamp* out) {
  const auto time = parseRfc3339(text.size() == 10 ? text + "T00:00:00Z" : text);
  if (!time)
    return fail(Code::kInvalidArgument,
                std::string(flag) + " is a date (2026-11-20) or a time (2026-11-20T05:23:32Z)");
  out->set_seconds(std::chrono::duration_cast<std::chrono::seconds>(time->time_since_epoch()).count());
  return {};
}

Result<v1::ListAffectedRequest> requestOf(const Options& options) {
  v1::ListAffectedRequest out;
  KILN_ASSIGN(*out.mutable_source(), sourceName(options.source));
  out.set_artifact(options.artifact);
  out.set_toolchain(options.toolchain);
  out.set_component(options.component);
  out.set_worker(options.worker);
  out.set_operator_(options.operatorName);
  out.set_key(options.key);
  out.set_target(options.target);
  out.set_submitter(options.submitter);
  out.set_device(options.device);
  out.set_page_token(options.token);
  if (!options.since.empty()) KILN_TRY(readTime(options.since, "--since", out.mutable_since()));
  if (!options.until.empty()) KILN_TRY(readTime(options.until, "--until", out.mutable_until()));
  if (out.has_since() && out.has_until() && out.until().seconds() <= out.since().seconds())
    return fail(Code::kInvalidArgument, "--until: must be after --since");
  return out;
}

// "https://slsa.dev/provenance/v1" -> "provenance", "urn:kiln:predicate:check:v1" -> "check".
std::string briefType(const std::string& type) {
  const std::size_t end = type.find_last_of(":/");
  if (end == std::string::npos || end == 0) return type;
  const std::size_t begin = type.find_last_of(":/", end - 1);
  return type.substr(begin == std::string::npos ? 0 : begin + 1, end - begin - 1);
}

TimePoint timeOf(const google::protobuf::Timestamp& stamp) {
  return TimePoint(std::chrono::seconds(stamp.seconds()));
}

Json jsonOf(const v1::StatementRef& statement) {
  return {{"payload", statement.payload()},
          {"bundle", "sha256:" + statement.bundle().hash()},
          {"predicateType", statement.predicate_type()},
          {"recorded", rfc3339(timeOf(statement.recorded()))}};
}

Json jsonOf(const v1::ListAffectedResponse& found) {
  Json affected = Json::array(), admissions = Json::array();
  for (const auto& entry : found.affected())
    affected.push_back({{"artifact", entry.artifact()},
                        {"target", entry.target()},
                        {"statement", jsonOf(entry.statement())}});
  for (const auto& admission : found.admissions())
    admissions.push_back({{"label", admission.label()}, {"statement", jsonOf(admission.statement())}});
  return {{"affected", std::move(affected)},
          {"admissions", std::move(admissions)},
          {"nextPageToken", found.next_page_token()},
          {"unread", found.unread()}};
}

void print(const v1::ListAffectedResponse& found) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& entry : found.affected())
    rows.push_back({entry.artifact(), entry.target(), rfc3339(timeOf(entry.statement().recorded())),
                    briefType(entry.statement().predicate_type()), entry.statement().payload()});
  printTable(rows);
  for (const auto& admission : found.admissions())
    printLine(kiln::printable(
        "toolchain " + admission.label() + " admitted by statement " + admission.statement().payload(),
        std::string::npos));
  if (found.affected_size() == 0 && found.next_page_token().empty()) note("nothing is affected");
  if (!found.next_page_token().empty()) note("there is more: --page-token " + found.next_page_token());
  if (found.unread() > 0)
    note(fmt::format("{}{} not read into the index yet and may be missing here",
                     found.unread() >= 1000 ? "at least " : "",
                     counted(found.unread(), "statement") + (found.unread() == 1 ? " is" : " are")));
}

// Pages until there are enough entries; a page may be empty and not the last.
Status run(const Context& context, const Options& options) {
  if (options.limit < 1 || options.limit > kMaxLimit)
    return fail(Code::kInvalidArgument, "--limit is from 1 to 1000000");
  KILN_ASSIGN(v1::ListAffectedRequest request, requestOf(options));
  KILN_ASSIGN(const auto client, context.connect());
  client::AuditClient audits(*client);
  v1::ListAffectedResponse all;
  audit::PageWalk walk("what is affected", audit::kSearchedPages);
  do {
    request.set_page_size(std::min(kPage, options.limit - all.affected_size()));
    KILN_ASSIGN(const auto page, audits.affected(request));
    all.mutable_affected()->MergeFrom(page.affected());
    if (all.admissions_size() == 0) *all.mutable_admissions() = page.admissions();
    all.set_unread(page.unread());
    all.set_next_page_token(page.next_page_token());
    if (const Status leads = walk.check(page.next_page_token(), page.affected_size()); !leads)
      return fail(client->unreadable(leads.error()));
    request.set_page_token(page.next_page_token());
  } while (!all.next_page_token().empty() && all.affected_size() < options.limit);
  if (context.json)
    printJson(jsonOf(all));
  else
    print(all);
  return {};
}

}  // namespace

void addAffected(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command = addCommand(
      app, context, "affected",
      "Artifacts that something has touched, newest first, each with the signed statement that says so",
      "kiln affected --component ptxas@13.0.88 --operator acme --since 2026-11-01 --until 2026-11-20\n\n"
      "All conditions must hold at once. Exit 6: the farm has never seen such a name; what it knows and what "
      "touched nothing is exit 0.\nDigests but a key's may be cut to 12 digits or more. The index leads to "
      "the "
      "statements; `kiln provenance` and `kiln "
      "verify` check "
      "them.",
      [&context, options] { return run(context, *options); });
  addArtifactOption(command, "--artifact", options->artifact, "sha256:<hex>, 12 digits or more");
  command.add_option(
      "--source", options->source,
      "The digest of a model, data file or tuning record, such a file here, a repository's URL, "
      "a commit, or git+URL@COMMIT#PATH");
  command.add_option("--toolchain", options->toolchain, "A label or sha256:<hex>");
  command.add_option("--component", options->component,
                     "Part of a toolchain or of its lock: sha256:<hex>, NAME@VERSION or NAME");
  command.add_option("--worker", options->worker, "Who built, reproduced or checked");
  command.add_option("--operator", options->operatorName, "Of such a worker");
  command.add_option("--key", options->key, "The key that signed: its id, or sha256:<hex> of the public key");
  command.add_option("--target", options->target, "Such as cpu:x86-64-v3");
  command.add_option("--submitter", options->submitter,
                     "Whose jobs came to the artifact: an identity as kiln provenance shows it");
  command.add_option("--device", options->device,
                     "What a check's report says of its device, such as a processor's name");
  command.add_option("--since", options->since, "Recorded from this date or time on (UTC)");
  command.add_option("--until", options->until, "And before this one");
  command.add_option("--limit", options->limit, "How many at most (default 50)");
  command.add_option("--page-token", options->token, "Go on where the same question stopped");
  addFarmOptions(command, context);
}

}  // namespace kiln::cli
