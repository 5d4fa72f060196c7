#include "api/node/staging.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <set>

namespace kiln::node {
namespace fs = std::filesystem;
namespace {

// Write-back starts this often while a large file arrives, so that its sync at the end has little left to do.
constexpr std::uint64_t kFlushBytes = 8 << 20;

tl::unexpected<Error> damaged(std::string message) {
  return fail(Error{Code::kDataLoss, std::move(message), R"({"exitCode":5})"});
}

}  // namespace

Status streamFile(const std::string& path, const storage::ByteSink& sink) {
  KILN_ASSIGN(const UniqueFd file, openFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, path));
  std::vector<std::uint8_t> buffer(kChunkBytes);
  for (;;) {
    const auto count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errnoError(errno, path));
    if (count == 0) return {};
    KILN_TRY(sink(Bytes(buffer.data(), static_cast<std::size_t>(count))));
  }
}

Result<Staging> Staging::begin(const std::string& destination) {
  KILN_ASSIGN(auto directory, NewDirectory::make(destination));
  return Staging(std::move(directory));
}

Result<UniqueFd> Staging::create(const std::string& name) {
  for (auto slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1))
    KILN_TRY(makeDirectory(path() + "/" + name.substr(0, slash), 0755));  // whatever the umask
  const std::string full = path() + "/" + name;
  return openFile(full, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0444, full);
}

Status Staging::write(const std::string& name, Bytes bytes) {
  const std::string place = path() + "/" + name;
  KILN_ASSIGN(const UniqueFd file, create(name));
  KILN_TRY(writeAll(file.get(), bytes, place));
  return syncFile(file.get(), place);
}

Status Staging::download(const std::string& name, const Digest& digest, storage::BlobStore& store,
                         const std::string& instance, const storage::ByteSink& sink) {
  return receive(name, digest, sink,
                 [&](const storage::ByteSink& take) { return store.read(instance, digest, 0, 0, take); });
}

Status Staging::copy(const std::string& name, const Digest& digest, const std::string& path) {
  return receive(name, digest, nullptr,
                 [&](const storage::ByteSink& take) { return streamFile(path, take); });
}

Status Staging::receive(const std::string& name, const Digest& digest, const storage::ByteSink& sink,
                        const std::function<Status(const storage::ByteSink&)>& source) {
  const std::string place = path() + "/" + name;
  KILN_ASSIGN(const UniqueFd file, create(name));
  std::optional<Hasher> hasher;  // where the sink does not
  if (!sink) hasher.emplace();
  std::uint64_t flushed = 0;
  Status written;  // the fault of this machine's disk, not of the source
  std::uint64_t received = 0;
  const auto read = source([&](Bytes bytes) -> Status {
    if (bytes.size() > digest.size - received) {
      return damaged("more bytes arrive than the " + std::to_string(digest.size) + " declared");
    }
    received += bytes.size();
    if (hasher) hasher->update(bytes);
    written = writeAll(file.get(), bytes, place);
    KILN_TRY(written);
    if (received - flushed >= kFlushBytes) {
      ::sync_file_range(file.get(), static_cast<off_t>(flushed), static_cast<off_t>(received - flushed),
                        SYNC_FILE_RANGE_WRITE);
      flushed = received;
    }
    return sink ? sink(bytes) : Status{};
  });
  KILN_TRY(written);
  if (!read) return fail(read.error().in(name));
  if (received != digest.size) {
    return damaged(name + ": truncated: " + std::to_string(received) + " of " + std::to_string(digest.size) +
                   " bytes arrived");
  }
  if (hasher && hasher->finish().hash != digest.hash) {
    return damaged(name + ": the bytes that arrived are not " + digest.text());
  }
  return syncFile(file.get(), place);
}

Status Staging::commit() {
  std::error_code error;
  std::set<std::string> directories{path()};
  for (fs::recursive_directory_iterator it(path(), error), end; !error && it != end; it.increment(error)) {
    if (it->is_directory(error)) directories.insert(it->path().string());
  }
  if (error) return fail(errnoError(error.value(), path()));
  for (const auto& directory : directories) KILN_TRY(syncDirectory(directory));
  return directory_.keep(0755);  // as a plain mkdir would have made it; the files are read-only for everybody
}

}  // namespace kiln::node
