#include "api/cli/build/build_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "api/cli/base/print.h"
#include "api/cli/base/progress.h"
#include "api/cli/base/trust_settings.h"
#include "api/cli/build/build_options.h"
#include "api/cli/build/build_trace.h"
#include "api/cli/build/check_files.h"
#include "api/cli/build/given_names.h"
#include "api/cli/build/interrupt.h"
#include "api/cli/build/model_source.h"
#include "api/cli/build/signed_inputs.h"
#include "api/cli/view/job_view.h"
#include "api/client/built_artifact.h"
#include "api/client/trusted_artifact.h"
#include "compiler_core/frontend/folder/model_folder.h"
#include "compiler_core/frontend/format/format.h"
#include "compiler_core/frontend/parameters/expand.h"
#include "manifest/base/counted.h"
#include "manifest/base/mapped_file.h"
#include "manifest/base/printable.h"
#include "manifest/spec/target.h"
#include "storage/source/git_reference.h"

namespace kiln::cli {
namespace {

Result<v1::SubmitJobRequest> makeRequest(const BuildOptions& options,
                                         const std::vector<parameters::TensorFile>& parameters,
                                         std::optional<CheckRequest> check) {
  for (const auto& target : options.targets) KILN_TRY(checkTarget(target));
  KILN_ASSIGN(auto profiles, parseProfiles(options.profiles));
  CompileSpec spec;
  spec.profiles = std::move(profiles);
  spec.numerics.precision = options.precision;
  spec.numerics.reassociation = options.reassociation;
  spec.fallback = options.partition.fallback;
  KILN_ASSIGN(spec.partition, parseRules(options.partition));
  for (const auto& target : options.targets) KILN_TRY(checkRules(spec.partition, targetNames(target)));
  spec.maxArtifactBytes = options.maxArtifactBytes;
  spec.maxPlannedBytes = options.maxPlannedBytes;
  for (const auto& pin : options.pins) KILN_TRY(addPin(pin, spec.pins));
  for (const auto& sequence : options.sequences) KILN_TRY(addComposite(sequence, spec.sequences));
  for (const parameters::TensorFile& file : parameters) spec.parameters.push_back(file.path);
  v1::SubmitJobRequest request;
  KILN_ASSIGN(*request.mutable_idempotency_key(), newIdempotencyKey());
  KILN_ASSIGN(*request.mutable_spec_json(), toCanonicalJson(submittedToJson(spec)));
  DeliverySpec delivery = options.delivery;
  delivery.builders = std::max(delivery.builders, delivery.operators);
  if (delivery.majority && delivery.builders < 3)
    return fail(Code::kInvalidArgument, "--majority: of whom? It needs --builders 3 or more");
  if (options.checkEmulated && std::ranges::none_of(options.targets, isForDevice))
    return fail(Code::kInvalidArgument,
                "--check-emulated: no target runs on a device (cuda:*); --check does without one");
  KILN_TRY(readDeadline(options.deadline, delivery));
  if (options.maxWorkerSeconds > 0) delivery.maxWorkerSeconds = options.maxWorkerSeconds;
  delivery.check = std::move(check);
  KILN_TRY(readTuning(options.tune, options.budget, options.targets, delivery));
  // A search of that length must fit in.
  if (delivery.tuning && delivery.tuning->search)
    delivery.timeLimitSeconds = std::max(delivery.timeLimitSeconds, 2 * delivery.tuning->budgetSeconds);
  KILN_ASSIGN(*request.mutable_delivery_json(), toCanonicalJson(delivery.toJson()));
  KILN_TRY(DeliverySpec::fromJson(delivery.toJson()));
  for (const auto& target : options.targets) request.add_targets(target);
  request.set_toolchain(options.toolchain);
  return request;
}

// A folder as the model in it, with the weights beside it where none are named. Says what the file is taken
// for.
Status locateModel(const Context& context, BuildOptions& options) {
  if (source::isGitReference(options.model)) return {};
  KILN_ASSIGN(frontend::FolderModel found, frontend::modelAt(options.model));
  options.model = std::move(found.model);
  if (options.parameters.empty()) options.parameters = std::move(found.parameters);
  const auto file = MappedFile::open(options.model);
  if (!file) return {};  // whoever reads it says why
  const std::string_view format = frontend::formatName(frontend::formatOf((*file)->bytes()));
  if (!context.json)
    note(fmt::format("model {}: {}", options.model, format) +
         (options.parameters.empty() ? ""
                                     : fmt::format(", parameters {}", fmt::join(options.parameters, ", "))));
  return {};
}

// What is signed, if a signature is asked for. One that nobody asked about is told of: it was not looked at.
Result<std::optional<SignedInputs>> signedInputs(const Context& context, const BuildOptions& given) {
  if (given.modelSigners.empty()) {
    const std::string path = signing::modelSignaturePath(given.model);
    std::error_code error;
    if (!context.json && !source::isGitReference(given.model) && std::filesystem::exists(path, error))
      note(path +
           " was not looked at: --model-signed-by names the key that may have made it, or "
           "--model-certificate-root an authority");
    return std::optional<SignedInputs>();
  }
  if (source::isGitReference(given.model))
    return fail(Code::kInvalidArgument,
                "--model-signed-by and the like go with a model on this disk; a commit is "
                "named by its hash: check it out and give the folder");
  for (const std::string& parameters : given.parameters)
    if (source::isGitReference(parameters))
      return fail(Code::kInvalidArgument,
                  "--params " + printable(parameters) +
                      ": a model's signature covers files on this disk; a commit is none");
  KILN_ASSIGN(const signing::AcceptedSigners signers, loadSigners(given.modelSigners, SystemClock().now()));
  KILN_ASSIGN(SignedInputs inputs, SignedInputs::open(given.model, given.modelSignature, signers));
  if (!context.json)
    note(fmt::format("model {}: {} signed by {}", given.model, counted(inputs.files(), "file"),
                     inputs.signer().text()));
  return std::optional(std::move(inputs));
}

// By what the farm calls them.
std::map<std::string, std::string> givenNames(const BuildOptions& options,
                                              const std::vector<parameters::TensorFile>& parameters) {
  std::map<std::string, std::string> names{{"model.onnx", options.model}, {"model.mlir", options.model}};
  for (const parameters::TensorFile& file : parameters) names[file.path] = file.file;
  return names;
}

}  // namespace

void noteGrant(const Context& context, const client::Submission& made) {
  if (!context.json && !made.grant.empty()) note("let in by the grant " + made.grant);
}

Result<BuiltJob> buildModel(const Context& context, const BuildOptions& given, const BeforeSubmit& before) {
  BuildOptions options = given;
  KILN_TRY(locateModel(context, options));
  KILN_ASSIGN(const auto inputs, signedInputs(context, given));
  std::string signedBy;
  if (inputs)
    signedBy = inputs->signer().identity.empty() ? inputs->signer().keyId : inputs->signer().identity;
  KILN_ASSIGN(const auto parameters, findParameters(options.parameters));
  KILN_TRY(makeRequest(options, parameters, {}));  // a mistake is told before anything is uploaded
  KILN_ASSIGN(const auto trace, BuildTrace::begin(options.traces));
  KILN_ASSIGN(const auto trust, namedTrust(context));
  Interrupt interrupt("nothing was submitted; what was uploaded is not sent again");
  Progress progress(context.terminal, context.json);
  KILN_ASSIGN(const auto client, context.connect(&progress));
  std::string toolchain;
  if (!options.toolchain.empty()) {  // before the model is sent
    KILN_ASSIGN(const v1::Toolchain named, client->toolchain(options.toolchain));
    toolchain = "sha256:" + named.toolchain_digest().hash();
  }
  std::optional<CheckRequest> check;
  if (options.check || options.checkEmulated || !options.checkPlan.empty()) {
    KILN_ASSIGN(check, uploadCheck(*client, options.checkPlan));
    check->emulated = options.checkEmulated;
  }
  KILN_ASSIGN(auto request, makeRequest(options, parameters, std::move(check)));
  ModelOptions model{options.model, options.data, parameters, !context.json, context.terminal};
  if (inputs)
    model.inspect = [&](const std::string& file, const Digest& digest) {
      return inputs->check(file, digest);
    };
  KILN_TRY(addModel(*client, model, request));
  if (before) KILN_TRY(before(request, toolchain));
  interrupt.submits();
  KILN_ASSIGN(client::Submission made, client->submit(request, trace->submits()));
  trace->submitted();
  noteGrant(context, made);
  v1::Job job = std::move(made.job);
  interrupt.follows(job.id());
  if (options.detach) return BuiltJob{std::move(request), std::move(job), std::move(made.grant), signedBy};
  if (client::hasEnded(job)) {
    progress.show(job);
  } else {
    auto ended = client->watch(job.id(), [&](const v1::Job& now) -> Status {
      progress.show(now);
      return {};
    });
    if (!ended) {
      auto error = std::move(ended).error();
      error.message += "; job " + job.id() + " is kept by the farm: kiln watch " + job.id();
      return fail(std::move(error));
    }
    job = std::move(*ended);
  }
  if (Status done = jobOutcome(job); !done) {
    Error error = std::move(done).error();
    error.message = asGiven(error.message, givenNames(options, parameters));
    return fail(std::move(error));
  }
  KILN_TRY(client::checkBuilt(*client, request, job));
  if (trust) KILN_TRY(client::checkTrusted(*client, request.toolchain(), job, *trust, SystemClock()));
  return BuiltJob{std::move(request), std::move(job), std::move(made.grant), signedBy};
}

}  // namespace kiln::cli
