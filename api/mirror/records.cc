#include "api/mirror/records.h"

#include "manifest/json/reader.h"

namespace kiln::mirror {
namespace {

constexpr char kVersion[] = "kiln/v1";
constexpr std::size_t kMaxEntries = 1'000'000;
constexpr JsonLimits kLimits{.bytes = 256u << 20};

Json digestJson(const Digest& digest) {
  return {{"digest", digest.text()}, {"size", std::to_string(digest.size)}};
}

Json listJson(const std::vector<Digest>& digests) {
  Json out = Json::array();
  for (const Digest& digest : digests) out.push_back(digestJson(digest));
  return out;
}

// Of files with a path and a digest.
template <class File>
Json pathsJson(const std::vector<File>& files) {
  Json out = Json::array();
  for (const File& file : files) {
    Json one = digestJson(file.digest);
    one["path"] = file.path;
    out.push_back(std::move(one));
  }
  return out;
}

// Calls `take` with a reader of each object in the array `name`.
template <class Take>
Status eachOf(ObjectReader& reader, std::string_view name, Take take) {
  KILN_ASSIGN(const Json* array, reader.array(name));
  if (array->size() > kMaxEntries) return badMember(reader.path(name), "has too many entries");
  for (std::size_t i = 0; i < array->size(); ++i) {
    KILN_ASSIGN(ObjectReader entry,
                ObjectReader::open((*array)[i], reader.path(name) + "[" + std::to_string(i) + "]"));
    KILN_TRY(take(entry));
    KILN_TRY(entry.finish());
  }
  return {};
}

Status readDigests(ObjectReader& reader, std::string_view name, std::vector<Digest>& out) {
  return eachOf(reader, name, [&](ObjectReader& entry) -> Status {
    KILN_ASSIGN(const Digest digest, entry.digest());
    out.push_back(digest);
    return {};
  });
}

template <class File>
Status readPaths(ObjectReader& reader, std::string_view name, std::vector<File>& out) {
  return eachOf(reader, name, [&](ObjectReader& entry) -> Status {
    File file;
    KILN_ASSIGN(file.path, entry.string("path"));
    KILN_ASSIGN(file.digest, entry.digest());
    out.push_back(std::move(file));
    return {};
  });
}

Json imageJson(const gateway::PublishedImage& image) {
  return {{"image", digestJson(image.digest)},
          {"bundle", digestJson(image.bundle)},
          {"target", image.image.target},
          {"layers", listJson(image.image.layers)},
          {"bundles", listJson(image.image.bundles)}};
}

Result<Digest> readDigest(ObjectReader& reader, std::string_view name) {
  KILN_ASSIGN(ObjectReader one, reader.object(name));
  KILN_ASSIGN(const Digest digest, one.digest());
  KILN_TRY(one.finish());
  return digest;
}

Status readImages(ObjectReader& reader, ArtifactRecord& out) {
  if (!reader.has("images")) return {};
  return eachOf(reader, "images", [&](ObjectReader& entry) -> Status {
    gateway::PublishedImage image;
    image.image.artifact = out.artifact;
    KILN_ASSIGN(image.digest, readDigest(entry, "image"));
    KILN_ASSIGN(image.bundle, readDigest(entry, "bundle"));
    KILN_ASSIGN(image.image.target, entry.string("target"));
    KILN_TRY(readDigests(entry, "layers", image.image.layers));
    KILN_TRY(readDigests(entry, "bundles", image.image.bundles));
    if (image.image.layers.size() != 2) return badMember(entry.path("layers"), "must hold two digests");
    out.images.push_back(std::move(image));
    return {};
  });
}

Result<TimePoint> readTime(ObjectReader& reader, std::string_view name) {
  KILN_ASSIGN(const std::string text, reader.string(name));
  auto time = parseRfc3339(text);
  if (!time) return badMember(reader.path(name), time.error().message);
  return time;
}

// All that is written here is valid UTF-8 or was made printable, so that it has a canonical form.
std::string written(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string ArtifactRecord::text() const {
  Json made = Json::array();
  for (const gateway::PublishedImage& image : images) made.push_back(imageJson(image));
  return written({{"apiVersion", kVersion},
                  {"kind", "MirroredArtifact"},
                  {"artifact", digestJson(artifact)},
                  {"files", listJson(this->files)},
                  {"bundles", listJson(bundles)},
                  {"fixtures", pathsJson(fixtures)},
                  {"images", std::move(made)},
                  {"ir", pathsJson(ir)}});
}

Result<ArtifactRecord> ArtifactRecord::parse(std::string_view text) {
  KILN_ASSIGN(const Json json, parseStrictJson(text, kLimits));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, ""));
  ArtifactRecord out;
  KILN_TRY(reader.expect("apiVersion", kVersion));
  KILN_TRY(reader.expect("kind", "MirroredArtifact"));
  KILN_ASSIGN(out.artifact, readDigest(reader, "artifact"));
  KILN_TRY(readDigests(reader, "files", out.files));
  KILN_TRY(readDigests(reader, "bundles", out.bundles));
  KILN_TRY(readPaths(reader, "fixtures", out.fixtures));
  KILN_TRY(readImages(reader, out));
  if (reader.has("ir")) KILN_TRY(readPaths(reader, "ir", out.ir));
  KILN_TRY(reader.finish());
  return out;
}

std::string State::text() const {
  Json refusals = Json::array(), again = Json::array();
  for (const auto& [artifact, why] : refused) refusals.push_back({{"artifact", artifact}, {"why", why}});
  for (const auto& [artifact, until] : lookAgain)
    again.push_back({{"artifact", artifact}, {"until", rfc3339(until)}});
  return written({{"apiVersion", kVersion},
                  {"kind", "MirrorState"},
                  {"generation", std::to_string(generation)},
                  {"asked", rfc3339(asked)},
                  {"walked", walked},
                  {"pageToken", pageToken},
                  {"looked", std::to_string(looked)},
                  {"tiles", std::to_string(tiles)},
                  {"basis", basis},
                  {"refused", std::move(refusals)},
                  {"lookAgain", std::move(again)}});
}

Result<State> State::parse(std::string_view text) {
  KILN_ASSIGN(const Json json, parseStrictJson(text, kLimits));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, ""));
  State out;
  KILN_TRY(reader.expect("apiVersion", kVersion));
  KILN_TRY(reader.expect("kind", "MirrorState"));
  KILN_ASSIGN(out.generation, reader.unsigned64("generation"));
  KILN_ASSIGN(out.asked, readTime(reader, "asked"));
  KILN_ASSIGN(out.walked, reader.boolean("walked"));
  KILN_ASSIGN(out.pageToken, reader.string("pageToken"));
  KILN_ASSIGN(out.looked, reader.unsigned64("looked"));
  KILN_ASSIGN(out.tiles, reader.unsigned64("tiles"));
  KILN_ASSIGN(out.basis, reader.string("basis"));
  KILN_TRY(eachOf(reader, "refused", [&](ObjectReader& entry) -> Status {
    KILN_ASSIGN(const std::string artifact, entry.string("artifact"));
    KILN_ASSIGN(out.refused[artifact], entry.string("why"));
    return {};
  }));
  KILN_TRY(eachOf(reader, "lookAgain", [&](ObjectReader& entry) -> Status {
    KILN_ASSIGN(const std::string artifact, entry.string("artifact"));
    KILN_ASSIGN(out.lookAgain[artifact], readTime(entry, "until"));
    return {};
  }));
  KILN_TRY(reader.finish());
  return out;
}

}  // namespace kiln::mirror
