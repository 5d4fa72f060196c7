#include "storage/blob/cached_blob_store.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <tuple>
#include <vector>

namespace kiln::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kValidations = 1 << 16;
constexpr auto kBelieved = std::chrono::minutes(10);
constexpr std::uint64_t kShare = 4;  // no blob has more than one part in so many
constexpr char kWhat[] = "blob cache ";

const Clock& systemClock() {
  static const SystemClock clock;
  return clock;
}

// "<64 hex>.<size>"
std::optional<Digest> digestOfName(const std::string& name) {
  if (name.size() < 66 || name[64] != '.') return std::nullopt;
  std::uint64_t size = 0;
  const char* end = name.data() + name.size();
  if (std::from_chars(name.data() + 65, end, size).ptr != end) return std::nullopt;
  const auto digest = Digest::parse(name.substr(0, 64), size);
  return digest ? std::optional(*digest) : std::nullopt;
}

// The file's bytes from `offset` on, to the end of the stretch.
Status passOn(int file, std::uint64_t offset, std::uint64_t end, const ByteSink& sink) {
  std::vector<std::uint8_t> buffer(std::min<std::uint64_t>(kChunkBytes, end - offset));
  while (offset < end) {
    const auto chunk = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), end - offset));
    KILN_TRY(readExactly(file, chunk, offset, kWhat));
    KILN_TRY(sink(chunk));
    offset += chunk.size();
  }
  return {};
}

}  // namespace

struct CachedBlobStore::Flight {
  Condition ended;
  bool isOver = false, isThere = false;  // guarded by the store's mutex
};

CachedBlobStore::CachedBlobStore(BlobStore& inner, const CacheOptions& options, UniqueFd lock)
    : inner_(inner),
      directory_(options.directory),
      capacity_(options.capacity),
      lock_(std::move(lock)),
      validated_(kValidations, kBelieved, options.clock ? *options.clock : systemClock()) {}

Result<std::unique_ptr<CachedBlobStore>> CachedBlobStore::open(BlobStore& inner,
                                                               const CacheOptions& options) {
  std::error_code error;
  fs::create_directories(options.directory, error);
  if (error) return fail(errnoError(error.value(), kWhat + options.directory));
  KILN_ASSIGN(UniqueFd lock, openFile(options.directory + "/lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600,
                                      kWhat + options.directory));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(Code::kUnavailable, kWhat + options.directory + ": another process uses it");
  std::unique_ptr<CachedBlobStore> store(new CachedBlobStore(inner, options, std::move(lock)));
  KILN_TRY(store->scan());
  return store;
}

// What was left of before, by the time of its last change; what was in the making goes.
Status CachedBlobStore::scan() {
  std::vector<std::tuple<fs::file_time_type, Digest>> found;
  std::error_code error;
  for (fs::directory_iterator at(directory_, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name == "lock") continue;
    const auto digest = digestOfName(name);
    std::error_code ignored;
    if (digest && at->is_regular_file(ignored) && at->file_size(ignored) == digest->size)
      found.emplace_back(at->last_write_time(ignored), *digest);
    else
      fs::remove(at->path(), ignored);
  }
  if (error) return fail(errnoError(error.value(), kWhat + directory_));
  std::ranges::sort(found);
  const MutexLock lock(mutex_);
  for (const auto& [changed, digest] : found) keep(digest);
  return {};
}

std::string CachedBlobStore::pathOf(const Digest& digest) const {
  return fmt::format("{}/{}.{}", directory_, digest.hex(), digest.size);
}

void CachedBlobStore::keep(const Digest& digest) {
  if (const auto known = entries_.find(digest); known != entries_.end()) {
    order_.splice(order_.begin(), order_, known->second);
    return;
  }
  order_.push_front(digest);
  entries_[digest] = order_.begin();
  held_ += digest.size;
  while (held_ > capacity_) drop(Digest(order_.back()));
}

