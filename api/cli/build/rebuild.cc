#include <fmt/format.h>

#include "api/cli/base/artifact_option.h"
#include "api/cli/base/print.h"
#include "api/cli/base/progress.h"
#include "api/cli/base/trust_settings.h"
#include "api/cli/build/build_job.h"
#include "api/cli/build/build_options.h"
#include "api/cli/build/commands.h"
#include "api/cli/build/interrupt.h"
#include "api/cli/build/rebuild_offline.h"
#include "api/cli/view/job_view.h"
#include "manifest/spec/delivery_spec.h"
#include "storage/tree/digest_proto.h"

namespace kiln::cli {
namespace {

struct Options {
  std::string artifact;
  OfflineRebuild offline;
};

// The job that makes this artifact again: everything in it comes from the verified Manifest.
Result<v1::SubmitJobRequest> makeRequest(const Digest& artifact, const CompileSpec& spec) {
  v1::SubmitJobRequest request;
  KILN_ASSIGN(*request.mutable_idempotency_key(), newIdempotencyKey());
  KILN_ASSIGN(*request.mutable_spec_json(), toCanonicalJson(submittedToJson(spec)));
  DeliverySpec delivery;
  delivery.noCache = true;
  delivery.rebuild = RebuildRequest{artifact, {}};
  KILN_ASSIGN(*request.mutable_delivery_json(), toCanonicalJson(delivery.toJson()));
  request.add_targets(spec.target);
  request.set_toolchain(spec.toolchainDigest.text());
  for (const ModelFile& file : spec.files) {
    auto* source = request.add_sources();
    source->set_path(file.path);
    *source->mutable_blob() = toProto(file.digest);
  }
  return request;
}

Status rebuildOnFarm(const Context& context, const std::string& name) {
  if (!name.starts_with("sha256:"))
    return fail(Code::kInvalidArgument,
                "the farm rebuilds what it published: give sha256:<hex>, or --offline DIR");
  Interrupt interrupt("nothing was submitted");
  KILN_ASSIGN(const OpenedArtifact opened, openThoughRecalled(context, name));
  if (opened.recalled) note(rebuiltThough(*opened.recalled));
  const node::VerifiedArtifact& artifact = opened.artifact;
  KILN_ASSIGN(auto request, makeRequest(artifact.verdict.artifact, artifact.manifest().spec));
  Progress progress(context.terminal, context.json);
  KILN_ASSIGN(const auto client, context.connect(&progress));
  interrupt.submits();
  KILN_ASSIGN(client::Submission made, client->submit(std::move(request)));
  noteGrant(context, made);
  v1::Job job = std::move(made.job);
  interrupt.follows(job.id());
  KILN_ASSIGN(job, client->watch(job.id(), [&](const v1::Job& now) -> Status {
    progress.show(now);
    return {};
  }));
  KILN_TRY(jobOutcome(job));
  if (context.json) {
    printJson({{"artifact", artifact.verdict.artifact.text()},
               {"reproduced", true},
               {"refused", opened.recalled ? Json(opened.recalled->message) : Json()},
               {"job", job.id()}});
    return {};
  }
  for (const auto& made : job.artifacts())
    for (const auto& builder : made.builders()) note("made again by " + builder);
  printLine("reproduced " + artifact.verdict.artifact.text());
  return {};
}

Status run(const Context& context, const Options& options) {
  if (options.artifact.empty() == options.offline.directory.empty())
    return fail(Code::kInvalidArgument,
                "give either ARTIFACT, for the farm, or --offline DIR; see kiln rebuild --help");
  if (!options.offline.directory.empty()) return rebuildOffline(context, options.offline);
  return rebuildOnFarm(context, options.artifact);
}

}  // namespace

void addRebuild(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command =
      addCommand(app, context, "rebuild",
                 "Make an artifact again and compare every byte: on the farm by other workers, "
                 "or from an export; exit 9 "
                 "if anything differs",
                 "kiln rebuild --offline model.oci --trust-root root.json --key auditor.key\n\n"
                 "What was recalled can be made again, since a rebuild by others may answer for it; "
                 "it is said, and the artifact stays\nrefused until its recall is lifted or its "
                 "evidence suffices.",
                 [&context, options] { return run(context, *options); });
  addArtifactOption(command, "ARTIFACT", options->artifact, "sha256:<hex> on the farm, 12 digits or more");
  const auto offline = command.add_option("--offline", options->offline.directory,
                                          "An export with inputs; nothing else is read");
  const auto key =
      command
          .add_option("--key", options->offline.key,
                      "With --offline: the rebuilder's P-256 key, which signs a reproduction statement")
          ->needs(offline);
  command
      .add_option("--id", options->offline.id,
                  "Whom the key speaks for, as trust roots name it (default: a URI of the key)")
      ->needs(key);
  command.add_option("--operator", options->offline.operatorName, "Who runs this rebuild")->needs(key);
  command
      .add_option("--statement", options->offline.statement,
                  "File for the signed bundle (default: it is added to the export)")
      ->needs(key);
  command.add_option("--out", options->offline.out, "Directory to make for what came out, for kiln diff")
      ->needs(offline);
  addFarmOptions(command, context, kRidesOut);
  for (const char* farm : kFarmOptions) command.get_option(farm)->excludes(offline);
  addTrustOptions(command, context);
}

}  // namespace kiln::cli
