#include "storage/blob/local_blob_store.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>

#include "storage/blob/local_blob_writer.h"
#include "storage/blob/local_sweep.h"

namespace kiln::storage {
namespace {

constexpr std::size_t kGroupFiles = 128;              // in one group commit; each has two descriptors open
constexpr std::size_t kSyncfsFiles = 8;               // from this many on, syncing the file system is cheaper
constexpr std::uint64_t kPreallocateBytes = 1 << 20;  // blobs from this size on get their extents up front
constexpr std::uint64_t kFirstRoom = 8 << 20;         // kept for a blob before any of it has arrived

const Clock& systemClock() {
  static const SystemClock clock;
  return clock;
}

Error notFound(const Digest& digest) {
  return {Code::kNotFound, fmt::format("blob {} ({} bytes) is not in the store", digest.text(), digest.size)};
}

Status passOn(int fd, std::uint64_t offset, std::uint64_t end, const ByteSink& sink) {
  std::vector<std::uint8_t> buffer(std::min<std::uint64_t>(kChunkBytes, end - offset));
  while (offset < end) {
    auto chunk = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), end - offset));
    KILN_TRY(readExactly(fd, chunk, offset, "blob store: reading"));
    KILN_TRY(sink(chunk));
    offset += chunk.size();
  }
  return {};
}

// By the mode of a file others see whether its name would outlast a power cut. A new mode may be lost with
// the power: then the name is synced once more.
constexpr mode_t kNotSynced = 0400, kBlobSynced = 0444, kReferenceSynced = 0600;

// What else lies under a name, a link to a file too, is not the store's.
bool isFile(const std::string& path, struct stat& file) {
  return ::lstat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode);
}

bool isSynced(const struct stat& file) {
  return (file.st_mode & 0777) != kNotSynced;
}

Status touch(const std::string& path, TimePoint now) {
  const auto since = now.time_since_epoch();
  const auto whole = std::chrono::floor<std::chrono::seconds>(since);
  const timespec at{static_cast<time_t>(whole.count()), static_cast<long>((since - whole).count() * 1000)};
  const timespec times[2] = {at, at};
  if (::utimensat(AT_FDCWD, path.c_str(), times, 0) != 0)
    return fail(errnoError(errno, "blob store: reference"));
  return {};
}

}  // namespace

struct LocalBlobStore::Opened {
  UniqueFd fd;
  struct stat file{};
};

LocalBlobStore::LocalBlobStore(const LocalBlobStoreOptions& options,
                               std::unique_ptr<StoreDirectory> directory, std::uint64_t used,
                               const Clock& clock)
    : readOnly_(options.readOnly),
      clock_(clock),
      directory_(std::move(directory)),
      space_(options.freeSpace ? options.freeSpace : freeSpaceOf(directory_->root()), options.capacity, used,
             options.keepFree),
      validated_(options.validationEntries, options.validationTtl, clock) {}

Result<std::unique_ptr<LocalBlobStore>> LocalBlobStore::open(const LocalBlobStoreOptions& options) {
  KILN_ASSIGN(auto directory, StoreDirectory::open(options.directory, options.readOnly));
  std::uint64_t used = 0;
  if (options.capacity != 0 && !options.readOnly) {
    KILN_ASSIGN(used, directory->usedBytes());
  }
  const Clock& clock = options.clock ? *options.clock : systemClock();
  return std::unique_ptr<LocalBlobStore>(new LocalBlobStore(options, std::move(directory), used, clock));
}

Result<LocalBlobStore::Staged> LocalBlobStore::stage(const Digest& digest) {
  Staged staged;
  staged.digest = digest;
  KILN_ASSIGN(staged.space, space_.reserve(digest.size));
  // That it fits is told at its start; what is kept for it grows with what has arrived, for whoever declares
  // much and sends nothing would keep the room from everybody else.
  staged.space.shrink(std::min(digest.size, kFirstRoom));
  staged.path = directory_->tempPath();
  KILN_ASSIGN(staged.fd,
              openFile(staged.path, O_RDWR | O_CREAT | O_EXCL, kNotSynced, "blob store: new file"));
  if (digest.size >= kPreallocateBytes) KILN_TRY(allocate(staged, 0));
  return staged;
}

