#include "storage/index/artifacts/image_repository.h"

#include <algorithm>
#include <charconv>

#include "storage/index/rows/codec.h"

namespace kiln::index {
namespace {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;

std::vector<std::string> textsOf(const std::vector<Digest>& digests) {
  std::vector<std::string> out;
  for (const Digest& digest : digests) out.push_back(digest.hex() + "/" + std::to_string(digest.size));
  return out;
}

// One that is malformed is left out: the image then has other bytes than its hash says.
std::vector<Digest> digestsOf(const std::vector<std::string>& texts) {
  std::vector<Digest> out;
  for (const std::string& text : texts) {
    const auto slash = std::min(text.find('/'), text.size());
    std::uint64_t size = 0;
    std::from_chars(text.data() + std::min(slash + 1, text.size()), text.data() + text.size(), size);
    if (const auto digest = Digest::parse("sha256:" + text.substr(0, slash), size)) out.push_back(*digest);
  }
  return out;
}

ImageRecord imageAt(const Row& row) {
  return {.image = {.artifact = digestAt(row, "artifact_hash", "artifact_size"),
                    .target = row.get<std::string>("target"),
                    .layers = {digestAt(row, "files_hash", "files_size"),
                               digestAt(row, "evidence_hash", "evidence_size")},
                    .bundles = digestsOf(row.get<std::vector<std::string>>("bundles"))},
          .digest = hashAt(row, "hash"),
          .config = hashAt(row, "config_hash"),
          .statement = hashAt(row, "payload_hash"),
          .bundle = digestAt(row, "bundle_hash", "bundle_size"),
          .referrer = hashAt(row, "referrer_hash")};
}

constexpr char kSelect[] =
    "SELECT i.*, a.size AS artifact_size, a.target, s.bundle_hash, s.bundle_size FROM artifact_images i "
    "JOIN artifacts a ON a.instance = i.instance AND a.hash = i.artifact_hash "
    "JOIN statements s ON s.instance = i.instance AND s.payload_hash = i.payload_hash "
    "WHERE i.instance = $1 AND ";

}  // namespace

Status insertImage(Connection& connection, const std::string& instance, const ImageRecord& record,
                   TimePoint made) {
  const ArtifactImage& image = record.image;
  return connection
      .execute(
          "INSERT INTO artifact_images (instance, hash, artifact_hash, config_hash, files_hash, files_size, "
          "evidence_hash, evidence_size, bundles, payload_hash, referrer_hash, made) VALUES ($1, $2, $3, $4, "
          "$5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING",
          {instance, hashParam(record.digest), hashParam(image.artifact), hashParam(record.config),
           hashParam(image.layers.at(0)), image.layers.at(0).size, hashParam(image.layers.at(1)),
           image.layers.at(1).size, textsOf(image.bundles), hashParam(record.statement),
           hashParam(record.referrer), made})
      .map([](const Rows&) {});
}

Result<bool> hasImage(Connection& connection, const std::string& instance, const Digest& artifact) {
  KILN_ASSIGN(const Rows rows,
              connection.execute("SELECT FROM artifact_images WHERE instance = $1 AND artifact_hash = $2 "
                                 "LIMIT 1",
                                 {instance, hashParam(artifact)}));
  return !rows.empty();
}

Result<std::vector<ImageRecord>> listImages(Connection& connection, const std::string& instance,
                                            const Digest& artifact) {
  KILN_ASSIGN(Rows rows, connection.execute(
                             std::string(kSelect) + "i.artifact_hash = $2 ORDER BY i.made, i.hash LIMIT 16",
                             {instance, hashParam(artifact)}));
  return rows.map(imageAt);
}

Result<std::optional<ImageRecord>> findImage(Connection& connection, const std::string& instance,
                                             const Digest& hash) {
  KILN_ASSIGN(Rows rows, connection.execute(std::string(kSelect) +
                                                "(i.hash = $2 OR i.config_hash = $2 OR i.files_hash = $2 OR "
                                                "i.evidence_hash = $2 OR i.referrer_hash = $2) "
                                                "ORDER BY i.made, i.hash LIMIT 1",
                                            {instance, hashParam(hash)}));
  return rows.first(imageAt);
}

}  // namespace kiln::index
