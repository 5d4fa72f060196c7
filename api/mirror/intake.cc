#include "api/mirror/intake.h"

#include <algorithm>
#include <set>

#include "api/mirror/images.h"
#include "api/mirror/read_through.h"
#include "manifest/artifact/bundle_limit.h"
#include "manifest/artifact/oci.h"
#include "manifest/statement/image_statement.h"
#include "signing/bundle/bundle.h"
#include "storage/blob/overlay_blob_store.h"

namespace kiln::mirror {
namespace {

bool sameSet(std::vector<Digest> a, std::vector<Digest> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b;
}

bool isSame(const ArtifactRecord& record, const node::ArtifactRef& ref) {
  return record.artifact == ref.artifact && sameSet(record.bundles, ref.bundles) &&
         record.fixtures == ref.fixtures;
}

// Of what proves nothing yet: it only says what to look at.
std::optional<Digest> subjectIn(const std::string& payload) {
  const auto statement = parseStatement(payload);
  return statement ? artifactOf(*statement) : std::nullopt;
}

}  // namespace

bool isRefusal(const Error& error) {
  const auto details = parseJson(error.details);
  if (!details || !details->is_object()) return false;
  const auto exit = details->find("exitCode");
  return exit != details->end() && *exit == 5;
}

Result<std::optional<Digest>> Intake::subjectOf(const LoggedStatement& logged) {
  if (!logged.bundle) return subjectIn(logged.statement);
  storage::OverlayBlobStore both(blobs_, farm_.blobs());
  const auto text = storage::getBlob(both, directory_.instance(), *logged.bundle, kMaxBundleBytes);
  // One that was collected since, or is no bundle, is found missing with its artifact.
  const bool isGone =
      !text && (text.error().code == Code::kNotFound || text.error().code == Code::kOutOfRange ||
                text.error().code == Code::kDataLoss);
  if (isGone) return std::optional<Digest>();
  if (!text) return fail(text.error());
  const auto bundle = signing::parseBundle(*text);
  return bundle ? subjectIn(bundle->envelope.payload) : std::nullopt;
}

Result<ArtifactRecord> Intake::verified(const node::ArtifactRef& ref) {
  ReadThrough store(blobs_, farm_.blobs());
  KILN_ASSIGN(const signing::Verdict verdict, node::verifyOffered(store, ref, trust_, clock_));
  KILN_ASSIGN(const std::string own,
              storage::getBlob(blobs_, ref.instance, ref.artifact, kMaxOciManifestBytes));
  KILN_ASSIGN(const OciManifest oci, parseOciManifest(own));
  std::set<Digest> files{oci.config};
  for (const ArtifactFile& layer : oci.layers) files.insert(layer.digest);
  ArtifactRecord out{ref.artifact, {files.begin(), files.end()}, {}, ref.fixtures};
  KILN_ASSIGN(out.images, imagesOf(blobs_, ref, verdict));
  if (const IrStatement* ir = verdict.ir()) {
    for (const ModelFile& file : ir->files)
      KILN_TRY(store.read(ref.instance, file.digest, 0, 0, [](Bytes) { return Status(); }));
    out.ir = ir->files;
  }
  for (const Digest& bundle : ref.bundles)
    if (std::ranges::find(out.bundles, bundle) == out.bundles.end()) out.bundles.push_back(bundle);
  return out;
}

Result<Taken> Intake::take(const Digest& artifact, bool again) {
  const auto ref = farm_.find(artifact);
  if (!ref && ref.error().code == Code::kNotFound) return Taken::kGone;
  if (!ref) return fail(ref.error());
  // A damaged record is made anew.
  const auto known = directory_.record(artifact);
  if (!known && !isRefusal(known.error())) return fail(known.error());
  const bool here = known && known->has_value();
  const bool same = here && isSame(**known, *ref);
  if (same && !again) return Taken::kSame;
  KILN_ASSIGN(const ArtifactRecord record, verified(*ref));
  if (same && record == **known) return Taken::kSame;
  KILN_TRY(directory_.save(record));
  return here ? Taken::kChanged : Taken::kNew;
}

}  // namespace kiln::mirror
