#include "signing/follow/tile_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include "manifest/base/durable_file.h"
#include "signing/follow/tile_limits.h"
#include "signing/keys/files.h"

namespace kiln::signing {
namespace {

constexpr char kCheckpoint[] = "checkpoint";
constexpr char kStaged[] = "checkpoint.staged";

std::string parentOf(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

// Makes what is missing of `path` below `root`; names the directories that gained an entry.
Status makeDirectories(const std::string& root, const std::string& path, std::set<std::string>& changed) {
  for (auto slash = path.find('/', root.size() + 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (!std::filesystem::exists(part)) {
      KILN_TRY(makeDirectory(part, 0755));
      changed.insert(parentOf(part));
    }
    if (slash == path.npos) return {};
  }
}

// replaceFile() of several, path to content. Their write-back begins together and each folder is synced once,
// so that they take little longer than one. After an error some of them may be new.
Status replaceAll(const std::map<std::string, std::string_view>& files) {
  constexpr char kFresh[] = ".new";
  std::vector<UniqueFd> written;
  for (const auto& [path, content] : files) {
    const std::string fresh = path + kFresh;
    ::unlink(fresh.c_str());  // of a process that was killed, or a trap
    KILN_ASSIGN(UniqueFd file, openFile(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644, fresh));
    KILN_TRY(writeAll(file.get(), asBytes(content), fresh));
    ::sync_file_range(file.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
    written.push_back(std::move(file));
  }
  std::set<std::string> folders;
  auto file = written.begin();
  for (const auto& [path, content] : files) {
    const std::string fresh = path + kFresh;
    KILN_TRY(syncFile(file->get(), fresh));
    KILN_TRY((file++)->close(fresh));
    if (::rename(fresh.c_str(), path.c_str()) != 0) return fail(errnoError(errno, path));
    folders.insert(folderOf(path));
  }
  for (const std::string& folder : folders) KILN_TRY(syncDirectory(folder));
  return {};
}

}  // namespace

Result<std::string> TileDirectory::read(const TilePath& path) {
  auto bytes = readFile(path);
  if (bytes || bytes.error().code != Code::kNotFound) return bytes;
  const auto wider = widerThan(path);
  if (!wider) return bytes;
  KILN_ASSIGN(const std::string more, readFile(*wider));
  return cutTile(more, *wider, path.width);
}

std::optional<TilePath> TileDirectory::widerThan(const TilePath& path) const {
  if (path.isFull()) return std::nullopt;
  const std::string full = directory_ + "/" + path.full().text();
  std::optional<TilePath> found;
  std::error_code error;
  if (std::filesystem::exists(full, error)) found = path.full();
  for (std::filesystem::directory_iterator at(full + ".p", error), end; !error && at != end;
       at.increment(error)) {
    auto one = TilePath::parse(path.full().text() + ".p/" + at->path().filename().string());
    if (one && one->width > path.width && (!found || one->width < found->width)) found = *one;
  }
  return found;
}

Result<std::string> TileDirectory::readFile(const TilePath& path) const {
  const std::string name = directory_ + "/" + path.text();
  KILN_ASSIGN(const UniqueFd file, openFile(name, O_RDONLY | O_NONBLOCK, 0, name));
  auto text = readToEnd(file.get(), kMaxTileBytes, name);
  if (!text && text.error().code == Code::kInvalidArgument)
    return fail(Code::kDataLoss, name + ": not a tile");
  return text;
}

Result<std::string> TileDirectory::checkpoint() const {
  return readTextFile(directory_ + "/" + kCheckpoint, kMaxNoteBytes);
}

Result<WritableTiles> WritableTiles::open(const std::string& directory) {
  KILN_TRY(makeDurableDirectory(directory, 0755));
  KILN_ASSIGN(UniqueFd lock, openFile(directory + "/lock", O_RDWR | O_CREAT, 0600, directory));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(Code::kUnavailable, directory + ": another kiln-log writes here");
  return WritableTiles(directory, std::move(lock));
}

TimePoint WritableTiles::publishedAt() const {
  struct stat found{};
  if (::stat((tiles_.directory() + "/" + kCheckpoint).c_str(), &found) != 0) return {};
  return TimePoint(std::chrono::seconds(found.st_mtim.tv_sec));
}

Status WritableTiles::write(const TileMap& tiles) {
  std::set<std::string> changed;
  std::map<std::string, std::string_view> files;
  for (const auto& [path, bytes] : tiles) {
    const std::string name = tiles_.directory() + "/" + path.text();
    KILN_TRY(makeDirectories(tiles_.directory(), parentOf(name), changed));
    files.emplace(name, bytes);
  }
  KILN_TRY(replaceAll(files));
  for (const std::string& directory : changed) KILN_TRY(syncDirectory(directory));
  return {};
}

Status WritableTiles::stage(const std::string& note) {
  return replaceFile(tiles_.directory() + "/" + kStaged, note);
}

std::optional<std::string> WritableTiles::staged() const {
  auto note = readTextFile(tiles_.directory() + "/" + kStaged, kMaxNoteBytes);
  return note ? std::optional(*note) : std::nullopt;
}

Status WritableTiles::publish(const std::string& note) {
  return replaceFile(tiles_.directory() + "/" + kCheckpoint, note);
}

void WritableTiles::prune(const TileMap& tiles) {
  for (const auto& [path, bytes] : tiles) {
    if (!path.isFull()) continue;
    std::error_code ignored;
    std::filesystem::remove_all(tiles_.directory() + "/" + path.text() + ".p", ignored);
  }
}

}  // namespace kiln::signing
