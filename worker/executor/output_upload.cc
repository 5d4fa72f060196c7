#include "worker/executor/output_upload.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <set>
#include <thread>
#include <vector>

namespace kiln::executor {
namespace {

constexpr std::size_t kInlineLog = 64 << 10;
constexpr std::size_t kBuffer = 1 << 20;

// Hands the file's bytes to `take` until its end; more than `size` is kDataLoss.
template <class Take>
Status readFile(const sandbox::OutputFile& file, std::vector<std::uint8_t>& buffer, const Take& take) {
  std::uint64_t total = 0;
  while (true) {
    const ssize_t got = pread(file.fd, buffer.data(), buffer.size(), static_cast<off_t>(total));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errnoError(errno, "output " + file.path));
    if (got == 0) break;
    total += static_cast<std::uint64_t>(got);
    if (total > file.size) break;
    KILN_TRY(take(Bytes(buffer.data(), static_cast<std::size_t>(got))));
  }
  if (total != file.size) return fail(Code::kDataLoss, "output " + file.path + " changed while it was read");
  return {};
}

// What was made in minutes is not given up because a coordinator went away under its upload: another one, or
// the same after its restart, takes it.
template <class Upload>
auto repeated(Upload upload) {
  constexpr std::chrono::milliseconds kLast{1600};  // 3 s in all
  for (std::chrono::milliseconds pause{100};; pause *= 2) {
    auto done = upload();
    if (done || done.error().code != Code::kUnavailable || pause > kLast) return done;
    std::this_thread::sleep_for(pause);
  }
}

Status uploadFile(storage::BlobStore& store, const std::string& instance, const Digest& digest,
                  const sandbox::OutputFile& file, std::vector<std::uint8_t>& buffer) {
  KILN_ASSIGN(const auto writer, store.beginWrite(instance, digest));
  KILN_TRY(readFile(file, buffer, [&](Bytes bytes) { return writer->write(bytes); }));
  return writer->commit();
}

// What the store lacks of the files of `dir`, which have these digests in the order of the walk: nothing can
// have changed, and the store checks every digest.
Status uploadMissing(storage::BlobStore& store, const std::string& instance, const std::string& dir,
                     const sandbox::Limits& limits, const std::vector<Digest>& digests) {
  KILN_ASSIGN(const std::vector<Digest> absent, store.findMissing(instance, digests));
  std::set<Digest> missing(absent.begin(), absent.end());
  if (missing.empty()) return {};
  std::vector<std::uint8_t> buffer(kBuffer);
  std::size_t next = 0;
  KILN_TRY(sandbox::visitOutputs(dir, limits, [&](const sandbox::OutputFile& file) -> Status {
    if (next >= digests.size())
      return fail(Code::kDataLoss, "output " + file.path + " appeared after the action");
    const Digest& digest = digests[next++];
    if (missing.erase(digest) == 0) return {};
    const Status status = uploadFile(store, instance, digest, file, buffer);
    if (!status) return fail(status.error().in("upload of " + file.path));
    return {};
  }));
  if (next != digests.size()) return fail(Code::kDataLoss, "an output vanished after the action");
  return {};
}

// The log itself if it is short, else its digest once it is in the store.
Status uploadLog(storage::BlobStore& store, const std::string& instance, std::string text, std::string* raw,
                 const std::function<reapi::Digest*()>& digest) {
  if (text.size() <= kInlineLog) {
    *raw = std::move(text);
    return {};
  }
  KILN_ASSIGN(const Digest stored,
              repeated([&] { return storage::putBlob(store, instance, asBytes(text)); }));
  *digest() = toProto(stored);
  return {};
}

}  // namespace

Result<Digest> digestOfOutput(const sandbox::OutputFile& file) {
  std::vector<std::uint8_t> buffer(std::clamp<std::uint64_t>(file.size, 1, kBuffer));
  Hasher hasher;
  KILN_TRY(readFile(file, buffer, [&](Bytes bytes) -> Status {
    hasher.update(bytes);
    return {};
  }));
  return hasher.finish();
}

Status uploadItems(storage::BlobStore& store, const std::string& instance,
                   std::span<const storage::UploadItem> items) {
  const auto done = repeated([&] { return storage::uploadMissing(store, instance, items); });
  if (!done) return fail(done.error());
  return {};
}

Status uploadOutputs(storage::BlobStore& store, const std::string& instance, const std::string& dir,
                     const std::string& prefix, const sandbox::Limits& limits, reapi::ActionResult* result) {
  std::vector<Digest> digests;
  KILN_TRY(sandbox::visitOutputs(dir, limits, [&](const sandbox::OutputFile& file) -> Status {
    KILN_ASSIGN(const Digest digest, digestOfOutput(file));
    digests.push_back(digest);
    reapi::OutputFile* out = result->add_output_files();
    out->set_path(prefix + "/" + file.path);
    out->set_is_executable(file.executable);
    *out->mutable_digest() = toProto(digests.back());
    return {};
  }));
  return repeated([&] { return uploadMissing(store, instance, dir, limits, digests); });
}

Result<Digest> uploadPolicy(storage::BlobStore& store, const std::string& instance,
                            const sandbox::Policy& policy) {
  storage::UploadItem item;
  KILN_ASSIGN(item.bytes, toCanonicalJson(policy.toJson()));
  item.digest = digestOf(item.bytes);
  const Status done = uploadItems(store, instance, {&item, 1});
  if (!done) return fail(done.error().in("upload of the sandbox policy"));
  return item.digest;
}

Status uploadLogs(storage::BlobStore& store, const std::string& instance, std::string out, std::string err,
                  reapi::ActionResult* result) {
  KILN_TRY(uploadLog(store, instance, std::move(out), result->mutable_stdout_raw(),
                     [&] { return result->mutable_stdout_digest(); }));
  return uploadLog(store, instance, std::move(err), result->mutable_stderr_raw(),
                   [&] { return result->mutable_stderr_digest(); });
}

}  // namespace kiln::executor