// Where the file system cannot, what is written takes its room as it comes.
Status LocalBlobStore::allocate(Staged& staged, std::uint64_t from) {
  const std::uint64_t to = staged.space.bytes();
  if (::fallocate(staged.fd.get(), 0, static_cast<off_t>(from), static_cast<off_t>(to - from)) == 0)
    staged.space.place(to);
  else if (errno != EOPNOTSUPP)
    return fail(errnoError(errno, fmt::format("blob store: reserving {} bytes", to)));
  return {};
}

Status LocalBlobStore::makeRoom(Staged& staged, std::uint64_t bytes) {
  const std::uint64_t before = staged.space.bytes();
  if (bytes <= before) return {};
  KILN_TRY(staged.space.grow(std::min(staged.digest.size, 2 * bytes)));
  return allocate(staged, before);
}

Result<std::unique_ptr<BlobWriter>> LocalBlobStore::beginWrite(const std::string& instance,
                                                               const Digest& digest) {
  if (readOnly_) return fail(Code::kPermissionDenied, "the blob store was opened read-only");
  if (digest.size == 0) return std::make_unique<EmptyBlobWriter>(digest);
  KILN_TRY(directory_->prepare(instance));
  KILN_ASSIGN(Staged staged, stage(digest));
  return std::make_unique<LocalBlobWriter>(*this, instance, std::move(staged));
}

Status LocalBlobStore::name(Staged& staged, const std::string& references) {
  std::string path = directory_->blobPath(staged.digest);
  const TimePoint now = clock_.now();
  KILN_TRY(touch(staged.path, now));
  const std::string reference = references + "/" + staged.digest.hex();
  directory_->clear(path);
  directory_->clear(reference);
  bool replaces = ::access(path.c_str(), F_OK) == 0;
  if (::rename(staged.path.c_str(), path.c_str()) != 0) return fail(errnoError(errno, "blob store: rename"));
  staged.path.clear();
  if (!replaces) staged.space.keep();
  KILN_ASSIGN(staged.reference, openFile(reference, O_RDONLY | O_CREAT, kNotSynced, "blob store: reference"));
  return touch(reference, now);
}

// Where that fails, whoever asks for the blob syncs its names again.
void LocalBlobStore::markSynced(int blob, int reference) {
  static_cast<void>(::fchmod(blob, kBlobSynced));
  static_cast<void>(::fchmod(reference, kReferenceSynced));
}

Status LocalBlobStore::publish(const std::string& instance, Staged& staged) {
  return publishFew(instance, std::span(&staged, 1)).front();
}

// What is said of all that has no error of its own yet.
void LocalBlobStore::nameAll(std::span<Staged> group, const std::string& references,
                             std::vector<Status>& statuses) {
  const auto names = directory_->lockNames(StoreDirectory::Sharing::kShared);
  for (std::size_t i = 0; i < group.size(); ++i)
    if (statuses[i]) statuses[i] = names ? name(group[i], references) : fail(names.error());
}

// The write-back of all files begins before the first is waited for, so that the others find little left to
// do; and a directory is synced once, however many of the names are in it.
std::vector<Status> LocalBlobStore::publishFew(const std::string& instance, std::span<Staged> group) {
  std::vector<Status> statuses(group.size());
  const auto references = directory_->referenceDirectory(instance);
  if (!references) return std::vector<Status>(group.size(), fail(references.error()));
  for (const Staged& staged : group)
    if (group.size() > 1) ::sync_file_range(staged.fd.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
  for (std::size_t i = 0; i < group.size(); ++i)
    statuses[i] = syncFile(group[i].fd.get(), "blob store: fsync");
  nameAll(group, *references, statuses);
  std::map<std::string, Status> synced;
  const auto sync = [&](const std::string& directory) {
    const auto [at, isNew] = synced.try_emplace(directory);
    if (isNew) at->second = syncDirectory(directory);
    return at->second;
  };
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (statuses[i]) statuses[i] = sync(directory_->blobShard(group[i].digest));
    if (statuses[i]) statuses[i] = sync(*references);
    if (statuses[i]) finish(group[i]);
  }
  return statuses;
}

