#include "manifest/artifact/oci_layout.h"

#include <algorithm>

#include "manifest/artifact/media_types.h"
#include "manifest/artifact/oci.h"
#include "manifest/artifact/oci_descriptor.h"
#include "manifest/spec/path.h"

namespace kiln {
namespace {

constexpr std::size_t kMaxManifests = 1024;

Json entryJson(const LayoutEntry& entry) {
  Json json = descriptorJson(kOciManifestMediaType, entry.manifest);
  json["artifactType"] = entry.artifactType;
  return json;
}

Result<std::string> bounded(const Json& json, std::size_t limit, const char* what) {
  KILN_ASSIGN(std::string text, toCanonicalJson(json));
  if (text.size() >= limit)
    return fail(Code::kResourceExhausted,
                std::string(what) + " would take 4 MiB or more, which OCI clients refuse");
  return text;
}

}  // namespace

Result<std::string> makeReferrer(const Referrer& referrer) {
  Json layers = Json::array();
  for (const ArtifactFile& layer : referrer.layers) {
    Json json = layerJson(layer.mediaType, layer);
    layers.push_back(std::move(json));
  }
  const bool empty = referrer.config == digestOf(kEmptyConfig);
  return bounded(
      {{"schemaVersion", 2},
       {"mediaType", kOciManifestMediaType},
       {"artifactType", referrer.artifactType},
       {"config", descriptorJson(empty ? kEmptyMediaType : referrer.artifactType, referrer.config)},
       {"layers", std::move(layers)},
       {"subject", descriptorJson(kOciManifestMediaType, referrer.subject)}},
      kMaxOciManifestBytes, "the manifest of what refers to the artifact");
}

Result<std::string> makeBundleReferrer(const Digest& artifact, const Digest& bundle) {
  return makeReferrer({kBundleType,
                       artifact,
                       digestOf(kEmptyConfig),
                       {{"bundles/" + bundle.hex() + ".sigstore.json", kBundleType, bundle}}});
}

Result<Referrer> parseReferrer(std::string_view text) {
  KILN_ASSIGN(Json json, parseStrictJson(text, {.bytes = kMaxOciManifestBytes - 1, .depth = 8}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "referrer"));
  Referrer out;
  KILN_TRY(reader.integer("schemaVersion", 2, 2));
  KILN_TRY(reader.expect("mediaType", kOciManifestMediaType));
  KILN_ASSIGN(out.artifactType, reader.string("artifactType"));
  KILN_ASSIGN(ObjectReader config, reader.object("config"));
  KILN_TRY(config.string("mediaType"));
  KILN_ASSIGN(out.config, readDescriptor(config));
  KILN_TRY(config.finish());
  KILN_ASSIGN(ObjectReader subject, reader.object("subject"));
  KILN_TRY(subject.expect("mediaType", kOciManifestMediaType));
  KILN_ASSIGN(out.subject, readDescriptor(subject));
  KILN_TRY(subject.finish());
  KILN_ASSIGN(const Json* layers, reader.array("layers"));
  if (layers->empty() || layers->size() > kMaxOciLayers)
    return badMember("referrer.layers", "must hold 1 to 16384 layers");
  for (const Json& layer : *layers) {
    KILN_ASSIGN(ArtifactFile file,
                readLayer(layer, "referrer.layers[" + std::to_string(out.layers.size()) + "]", ""));
    out.layers.push_back(std::move(file));
  }
  KILN_TRY(reader.finish());
  return out;
}

Result<std::string> makeReferrersIndex(const std::vector<LayoutEntry>& referrers) {
  Json list = Json::array();
  for (const LayoutEntry& entry : referrers) list.push_back(entryJson(entry));
  return bounded({{"schemaVersion", 2}, {"mediaType", kOciIndexMediaType}, {"manifests", std::move(list)}},
                 kMaxLayoutIndexBytes, "the index of what refers to the artifact");
}

Result<std::string> makeLayoutIndex(const Digest& artifact, const std::vector<LayoutEntry>& referrers,
                                    const Digest& tag) {
  Json first = entryJson({artifact, kArtifactType});
  first["annotations"] = {{kRefName, "artifact"}};
  Json list = Json::array({std::move(first)});
  for (const LayoutEntry& entry : referrers) list.push_back(entryJson(entry));
  Json tagged = descriptorJson(kOciIndexMediaType, tag);
  tagged["annotations"] = {{kRefName, "sha256-" + artifact.hex()}};
  list.push_back(std::move(tagged));
  return bounded({{"schemaVersion", 2}, {"mediaType", kOciIndexMediaType}, {"manifests", std::move(list)}},
                 kMaxLayoutIndexBytes, "index.json");
}

Result<std::vector<Digest>> parseLayoutIndex(std::string_view text) {
  KILN_ASSIGN(Json json, parseStrictJson(text, {.bytes = kMaxLayoutIndexBytes, .depth = 8}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "index"));
  KILN_TRY(reader.integer("schemaVersion", 2, 2));
  KILN_ASSIGN(const Json* manifests, reader.array("manifests"));
  if (manifests->size() > kMaxManifests)
    return badMember("index.manifests", "holds more than 1024 manifests");
  std::vector<Digest> out;
  for (std::size_t i = 0; i < manifests->size(); ++i) {
    KILN_ASSIGN(ObjectReader entry,
                ObjectReader::open(manifests->at(i), "index.manifests[" + std::to_string(i) + "]"));
    KILN_ASSIGN(const std::string mediaType, entry.string("mediaType"));
    KILN_ASSIGN(const Digest digest, readDescriptor(entry));
    if (mediaType == kOciManifestMediaType && std::find(out.begin(), out.end(), digest) == out.end())
      out.push_back(digest);
  }
  return out;
}

Result<std::string> artifactTypeOf(std::string_view manifest) {
  KILN_ASSIGN(Json json, parseStrictJson(manifest, {.bytes = kMaxOciManifestBytes, .depth = 8}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "manifest"));
  if (!reader.has("artifactType")) return std::string();
  return reader.string("artifactType");
}

Result<std::string> makeClosureConfig(const ClosureConfig& config) {
  Json omitted = Json::array();
  for (const ModelFile& file : config.omitted)
    omitted.push_back(
        {{"path", file.path}, {"digest", file.digest.text()}, {"size", std::to_string(file.digest.size)}});
  return toCanonicalJson({{"apiVersion", "kiln/v1"}, {"kind", "Closure"}, {"omitted", std::move(omitted)}});
}

Result<ClosureConfig> parseClosureConfig(std::string_view text) {
  KILN_ASSIGN(Json json, parseCanonicalJson(text));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "closure"));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_TRY(reader.expect("kind", "Closure"));
  KILN_ASSIGN(const Json* omitted, reader.array("omitted"));
  if (omitted->size() > kMaxOciLayers) return badMember("closure.omitted", "holds more than 16384 files");
  ClosureConfig out;
  for (const Json& one : *omitted) {
    KILN_ASSIGN(ObjectReader file,
                ObjectReader::open(one, "closure.omitted[" + std::to_string(out.omitted.size()) + "]"));
    ModelFile read;
    KILN_ASSIGN(read.path, file.string("path"));
    if (auto safe = checkRelativePath(read.path); !safe)
      return badMember(file.path("path"), safe.error().message);
    KILN_ASSIGN(read.digest, file.digest());
    KILN_TRY(file.finish());
    out.omitted.push_back(std::move(read));
  }
  KILN_TRY(reader.finish());
  return out;
}

}  // namespace kiln
