#include "api/mirror/mirror_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <filesystem>

#include "manifest/base/durable_file.h"
#include "manifest/base/printable.h"
#include "manifest/json/reader.h"
#include "signing/recall/recalls.h"
#include "storage/blob/instance_name.h"

namespace kiln::mirror {
namespace fs = std::filesystem;
namespace {

constexpr char kFormat[] = "/mirror.json", kState[] = "/state.json", kRecalls[] = "/recalls.json",
               kArtifacts[] = "/artifacts", kRecordEnd[] = ".json";
constexpr std::size_t kMaxRecordBytes = 8u << 20, kMaxStateBytes = 256u << 20, kMaxFormatBytes = 4096;

Result<std::string> readFormat(const std::string& path) {
  KILN_ASSIGN(const std::string text, readRegular(path + kFormat, kMaxFormatBytes, O_NOFOLLOW));
  KILN_ASSIGN(const Json json, parseStrictJson(text));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, ""));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_TRY(reader.expect("kind", "Mirror"));
  KILN_ASSIGN(std::string instance, reader.string("instance"));
  KILN_TRY(reader.finish());
  return instance;
}

Error damaged(const std::string& path, const Error& error) {
  return {Code::kDataLoss, path + ": " + error.message + "; remove it, and kiln mirror update --all mends it",
          R"({"exitCode":5})"};
}

// What is there, or nothing.
Result<std::optional<std::string>> readIfThere(const std::string& path, std::size_t limit) {
  auto text = readRegular(path, limit, O_NOFOLLOW);
  if (!text && text.error().code == Code::kNotFound) return std::optional<std::string>();
  if (!text) return fail(damaged(path, text.error()));
  return std::optional(std::move(*text));
}

// Of a mirror that was killed while it began there may be this much. Asked before its first file is made.
Status checkUsable(const std::string& path) {
  std::error_code error;
  if (fs::exists(path + kFormat, error)) return {};
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error))
    if (const std::string name = at->path().filename();
        name != "lock" && name != "mirror.json.new" && !(name == "artifacts" && fs::is_empty(*at, error)))
      return fail(Code::kInvalidArgument,
                  path + ": is not empty and no mirror; name a new directory, or that of a mirror");
  return {};
}

Status begin(const std::string& path, const std::string& instance) {
  KILN_TRY(makeDurableDirectory(path + kArtifacts, 0755));
  KILN_ASSIGN(const std::string text,
              toCanonicalJson({{"apiVersion", "kiln/v1"}, {"kind", "Mirror"}, {"instance", instance}}));
  return replaceFile(path + kFormat, text);
}

}  // namespace

Result<MirrorDirectory> MirrorDirectory::openForUpdate(const std::string& path, const std::string& instance) {
  KILN_TRY(storage::checkInstanceName(instance));
  KILN_TRY(makeDurableDirectory(path, 0755));
  KILN_TRY(checkUsable(path));
  MirrorDirectory out(path, instance);
  KILN_ASSIGN(out.lock_, openFile(path + "/lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0644, path + "/lock"));
  if (::flock(out.lock_.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(Code::kUnavailable, path + ": another process updates this mirror; wait for it, or end it");
  const auto there = readFormat(path);
  // A kill may have come between the folder of the records and mirror.json.
  if (!there && there.error().code == Code::kNotFound) {
    std::error_code error;
    fs::remove(path + kArtifacts, error);  // if it is empty
    fs::remove(path + kFormat + ".new", error);
    KILN_TRY(begin(path, instance));
    return out;
  }
  if (!there) return fail(damaged(path + kFormat, there.error()));
  if (*there == instance) return out;
  return fail(Code::kFailedPrecondition, path + ": is a mirror of instance " + inQuotes(*there) +
                                             "; name that with --instance, or another directory");
}

Result<MirrorDirectory> MirrorDirectory::open(const std::string& path) {
  auto instance = readFormat(path);
  if (!instance && instance.error().code == Code::kNotFound)
    return fail(Code::kNotFound, path + ": holds no mirror; kiln mirror update " + path + " makes one");
  if (!instance) return fail(damaged(path + kFormat, instance.error()));
  return MirrorDirectory(path, std::move(*instance));
}

std::string MirrorDirectory::recordPath(const Digest& artifact) const {
  return path_ + kArtifacts + "/" + artifact.hex() + kRecordEnd;
}

Result<State> MirrorDirectory::state() const {
  KILN_ASSIGN(const auto text, readIfThere(path_ + kState, kMaxStateBytes));
  if (!text) return State();
  auto state = State::parse(*text);
  return state ? state : fail(damaged(path_ + kState, state.error()));
}

bool MirrorDirectory::stateChanged() {
  struct stat file{};
  if (::lstat((path_ + kState).c_str(), &file) != 0) file = {};
  std::string now = std::to_string(file.st_ino) + "." + std::to_string(file.st_mtim.tv_sec) + "." +
                    std::to_string(file.st_mtim.tv_nsec) + "." + std::to_string(file.st_size);
  std::swap(seen_, now);
  return seen_ != now;
}

Result<std::string> MirrorDirectory::recalls() const {
  KILN_ASSIGN(const auto text, readIfThere(path_ + kRecalls, signing::kMaxRecallsBytes));
  return text.value_or("");
}

Result<std::optional<ArtifactRecord>> MirrorDirectory::record(const Digest& artifact) const {
  const std::string path = recordPath(artifact);
  KILN_ASSIGN(const auto text, readIfThere(path, kMaxRecordBytes));
  if (!text) return std::optional<ArtifactRecord>();
  auto record = ArtifactRecord::parse(*text);
  if (!record) return fail(damaged(path, record.error()));
  if (record->artifact.hash != artifact.hash)
    return fail(damaged(path, {Code::kDataLoss, "is of another artifact", {}}));
  return std::optional(std::move(*record));
}

Status MirrorDirectory::eachName(const std::function<void(const Digest&)>& take) const {
  std::error_code error;
  for (fs::directory_iterator at(path_ + kArtifacts, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.ends_with(kRecordEnd)) continue;  // one in the making
    const auto digest = Digest::parse("sha256:" + name.substr(0, name.size() - sizeof kRecordEnd + 1), 0);
    if (digest) take(*digest);
  }
  return error ? fail(errnoError(error.value(), path_ + kArtifacts)) : Status();
}

Status MirrorDirectory::eachRecord(const std::function<void(ArtifactRecord)>& take,
                                   const std::function<void(const Error&)>& damaged) const {
  return eachName([&](const Digest& artifact) {
    auto found = record(artifact);
    if (!found)
      damaged(found.error());
    else if (*found)
      take(std::move(**found));
  });
}

Result<std::uint64_t> MirrorDirectory::count() const {
  std::uint64_t out = 0;
  KILN_TRY(eachName([&](const Digest&) { ++out; }));
  return out;
}

Status MirrorDirectory::save(const State& state) const {
  return replaceFile(path_ + kState, state.text());
}

Status MirrorDirectory::save(const ArtifactRecord& record) const {
  return replaceFile(recordPath(record.artifact), record.text());
}

Status MirrorDirectory::saveRecalls(const std::string& recalls) const {
  return replaceFile(path_ + kRecalls, recalls);
}

}  // namespace kiln::mirror
