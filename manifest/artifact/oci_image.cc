#include "manifest/artifact/oci_image.h"

#include "manifest/artifact/media_types.h"
#include "manifest/artifact/oci_descriptor.h"
#include "manifest/artifact/oci_layout.h"

namespace kiln {
namespace {

// GOARCH of the host program's processor; "" for one that has no image.
std::string architectureOf(const Target& host) {
  if (host.triple.starts_with("x86_64-")) return "amd64";
  if (host.triple.starts_with("aarch64-")) return "arm64";
  if (host.triple.starts_with("riscv64-")) return "riscv64";
  return "";
}

}  // namespace

Result<std::string> makeImageConfig(const Target& host, const std::vector<Digest>& layers) {
  const std::string architecture = architectureOf(host);
  if (architecture.empty())
    return fail(Code::kUnimplemented, "an artifact for " + host.name + " has no container image");
  Json ids = Json::array();
  for (const Digest& layer : layers) ids.push_back(layer.text());
  return toCanonicalJson({{"architecture", architecture},
                          {"os", "linux"},
                          {"config", Json::object()},
                          {"rootfs", {{"type", "layers"}, {"diff_ids", std::move(ids)}}}});
}

Result<std::string> makeImageManifest(const Digest& config, const std::vector<Digest>& layers,
                                      const Digest& subject) {
  Json list = Json::array();
  for (const Digest& layer : layers) list.push_back(descriptorJson(kOciTarMediaType, layer));
  return toCanonicalJson({{"schemaVersion", 2},
                          {"mediaType", kOciManifestMediaType},
                          {"config", descriptorJson(kOciImageConfigMediaType, config)},
                          {"layers", std::move(list)},
                          {"subject", descriptorJson(kOciManifestMediaType, subject)}});
}

Result<ImageDocuments> makeImage(const ArtifactImage& image) {
  KILN_ASSIGN(const Target host, parseTarget(image.target));
  ImageDocuments out;
  KILN_ASSIGN(out.config, makeImageConfig(host, image.layers));
  KILN_ASSIGN(out.manifest, makeImageManifest(digestOf(out.config), image.layers, image.artifact));
  return out;
}

Result<std::string> makeImageIndex(const Digest& manifest, const std::vector<LayoutEntry>& referrers) {
  Json entry = descriptorJson(kOciManifestMediaType, manifest);
  entry["annotations"] = {{kRefName, "image"}};
  Json list = Json::array({std::move(entry)});
  for (const LayoutEntry& referrer : referrers) {
    list.push_back(descriptorJson(kOciManifestMediaType, referrer.manifest));
    list.back()["artifactType"] = referrer.artifactType;
  }
  return toCanonicalJson(
      {{"schemaVersion", 2}, {"mediaType", kOciIndexMediaType}, {"manifests", std::move(list)}});
}

}  // namespace kiln