// Whoever reads the file just now has it open.
void CachedBlobStore::drop(const Digest& digest) {
  const auto known = entries_.find(digest);
  if (known == entries_.end()) return;
  ::unlink(pathOf(digest).c_str());
  validated_.forget(digest);
  order_.erase(known->second);
  entries_.erase(known);
  held_ -= digest.size;
}

bool CachedBlobStore::isGood(const Digest& digest, int file) {
  struct stat status{};
  if (::fstat(file, &status) != 0) return false;
  if (validated_.isValid(digest, status)) return true;
  Hasher hasher;
  const Status read = passOn(file, 0, digest.size, [&](Bytes bytes) -> Status {
    hasher.update(bytes);
    return {};
  });
  if (!read || hasher.finish() != digest) return false;
  validated_.remember(digest, status);
  return true;
}

UniqueFd CachedBlobStore::find(const Digest& digest) {
  {
    const MutexLock lock(mutex_);
    if (!entries_.contains(digest)) return {};
    keep(digest);
  }
  auto file = openFile(pathOf(digest), O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, kWhat);
  if (file && isGood(digest, file->get())) return std::move(*file);
  const MutexLock lock(mutex_);
  drop(digest);
  return {};
}

Status CachedBlobStore::fill(const std::string& instance, const Digest& digest) {
  const std::string path = pathOf(digest), made = path + ".new";
  const auto write = [&]() -> Status {
    KILN_ASSIGN(UniqueFd file, openFile(made, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600, kWhat));
    KILN_TRY(inner_.read(instance, digest, 0, 0,
                         [&](Bytes bytes) { return writeAll(file.get(), bytes, kWhat + directory_); }));
    KILN_TRY(file.close(kWhat));
    if (::rename(made.c_str(), path.c_str()) != 0) return fail(errnoError(errno, kWhat + directory_));
    return {};
  };
  Status written = write();
  if (!written) ::unlink(made.c_str());
  return written;
}

bool CachedBlobStore::fetch(const std::string& instance, const Digest& digest) {
  std::shared_ptr<Flight> flight;
  {
    MutexLock lock(mutex_);
    if (const auto others = flights_.find(digest); others != flights_.end()) {
      flight = others->second;
      while (!flight->isOver) flight->ended.wait(mutex_);
      return flight->isThere;
    }
    flight = flights_[digest] = std::make_shared<Flight>();
  }
  const bool filled = fill(instance, digest).has_value();
  const MutexLock lock(mutex_);
  if (filled) keep(digest);
  flight->isOver = true;
  flight->isThere = filled;
  flights_.erase(digest);
  flight->ended.notifyAll();
  return filled;
}

Status CachedBlobStore::read(const std::string& instance, const Digest& digest, std::uint64_t offset,
                             std::uint64_t length, const ByteSink& sink) {
  const auto plainly = [&] { return inner_.read(instance, digest, offset, length, sink); };
  if (digest.size == 0 || digest.size > capacity_ / kShare || offset >= digest.size) return plainly();
  KILN_ASSIGN(const bool may, hasBlob(inner_, instance, digest));
  if (!may) return plainly();  // says so in its own words
  UniqueFd file = find(digest);
  if (!file && fetch(instance, digest)) file = find(digest);
  if (!file) return plainly();
  const std::uint64_t end = length == 0 ? digest.size : offset + std::min(length, digest.size - offset);
  return passOn(file.get(), offset, end, sink);
}

Result<std::unique_ptr<BlobWriter>> CachedBlobStore::beginWrite(const std::string& instance,
                                                                const Digest& digest) {
  return inner_.beginWrite(instance, digest);
}

Result<std::vector<Digest>> CachedBlobStore::findMissing(const std::string& instance,
                                                         std::span<const Digest> digests) {
  return inner_.findMissing(instance, digests);
}

std::vector<Status> CachedBlobStore::putBatch(const std::string& instance, std::span<const BlobBytes> blobs) {
  return inner_.putBatch(instance, blobs);
}

}  // namespace kiln::storage
