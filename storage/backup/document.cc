#include "storage/backup/document.h"

#include <algorithm>
#include <set>

#include "manifest/base/new_directory.h"
#include "manifest/json/reader.h"
#include "manifest/spec/path.h"

namespace kiln::storage {
namespace {

constexpr std::size_t kMaxFiles = 1'000'000;
constexpr std::int64_t kMaxMode = 0777;

// In the farm's directory.
const std::set<std::string, std::less<>> kLeftOut = {
    "cache", "kiln.env", "logs",  "metrics", "pg", "prometheus.yml", kRestoreUnfinished,
    "run",   "sock",     "store", "workers"};
constexpr std::string_view kTokenUri = "keys/signer.uri";  // with the module that the signer loads
constexpr char kRestoring[] = ".restore-";

bool isPassing(const std::string& name) {
  return isInTheMaking(name) || name.starts_with(kRestoring);
}

Json digestJson(const Digest& digest) {
  return {{"digest", digest.text()}, {"size", std::to_string(digest.size)}};
}

Result<BackupFile> readFile(const Json& json, const std::string& place) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, place));
  BackupFile file;
  KILN_ASSIGN(file.path, reader.string("path"));
  if (const Status safe = checkRelativePath(file.path); !safe)
    return badMember(reader.path("path"), safe.error().message);
  KILN_ASSIGN(file.digest, reader.digest());
  KILN_ASSIGN(const std::int64_t mode, reader.integer("mode", 0, kMaxMode));
  file.mode = static_cast<unsigned>(mode);
  KILN_TRY(reader.finish());
  return file;
}

}  // namespace

bool belongsInBackup(std::string_view path) {
  if (kLeftOut.contains(path.substr(0, path.find('/'))) || path == kTokenUri) return false;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (isPassing(std::string(path.substr(begin, end - begin)))) return false;
    begin = end + 1;
  }
  return true;
}

Json BackupDocument::toJson() const {
  Json list = Json::array();
  for (const BackupFile& file : files) {
    Json one = digestJson(file.digest);
    one["path"] = file.path;
    one["mode"] = file.mode;
    list.push_back(std::move(one));
  }
  return {{"apiVersion", "kiln/v1"},
          {"kind", "Backup"},
          {"createdOn", rfc3339(createdOn)},
          {"program", program},
          {"database", digestJson(database)},
          {"blobs", {{"count", std::to_string(blobs)}, {"bytes", std::to_string(blobBytes)}}},
          {"damaged", damaged},
          {"files", std::move(list)}};
}

Digest BackupDocument::digest() const {
  const auto text = toCanonicalJson(toJson());
  return text ? digestOf(*text) : Digest();
}

Result<BackupDocument> BackupDocument::parse(std::string_view text) {
  KILN_ASSIGN(const Json json, parseStrictJson(text, {.bytes = kMaxBackupDocumentBytes, .depth = 8}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "backup"));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_TRY(reader.expect("kind", "Backup"));
  BackupDocument out;
  KILN_ASSIGN(const std::string created, reader.string("createdOn"));
  const auto time = parseRfc3339(created);
  if (!time) return badMember(reader.path("createdOn"), time.error().message);
  out.createdOn = *time;
  KILN_ASSIGN(out.program, reader.string("program"));
  KILN_ASSIGN(ObjectReader database, reader.object("database"));
  KILN_ASSIGN(out.database, database.digest());
  KILN_TRY(database.finish());
  KILN_ASSIGN(ObjectReader blobs, reader.object("blobs"));
  KILN_ASSIGN(out.blobs, blobs.unsigned64("count"));
  KILN_ASSIGN(out.blobBytes, blobs.unsigned64("bytes"));
  KILN_TRY(blobs.finish());
  KILN_ASSIGN(out.damaged, reader.strings("damaged"));
  for (const std::string& one : out.damaged)
    if (!one.starts_with("sha256:") || !Digest::parse(one, 0))
      return badMember(reader.path("damaged"), "must hold \"sha256:\" digests");
  KILN_ASSIGN(const Json* files, reader.array("files"));
  if (files->size() > kMaxFiles) return badMember(reader.path("files"), "has more than a million entries");
  for (std::size_t i = 0; i < files->size(); ++i) {
    KILN_ASSIGN(BackupFile file, readFile((*files)[i], reader.path("files") + "[" + std::to_string(i) + "]"));
    if (!out.files.empty() && file.path <= out.files.back().path)
      return badMember(reader.path("files"), "must be sorted by path, each once");
    out.files.push_back(std::move(file));
  }
  KILN_TRY(reader.finish());
  return out;
}

}  // namespace kiln::storage