// Each fsync waits for the disk to empty its cache, so a group syncs the file system twice instead of every
// file and directory: once for the data, then for the names.
std::vector<Status> LocalBlobStore::publishGroup(const std::string& instance, std::span<Staged> group) {
  std::vector<Status> statuses(group.size());
  const int anyFile = group.front().fd.get();
  const auto publishAll = [&]() -> Status {
    KILN_ASSIGN(std::string references, directory_->referenceDirectory(instance));
    if (::syncfs(anyFile) != 0) return fail(errnoError(errno, "blob store: syncfs"));
    nameAll(group, references, statuses);
    if (::syncfs(anyFile) != 0) return fail(errnoError(errno, "blob store: syncfs"));
    return {};
  };
  if (Status named = publishAll(); !named) std::fill(statuses.begin(), statuses.end(), named);
  for (std::size_t i = 0; i < group.size(); ++i)
    if (statuses[i]) finish(group[i]);
  return statuses;
}

void LocalBlobStore::finish(const Staged& staged) {
  markSynced(staged.fd.get(), staged.reference.get());
  struct stat file{};
  if (::fstat(staged.fd.get(), &file) == 0) validated_.remember(staged.digest, file);
}

std::vector<Status> LocalBlobStore::putBatch(const std::string& instance, std::span<const BlobBytes> blobs) {
  std::vector<Status> statuses(blobs.size());
  auto prepare = [&](const BlobBytes& blob) -> Result<Staged> {
    if (readOnly_) return fail(Code::kPermissionDenied, "the blob store was opened read-only");
    KILN_TRY(directory_->prepare(instance));
    if (Digest actual = digestOf(blob.bytes); actual != blob.digest)
      return fail(wrongDigest(blob.digest, actual));
    KILN_ASSIGN(Staged staged, stage(blob.digest));
    KILN_TRY(makeRoom(staged, blob.bytes.size()));
    KILN_TRY(writeAll(staged.fd.get(), blob.bytes, "blob store: writing"));
    staged.space.place(blob.bytes.size());
    return staged;
  };
  for (std::size_t start = 0; start < blobs.size(); start += kGroupFiles) {
    std::vector<Staged> group;
    std::vector<std::size_t> members;
    for (std::size_t i = start; i < std::min(blobs.size(), start + kGroupFiles); ++i) {
      if (blobs[i].digest == digestOf("") && blobs[i].bytes.empty()) continue;
      auto staged = prepare(blobs[i]);
      if (!staged) {
        statuses[i] = fail(staged.error());
        continue;
      }
      group.push_back(std::move(*staged));
      members.push_back(i);
    }
    if (group.empty()) continue;
    std::vector<Status> published =
        group.size() >= kSyncfsFiles ? publishGroup(instance, group) : publishFew(instance, group);
    for (std::size_t i = 0; i < members.size(); ++i) statuses[members[i]] = std::move(published[i]);
  }
  return statuses;
}

bool LocalBlobStore::isVisible(const std::string& reference, const Digest& digest) const {
  struct stat file{}, mark{};
  return isFile(reference, mark) && isFile(directory_->blobPath(digest), file) &&
         static_cast<std::uint64_t>(file.st_size) == digest.size;
}

bool LocalBlobStore::syncNames(const std::string& reference, const Digest& digest) const {
  struct stat bytes{}, mark{};
  if (!isFile(directory_->blobPath(digest), bytes) || !isFile(reference, mark)) return false;
  if (isSynced(bytes) && isSynced(mark)) return true;
  // Opened before: what is marked is what had these names when they were synced.
  const auto blob = openFile(directory_->blobPath(digest), O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, "blob");
  const auto refers = openFile(reference, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, "reference");
  if (!blob || !refers || !syncDirectory(directory_->blobShard(digest)) ||
      !syncDirectory(std::filesystem::path(reference).parent_path()))
    return false;
  if (!readOnly_) markSynced(blob->get(), refers->get());
  return true;
}

bool LocalBlobStore::promise(const std::string& reference, const Digest& digest) const {
  if (!isVisible(reference, digest) || !syncNames(reference, digest)) return false;
  struct stat file{};
  if (readOnly_ || !isFile(reference, file)) return readOnly_;
  const TimePoint now = clock_.now();
  return modifiedAt(file) > now - StoreDirectory::kTouchAfter || touch(reference, now).has_value();
}

