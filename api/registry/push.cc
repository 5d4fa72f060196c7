#include "api/registry/push.h"

#include <fcntl.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "manifest/artifact/bundle_limit.h"
#include "manifest/artifact/media_types.h"
#include "manifest/artifact/oci.h"
#include "manifest/artifact/oci_descriptor.h"
#include "manifest/artifact/oci_layout.h"
#include "manifest/base/file.h"
#include "manifest/statement/statement.h"
#include "signing/bundle/bundle.h"

namespace kiln::registry {
namespace {

std::string nameOf(const Digest& digest) {
  return "blobs/sha256/" + digest.hex();
}

Result<std::string> readManifest(const storage::OciLayoutStore& layout, const Digest& digest) {
  KILN_ASSIGN(std::string text, layout.readText(nameOf(digest), kMaxOciManifestBytes));
  if (digestOf(text) != digest) return fail(Code::kDataLoss, nameOf(digest) + ": has other bytes");
  return text;
}

Result<std::vector<Digest>> manifestsOf(const storage::OciLayoutStore& layout) {
  KILN_ASSIGN(const std::string index, layout.readText("index.json", kMaxLayoutIndexBytes));
  KILN_ASSIGN(std::vector<Digest> out, parseLayoutIndex(index));
  if (out.empty()) return fail(Code::kInvalidArgument, "index.json: lists no manifest");
  return out;
}

// Layers before the config, as other clients do.
Result<std::vector<Digest>> blobsOf(const Json& manifest) {
  std::vector<Digest> out;
  const auto add = [&](const Json& json, const char* place) -> Status {
    KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, place));
    KILN_ASSIGN(const Digest digest, readDescriptor(reader));
    out.push_back(digest);
    return {};
  };
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(manifest, "manifest"));
  KILN_ASSIGN(const Json* layers, reader.array("layers"));
  if (layers->size() > kMaxOciLayers) return badMember("manifest.layers", "holds more than 16384 layers");
  for (const Json& layer : *layers) KILN_TRY(add(layer, "manifest.layers"));
  KILN_ASSIGN(const Json* config, reader.any("config"));
  KILN_TRY(add(*config, "manifest.config"));
  return out;
}

// cosign's names. Source: sigstore/cosign, specs/BUNDLE_SPEC.md ("Attestations in OCI").
Status annotate(Json& manifest, const storage::OciLayoutStore& layout) {
  KILN_ASSIGN(const std::vector<Digest> blobs, blobsOf(manifest));
  KILN_ASSIGN(const std::string text, layout.readText(nameOf(blobs.front()), kMaxBundleBytes));
  KILN_ASSIGN(const signing::Bundle bundle, signing::parseBundle(text));
  KILN_ASSIGN(const Statement statement, parseStatement(bundle.envelope.payload));
  manifest["annotations"] = {{"dev.sigstore.bundle.content", "dsse-envelope"},
                             {"dev.sigstore.bundle.predicateType", statement.predicateType}};
  return {};
}

class Pusher {
 public:
  Pusher(Session& session, const storage::OciLayoutStore& layout, const std::string& directory)
      : session_(session), layout_(layout), directory_(directory) {}

  Result<PushSummary> run() {
    KILN_ASSIGN(const std::vector<Digest> manifests, manifestsOf(layout_));
    for (const Digest& manifest : manifests) KILN_TRY(one(manifest));
    for (const auto& [tag, entries] : unlisted_) KILN_TRY(list(tag, entries));
    return summary_;
  }

 private:
  Status one(const Digest& digest) {
    KILN_ASSIGN(std::string text, readManifest(layout_, digest));
    KILN_ASSIGN(Json json, parseStrictJson(text, {.bytes = kMaxOciManifestBytes, .depth = 8}));
    KILN_ASSIGN(const std::vector<Digest> blobs, blobsOf(json));
    for (const Digest& blob : blobs) KILN_TRY(send(blob));
    if (json.value("artifactType", Json()) == kBundleType) {
      KILN_TRY(annotate(json, layout_));
      KILN_ASSIGN(text, toCanonicalJson(json));
    }
    const Digest sent = digestOf(text);
    KILN_ASSIGN(const PutAnswer answer, session_.putManifest(sent.text(), kOciManifestMediaType, text));
    ++summary_.manifests;
    if (!json.contains("subject") || answer.referred) return {};
    KILN_ASSIGN(ObjectReader subject, ObjectReader::open(json["subject"], "manifest.subject"));
    KILN_ASSIGN(const Digest about, readDescriptor(subject));
    unlisted_["sha256-" + about.hex()].push_back(descriptorOf(json, sent));
    return {};
  }

  // As a registry would list it: the type is the config's where the manifest names none.
  static Json descriptorOf(const Json& manifest, const Digest& digest) {
    Json out = descriptorJson(kOciManifestMediaType, digest);
    out["artifactType"] = manifest.contains("artifactType") ? manifest["artifactType"]
                                                            : manifest["config"].value("mediaType", Json());
    if (manifest.contains("annotations")) out["annotations"] = manifest["annotations"];
    return out;
  }

  Status send(const Digest& digest) {
    if (!seen_.insert(digest).second) return {};
    KILN_ASSIGN(const UniqueFd file, openRegular(directory_ + "/" + nameOf(digest), O_NOFOLLOW));
    KILN_ASSIGN(const PutAnswer answer, session_.putBlob(digest, s3::Body{{}, file.get(), digest.size}));
    ++summary_.blobs;
    if (answer.sent) {
      ++summary_.sent;
      summary_.bytes += digest.size;
    }
    return {};
  }

  // What somebody else wrote there stays.
  Status list(const std::string& tag, const std::vector<Json>& entries) {
    KILN_ASSIGN(const auto there, session_.getIndex(tag));
    Json index = {{"schemaVersion", 2}, {"mediaType", kOciIndexMediaType}, {"manifests", Json::array()}};
    if (there) {
      KILN_ASSIGN(index, parseJson(*there, {.bytes = kMaxLayoutIndexBytes, .depth = 16}));
      if (!index.is_object() || !index.contains("manifests") || !index["manifests"].is_array())
        return fail(Code::kFailedPrecondition,
                    tag + ": the registry holds another thing than an index there");
    }
    Json& list = index["manifests"];
    for (const Json& entry : entries) {
      const bool known = std::any_of(list.begin(), list.end(), [&](const Json& one) {
        return one.is_object() && one.value("digest", Json()) == entry["digest"];
      });
      if (!known) list.push_back(entry);
    }
    return session_.putManifest(tag, kOciIndexMediaType, index.dump()).map([](const PutAnswer&) {});
  }

  Session& session_;
  const storage::OciLayoutStore& layout_;
  const std::string& directory_;
  std::set<Digest> seen_;
  std::map<std::string, std::vector<Json>> unlisted_;  // by tag
  PushSummary summary_;
};

}  // namespace

Result<PushSummary> pushLayout(Session& session, const storage::OciLayoutStore& layout,
                               const std::string& directory) {
  return Pusher(session, layout, directory).run();
}

Status tagFirst(Session& session, const storage::OciLayoutStore& layout, const std::string& tag) {
  KILN_ASSIGN(const std::vector<Digest> manifests, manifestsOf(layout));
  KILN_ASSIGN(const std::string text, readManifest(layout, manifests.front()));
  return session.putManifest(tag, kOciManifestMediaType, text).map([](const PutAnswer&) {});
}

}  // namespace kiln::registry
