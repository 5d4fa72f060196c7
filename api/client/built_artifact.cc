#include "api/client/built_artifact.h"

#include <algorithm>

#include "api/client/artifact_ref.h"
#include "manifest/artifact/oci.h"
#include "manifest/base/exit_code.h"
#include "manifest/spec/target.h"
#include "manifest/tuning/entries.h"
#include "storage/tree/digest_proto.h"

namespace kiln::client {
namespace {

tl::unexpected<Error> refused(std::string message) {
  return fail(Error{Code::kDataLoss, std::move(message), R"({"exitCode":5})"});
}

// A document of an artifact, hashed here whatever the store promises.
Result<std::string> readDocument(Client& client, const Digest& digest, const char* what) {
  auto text = storage::getBlob(client.blobs(), client.instance(), digest, kMaxOciManifestBytes);
  if (!text && text.error().code == Code::kUnavailable) return fail(client.explain(text.error()));
  if (!text) return fail(text.error().in(what));
  if (digestOf(*text) != digest) return refused(std::string(what) + ": what arrived is not " + digest.text());
  return text;
}

Result<CompileSpec> builtSpec(Client& client, const std::string& artifact) {
  KILN_ASSIGN(const node::ArtifactRef ref, findArtifact(client, artifact));
  KILN_ASSIGN(const std::string document, readDocument(client, ref.artifact, "artifact.json"));
  KILN_ASSIGN(const OciManifest oci, parseOciManifest(document));
  KILN_ASSIGN(const std::string text, readDocument(client, oci.config, "manifest.json"));
  KILN_ASSIGN(const Json json, parseCanonicalJson(text));
  KILN_ASSIGN(Manifest manifest, Manifest::fromJson(json));
  return std::move(manifest.spec);
}

// What the request lets the farm decide is as in `built`.
Result<CompileSpec> askedSpec(const v1::SubmitJobRequest& request, const std::string& target,
                              const CompileSpec& built) {
  CompileSpec spec;
  spec.profiles.push_back({"default", {}});
  KILN_ASSIGN(const Json submitted, parseJson(request.spec_json()));
  KILN_TRY(applySubmitted(submitted, spec));
  KILN_ASSIGN(const Target parsed, parseTarget(target));
  spec.target = parsed.name;
  spec.features = built.features;
  spec.toolchainDigest = built.toolchainDigest;
  KILN_ASSIGN(const Json delivery, parseJson(request.delivery_json()));
  if (const auto tuning = delivery.find("tuning"); tuning != delivery.end()) {
    spec.tuning = built.tuning;
    // The defaults are entries that name no kernel, where its toolchain has a catalogue.
    if (built.tuning && tuning->value("mode", "") == "off") {
      KILN_ASSIGN(const std::string none, toCanonicalJson(TuningEntries{spec.target, {}}.toJson()));
      spec.tuning = digestOf(none);
    }
  }
  if (std::ranges::any_of(request.sources(), [](const v1::Source& source) { return !source.has_blob(); })) {
    spec.files = built.files;
    // The weights that the farm found beside the model of a commit's folder.
    if (spec.parameters.empty() && !request.sources(0).has_blob()) spec.parameters = built.parameters;
    return spec;
  }
  for (const v1::Source& source : request.sources()) {
    KILN_ASSIGN(const Digest digest, fromProto(source.blob()));
    // The model is called the same whatever its own name was.
    spec.files.push_back(
        {spec.files.empty() && !built.files.empty() ? built.files[0].path : source.path(), digest});
  }
  std::sort(spec.files.begin() + 1, spec.files.end(),
            [](const ModelFile& a, const ModelFile& b) { return a.path < b.path; });
  return spec;
}

Status checkSpec(const v1::SubmitJobRequest& request, const std::string& target, const CompileSpec& built) {
  KILN_ASSIGN(const CompileSpec asked, askedSpec(request, target, built));
  if (asked.target != built.target) return refused("it is for " + built.target + ", not for " + asked.target);
  for (const ModelFile& file : asked.files)
    if (std::ranges::find(built.files, file) == built.files.end())
      return refused("it was not built from " + file.path + " with digest " + file.digest.text() +
                     ", which is what was sent");
  if (asked.files.size() != built.files.size()) return refused("it was built from more files than were sent");
  if (request.toolchain().starts_with("sha256:") &&
      !built.toolchainDigest.text().starts_with(request.toolchain()))
    return refused("it was built with toolchain " + built.toolchainDigest.text() + ", not with " +
                   request.toolchain());
  if (asked != built)
    return refused("it was built with other profiles, pins or options than were asked for, or tuned unasked");
  return {};
}

}  // namespace

Status checkBuilt(Client& client, const v1::SubmitJobRequest& request, const v1::Job& job) {
  if (job.artifacts_size() != request.targets_size())
    return refused("the farm answers " + std::to_string(request.targets_size()) + " targets with " +
                   std::to_string(job.artifacts_size()) + " artifacts");
  for (int i = 0; i < job.artifacts_size(); ++i) {
    const std::string& artifact = job.artifacts(i).digest();
    const auto built = builtSpec(client, artifact);
    if (!built && exitCodeOf(built.error().code) == kExitUsage) return fail(client.unreadable(built.error()));
    if (!built) return fail(built.error());
    if (Status same = checkSpec(request, request.targets(i), *built); !same)
      return fail(same.error().in("artifact " + artifact + " is not what was asked for"));
  }
  return {};
}

}  // namespace kiln::client
