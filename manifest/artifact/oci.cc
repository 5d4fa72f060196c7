#include "manifest/artifact/oci.h"

#include "manifest/artifact/media_types.h"
#include "manifest/artifact/oci_descriptor.h"
#include "manifest/artifact/path_set.h"

namespace kiln {

Result<std::string> makeOciManifest(const Manifest& manifest, const Digest& manifestBlob) {
  Json layers = Json::array();
  for (const ArtifactFile& file : manifest.files()) layers.push_back(layerJson(file.mediaType, file));
  KILN_ASSIGN(std::string text, toCanonicalJson({{"schemaVersion", 2},
                                                 {"mediaType", kOciManifestMediaType},
                                                 {"artifactType", kArtifactType},
                                                 {"config", descriptorJson(kManifestMediaType, manifestBlob)},
                                                 {"layers", std::move(layers)}}));
  if (text.size() >= kMaxOciManifestBytes || manifestBlob.size >= kMaxOciManifestBytes)
    return fail(
        Code::kResourceExhausted,
        "the artifact's manifest is 4 MiB or more, which OCI clients refuse; compile a smaller model");
  return text;
}

Result<OciManifest> parseOciManifest(std::string_view text) {
  KILN_ASSIGN(Json json, parseStrictJson(text, {.bytes = kMaxOciManifestBytes - 1, .depth = 8}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "artifact"));
  OciManifest out;
  out.digest = digestOf(text);
  KILN_TRY(reader.integer("schemaVersion", 2, 2));
  KILN_TRY(reader.expect("mediaType", kOciManifestMediaType));
  KILN_TRY(reader.expect("artifactType", kArtifactType));
  KILN_ASSIGN(ObjectReader config, reader.object("config"));
  KILN_TRY(config.expect("mediaType", kManifestMediaType));
  KILN_ASSIGN(out.config, readDescriptor(config));
  if (out.config.size >= kMaxOciManifestBytes) return badMember(config.path("size"), "must be below 4 MiB");
  KILN_TRY(config.finish());
  KILN_ASSIGN(const Json* layers, reader.array("layers"));
  if (layers->empty() || layers->size() > kMaxOciLayers)
    return badMember("artifact.layers", "must hold 1 to 16384 layers");
  PathSet paths;
  for (const Json& layer : *layers) {
    std::string place = "artifact.layers[" + std::to_string(out.layers.size()) + "]";
    KILN_ASSIGN(ArtifactFile file, readLayer(layer, place, out.layers.empty() ? kProgramMediaType : ""));
    const std::string& before = out.layers.empty() ? file.mediaType : out.layers.back().mediaType;
    if (!out.layers.empty() && file.mediaType != kWeightsMediaType &&
        (!isKernelsMediaType(file.mediaType) || before == kWeightsMediaType))
      return badMember(place + ".mediaType", "must be that of kernels or, behind these, of weights");
    if (auto added = paths.add(file.path); !added) return badMember(place, added.error().message);
    out.layers.push_back(std::move(file));
  }
  KILN_TRY(reader.finish());
  return out;
}

Status checkLayers(const OciManifest& oci, const Manifest& manifest) {
  if (oci.layers != manifest.files())
    return fail(Code::kDataLoss, "the layers of the OCI manifest are not the files that manifest.json lists");
  return {};
}

}  // namespace kiln