Result<std::vector<Digest>> LocalBlobStore::findMissing(const std::string& instance,
                                                        std::span<const Digest> digests) {
  std::vector<Digest> missing;
  const Digest empty = digestOf("");
  UniqueFd names;
  if (!readOnly_) {
    KILN_ASSIGN(names, directory_->lockNames(StoreDirectory::Sharing::kShared));
  }
  for (const Digest& digest : digests) {
    KILN_ASSIGN(std::string reference, directory_->referencePath(instance, digest));
    if (digest != empty && !promise(reference, digest)) missing.push_back(digest);
  }
  return missing;
}

Result<LocalBlobStore::Opened> LocalBlobStore::openBlob(const std::string& instance, const Digest& digest) {
  KILN_ASSIGN(std::string reference, directory_->referencePath(instance, digest));
  if (!isVisible(reference, digest)) return fail(notFound(digest));
  Opened blob;
  // One that was quarantined since is kNotFound too.
  KILN_ASSIGN(blob.fd, openFile(directory_->blobPath(digest), O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0,
                                "blob " + digest.text()));
  if (::fstat(blob.fd.get(), &blob.file) != 0) return fail(errnoError(errno, "blob store: stat"));
  return blob;
}

Result<SweepReport> LocalBlobStore::sweep(const NeededBlobs& needed, const SweepOptions& options) {
  if (readOnly_) return fail(Code::kPermissionDenied, "the blob store was opened read-only");
  return sweepDirectory(*directory_, needed, options, clock_.now(), [&](const Digest& digest) {
    validated_.forget(digest);
    space_.release(digest.size);
  });
}

Error LocalBlobStore::quarantine(const Digest& digest, const Opened& blob) {
  validated_.forget(digest);
  Error error{Code::kDataLoss,
              fmt::format("blob {} in the store no longer has its hash; upload it again", digest.text())};
  if (readOnly_) return error;
  // Only the file that was read: another process may have replaced it by a good one.
  std::string path = directory_->blobPath(digest);
  struct stat now{};
  if (isFile(path, now) && now.st_ino == blob.file.st_ino && now.st_dev == blob.file.st_dev &&
      ::rename(path.c_str(), directory_->quarantinePath(digest).c_str()) == 0)
    space_.release(digest.size);
  return error;
}

Status LocalBlobStore::verify(const Digest& digest, const Opened& blob) {
  if (validated_.isValid(digest, blob.file)) return {};
  return streamVerifying(digest, blob, [](Bytes) -> Status { return {}; });
}

// Hashes while passing on, one chunk behind: the last chunk leaves only once the whole blob has proved good.
Status LocalBlobStore::streamVerifying(const Digest& digest, const Opened& blob, const ByteSink& sink) {
  Hasher hasher;
  std::vector<std::uint8_t> buffer(std::min<std::uint64_t>(kChunkBytes, digest.size));
  std::uint64_t offset = 0;
  while (offset < digest.size) {
    auto chunk = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), digest.size - offset));
    Status got = readExactly(blob.fd.get(), chunk, offset, "blob store: reading");
    if (!got) return fail(got.error().code == Code::kDataLoss ? quarantine(digest, blob) : got.error());
    hasher.update(chunk);
    offset += chunk.size();
    if (offset == digest.size) {
      if (hasher.finish() != digest) return fail(quarantine(digest, blob));
      validated_.remember(digest, blob.file);
    }
    KILN_TRY(sink(chunk));
  }
  return {};
}

Status LocalBlobStore::read(const std::string& instance, const Digest& digest, std::uint64_t offset,
                            std::uint64_t length, const ByteSink& sink) {
  if (offset > digest.size)
    return fail(Code::kOutOfRange, fmt::format("offset {} in a blob of {} bytes", offset, digest.size));
  if (digest == digestOf("")) return {};
  KILN_ASSIGN(Opened blob, openBlob(instance, digest));
  std::uint64_t end = length == 0 ? digest.size : offset + std::min(length, digest.size - offset);
  if (offset == 0 && end == digest.size && !validated_.isValid(digest, blob.file))
    return streamVerifying(digest, blob, sink);
  KILN_TRY(verify(digest, blob));
  return passOn(blob.fd.get(), offset, end, sink);
}

Result<VerifiedFile> LocalBlobStore::openVerified(const std::string& instance, const Digest& digest) {
  if (digest == digestOf("")) return VerifiedFile{};
  KILN_ASSIGN(Opened blob, openBlob(instance, digest));
  KILN_TRY(verify(digest, blob));
  return VerifiedFile{std::move(blob.fd), digest.size};
}

}  // namespace kiln::storage
