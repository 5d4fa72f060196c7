#include "manifest/artifact/oci_descriptor.h"

#include "manifest/spec/path.h"

namespace kiln {
namespace {

constexpr char kTitle[] = "org.opencontainers.image.title";

}  // namespace

Json descriptorJson(const std::string& mediaType, const Digest& digest) {
  return {{"mediaType", mediaType}, {"digest", digest.text()}, {"size", digest.size}};
}

Result<Digest> readDescriptor(ObjectReader& reader) {
  KILN_ASSIGN(std::int64_t size, reader.integer("size", 0, kMaxJsonInteger));
  KILN_ASSIGN(Digest digest, reader.digest());
  digest.size = static_cast<std::uint64_t>(size);
  return digest;
}

Json layerJson(const std::string& mediaType, const ArtifactFile& file) {
  Json json = descriptorJson(mediaType, file.digest);
  json["annotations"] = {{kTitle, file.path}};
  return json;
}

Result<ArtifactFile> readLayer(const Json& json, const std::string& place, const std::string& mediaType) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, place));
  ArtifactFile file;
  if (mediaType.empty()) {
    KILN_ASSIGN(file.mediaType, reader.string("mediaType"));
  } else {
    KILN_TRY(reader.expect("mediaType", mediaType));
    file.mediaType = mediaType;
  }
  KILN_ASSIGN(file.digest, readDescriptor(reader));
  KILN_ASSIGN(ObjectReader annotations, reader.object("annotations"));
  KILN_ASSIGN(file.path, annotations.string(kTitle));
  if (auto safe = checkRelativePath(file.path); !safe)
    return badMember(annotations.path(kTitle), safe.error().message);
  KILN_TRY(annotations.finish());
  KILN_TRY(reader.finish());
  return file;
}

}  // namespace kiln
