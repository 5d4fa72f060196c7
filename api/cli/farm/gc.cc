#include <fmt/format.h>

#include "api/cli/base/duration_option.h"
#include "api/cli/base/print.h"
#include "api/cli/farm/commands.h"
#include "api/client/artifact_ref.h"
#include "manifest/base/counted.h"
#include "manifest/base/digest.h"
#include "manifest/base/short_digest.h"

namespace kiln::cli {
namespace {

struct Options {
  std::string grace, tombstone, reason;
  bool dryRun = false;
};

Json reportJson(const v1::CollectGarbageResponse& report) {
  Json damaged = Json::array();
  for (const auto& blob : report.damaged()) damaged.push_back(blob);
  return {{"dryRun", report.dry_run()},
          {"graceSeconds", report.grace().seconds()},
          {"artifacts", report.artifacts()},
          {"tombstoned", report.tombstoned()},
          {"keptBlobs", report.kept_blobs()},
          {"keptBytes", report.kept_bytes()},
          {"removedBlobs", report.removed_blobs()},
          {"removedBytes", report.removed_bytes()},
          {"removedReferences", report.removed_references()},
          {"youngReferences", report.young_references()},
          {"damaged", std::move(damaged)}};
}

void printReport(const v1::CollectGarbageResponse& report) {
  printLine(fmt::format("{} {}, {}", report.dry_run() ? "would remove" : "removed",
                        counted(report.removed_blobs(), "blob"), humanBytes(report.removed_bytes())));
  printLine(fmt::format("kept {}, {}: what {} and the open jobs need, and {} younger than {} s",
                        counted(report.kept_blobs(), "blob"), humanBytes(report.kept_bytes()),
                        counted(report.artifacts(), "artifact"), report.young_references(),
                        report.grace().seconds()));
  if (report.tombstoned() > 0)
    printLine(counted(report.tombstoned(), "artifact") +
              (report.tombstoned() == 1 ? " is tombstoned: kept without what it was built from"
                                        : " are tombstoned: kept without what they were built from"));
  for (const auto& blob : report.damaged()) note("missing or damaged: " + printable(blob));
}

Status tombstone(const Context& context, const Options& options) {
  if (options.reason.empty())
    return fail(Code::kInvalidArgument, "--tombstone needs --reason: it is signed, and there is no way back");
  if (options.dryRun || !options.grace.empty())
    return fail(Code::kInvalidArgument,
                "--tombstone collects nothing: leave --dry-run and --grace to kiln gc");
  const bool isWhole = options.tombstone.starts_with("sha256:") && Digest::parse(options.tombstone, 0);
  if (!isWhole && !shortDigestRange(options.tombstone))
    return fail(Code::kInvalidArgument, "--tombstone \"" + printable(options.tombstone) +
                                            "\" is no artifact; give sha256:<64 lowercase hex digits>, or "
                                            "the first 12 of them or more");
  KILN_ASSIGN(const auto client, context.connect());
  std::string whole = options.tombstone;
  if (!isWhole) {
    KILN_ASSIGN(const auto entry, client::indexEntry(*client, options.tombstone));
    whole = "sha256:" + entry.manifest().hash();
  }
  KILN_ASSIGN(const auto artifact, client->addTombstone(whole, options.reason));
  if (context.json)
    printJson({{"artifact", artifact.digest()}, {"bundles", artifact.bundles_size()}});
  else
    printLine("artifact " + artifact.digest() +
              " is tombstoned: the next collection drops what it was built from");
  return {};
}

Status run(const Context& context, const Options& options) {
  if (!options.tombstone.empty()) return tombstone(context, options);
  if (!options.reason.empty())
    return fail(Code::kInvalidArgument, "--reason goes with --tombstone; nothing was collected");
  std::chrono::seconds grace{0};
  if (!options.grace.empty()) {
    KILN_ASSIGN(grace, parseDuration(options.grace).map_error([](const Error& error) {
      return error.in("--grace");
    }));
  }
  KILN_ASSIGN(const auto client, context.connect());
  KILN_TRY(client->ping());  // a collection is of all instances, and the one that is named may be a mistake
  KILN_ASSIGN(const auto report, client->collectGarbage(grace, options.dryRun));
  if (context.json)
    printJson(reportJson(report));
  else
    printReport(report);
  return {};
}

}  // namespace

void addGc(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command = addCommand(app, context, "gc", "Remove what no published artifact and no open job needs",
                             "kiln gc --dry-run", [&context, options] { return run(context, *options); });
  const auto tombstone = command.add_option(
      "--tombstone", options->tombstone,
      "sha256:<hex>, 12 digits or more: sign that it need not be rebuildable from this farm any more");
  command.add_flag("--dry-run", options->dryRun, "Only say what would go")->excludes(tombstone);
  command
      .add_option("--grace", options->grace,
                  "How long unneeded blobs stay: 90s, 15m, 36h, 10d; not below the farm's own (default)")
      ->excludes(tombstone);
  command.add_option("--reason", options->reason, "Why, for --tombstone");
  addFarmOptions(command, context);
}

}  // namespace kiln::cli
