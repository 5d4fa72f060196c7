#include "api/registry/push.h"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <thread>
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

constexpr int kMostWrites = 6;  // of one index

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
  Pusher(Session& session, const storage::OciLayoutStore& layout, const std::string& directory,
         const std::function<void()>& pause)
      : session_(session), layout_(layout), directory_(directory), pause_(pause) {}

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

  Result<Json> readIndex(const std::string& tag) {
    KILN_ASSIGN(const auto there, session_.getIndex(tag));
    if (!there)
      return Json{{"schemaVersion", 2}, {"mediaType", kOciIndexMediaType}, {"manifests", Json::array()}};
    KILN_ASSIGN(Json index, parseJson(*there, {.bytes = kMaxLayoutIndexBytes, .depth = 16}));
    if (!index.is_object() || !index.contains("manifests") || !index["manifests"].is_array())
      return fail(Code::kFailedPrecondition, tag + ": the registry holds another thing than an index there");
    return index;
  }

  // False if they are there already. What somebody else wrote there stays.
  static bool addMissing(Json& index, const std::vector<Json>& entries) {
    Json& list = index["manifests"];
    const std::size_t before = list.size();
    for (const Json& entry : entries) {
      const bool known = std::any_of(list.begin(), list.end(), [&](const Json& one) {
        return one.is_object() && one.value("digest", Json()) == entry["digest"];
      });
      if (!known) list.push_back(entry);
    }
    return list.size() > before;
  }

  // No registry takes an index only if it is still the one that was read, so that of two pushes at once the
  // later one may write it without what the earlier one has just added. Each looks again after it has
  // written, once the other had time to.
  Status list(const std::string& tag, const std::vector<Json>& entries) {
    for (int writes = 0; writes < kMostWrites; ++writes) {
      KILN_ASSIGN(Json index, readIndex(tag));
      if (!addMissing(index, entries)) return {};
      KILN_TRY(session_.putManifest(tag, kOciIndexMediaType, index.dump()));
      pause_();
    }
    KILN_ASSIGN(Json index, readIndex(tag));
    if (!addMissing(index, entries)) return {};
    return fail(Code::kUnavailable,
                tag + ": others write this index at the same time, and it has lost what " +
                    std::to_string(kMostWrites) + " writes added; push again once they are done");
  }

  Session& session_;
  const storage::OciLayoutStore& layout_;
  const std::string& directory_;
  const std::function<void()>& pause_;
  std::set<Digest> seen_;
  std::map<std::string, std::vector<Json>> unlisted_;  // by tag
  PushSummary summary_;
};

}  // namespace

void pauseBetweenWrites() {
  // As long as no other push pauses, so that two do not go on in step.
  std::uniform_int_distribution<int> milliseconds(200, 700);
  std::random_device device;
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds(device)));
}

Result<PushSummary> pushLayout(Session& session, const storage::OciLayoutStore& layout,
                               const std::string& directory, const std::function<void()>& pause) {
  return Pusher(session, layout, directory, pause).run();
}

Status tagFirst(Session& session, const storage::OciLayoutStore& layout, const std::string& tag) {
  KILN_ASSIGN(const std::vector<Digest> manifests, manifestsOf(layout));
  KILN_ASSIGN(const std::string text, readManifest(layout, manifests.front()));
  return session.putManifest(tag, kOciManifestMediaType, text).map([](const PutAnswer&) {});
}

}  // namespace kiln::registry
