#include "storage/remote/remote_blob_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "storage/remote/read_stream.h"
#include "storage/remote/remote_writer.h"
#include "storage/remote/resource_name.h"
#include "storage/remote/status.h"
#include "storage/remote/wire_limits.h"

namespace kiln::storage {
namespace {

// Hashes what arrives and passes it on one message later, so that the last bytes of a wrong blob never leave.
class VerifyingSink {
 public:
  VerifyingSink(const Digest& digest, const ByteSink& sink) : digest_(digest), sink_(sink) {}

  Status take(std::string data) {
    received_ += data.size();
    if (received_ > digest_.size) return fail(mismatch());
    hasher_.update(asBytes(data));
    std::swap(held_, data);
    return data.empty() ? Status{} : sink_(asBytes(data));
  }

  Status finish() {
    if (hasher_.finish() != digest_) return fail(mismatch());
    return held_.empty() ? Status{} : sink_(asBytes(held_));
  }

 private:
  Error mismatch() const {
    return {Code::kDataLoss,
            fmt::format("what the server sent for {} does not have that hash", digest_.text())};
  }

  const Digest& digest_;
  const ByteSink& sink_;
  Hasher hasher_;
  std::string held_;
  std::uint64_t received_ = 0;
};

}  // namespace

// What has come of one read, from one server or from several.
class RemoteBlobStore::Download {
 public:
  Download(const Digest& digest, std::uint64_t offset, std::uint64_t length, const ByteSink& sink,
           bool hashes)
      : digest_(digest),
        offset_(offset),
        checks_(hashes && offset == 0 && (length == 0 || length >= digest.size)),
        left_(offset > digest.size ? 0 : digest.size - offset),
        limit_(std::min(length, digest.size)),
        sink_(sink),
        checked_(digest, sink) {
    if (length != 0) left_ = std::min(left_, length);
  }

  google::bytestream::ReadRequest next(const std::string& instance) const {
    google::bytestream::ReadRequest request;
    request.set_resource_name(readName(instance, digest_));
    request.set_read_offset(static_cast<std::int64_t>(offset_));
    request.set_read_limit(static_cast<std::int64_t>(limit_));
    return request;
  }

  // Success once it has what it is to have; its errors are final.
  Status take(std::string data) {
    if (data.size() > left_)
      return local_ =
                 fail(Code::kDataLoss,
                      fmt::format("the server sent more bytes of {} than were asked for", digest_.text()));
    left_ -= data.size();
    offset_ += data.size();
    if (limit_ != 0) limit_ = left_;
    return local_ = checks_ ? checked_.take(std::move(data)) : sink_(asBytes(data));
  }
  const Status& local() const { return local_; }
  // A server's last word was lost, and its last byte was not.
  bool hasAll() const { return left_ == 0 && began_; }
  void begin() { began_ = true; }
  const Digest& digest() const { return digest_; }

  Status finish() {
    if (left_ != 0)
      return fail(Code::kDataLoss,
                  fmt::format("the server sent {} bytes of {} too few", left_, digest_.text()));
    return checks_ ? checked_.finish() : Status{};
  }

 private:
  const Digest& digest_;
  std::uint64_t offset_;
  const bool checks_;
  std::uint64_t left_, limit_;  // still to come; the same as servers are asked for it, 0 being all
  const ByteSink& sink_;
  VerifyingSink checked_;
  Status local_;
  bool began_ = false;
};

RemoteBlobStore::RemoteBlobStore(std::shared_ptr<grpc::Channel> channel, RemoteBlobStoreOptions options)
    : RemoteBlobStore(std::make_shared<Endpoints>(std::move(channel)), options) {}

RemoteBlobStore::RemoteBlobStore(std::shared_ptr<Endpoints> endpoints, RemoteBlobStoreOptions options)
    : endpoints_(std::move(endpoints)), options_(options) {
  for (const Endpoint& one : endpoints_->all())
    stubs_.push_back({reapi::ContentAddressableStorage::NewStub(one.channel),
                      google::bytestream::ByteStream::NewStub(one.channel)});
}

std::chrono::seconds longestTransfer(std::uint64_t bytes) {
  constexpr std::uint64_t kSlowest = 64 << 10, kMost = std::uint64_t{1} << 47;  // bytes a second; bytes
  return std::chrono::seconds(std::min(bytes, kMost) / kSlowest + 1);
}

// A server that falls silent, or says nothing at length, is not waited for without end.
std::chrono::system_clock::time_point RemoteBlobStore::streamDeadline(std::uint64_t bytes) const {
  return std::chrono::system_clock::now() + options_.callTimeout + longestTransfer(bytes);
}

Result<std::unique_ptr<BlobWriter>> RemoteBlobStore::beginWrite(const std::string& instance,
                                                                const Digest& digest) {
  const Endpoint& at = endpoints_->current();
  return std::make_unique<RemoteWriter>(
      *stubs_[at.place].streams, writeName(instance, digest), digest, streamDeadline(digest.size),
      [endpoints = endpoints_, &at](const Status& verdict) {
        !verdict&& isAway(verdict.error()) ? endpoints->failed(at) : endpoints->answered(at);
      });
}

Status RemoteBlobStore::readOn(google::bytestream::ByteStream::Stub& streams, const std::string& instance,
                               Download& download) const {
  if (download.hasAll()) return {};
  download.begin();
  grpc::ClientContext context;
  context.set_deadline(streamDeadline(download.digest().size));
  ReadStream stream(streams, context, download.next(instance), options_.callTimeout);
  google::bytestream::ReadResponse response;
  while (download.local() && stream.read(response)) {
    if (!response.data().empty()) (void)download.take(std::move(*response.mutable_data()));
  }
  if (!download.local()) context.TryCancel();
  const grpc::Status status = stream.finish();
  if (!download.local() || status.ok()) return {};
  return fail(fromGrpc(status));
}

Status RemoteBlobStore::read(const std::string& instance, const Digest& digest, std::uint64_t offset,
                             std::uint64_t length, const ByteSink& sink) {
  if (digest == digestOf("") && offset == 0) return {};
  Download download(digest, offset, length, sink, options_.hashesReads);
  KILN_TRY((*endpoints_)(
      [&](const Endpoint& at) { return readOn(*stubs_[at.place].streams, instance, download); }));
  KILN_TRY(download.local());
  return download.finish();
}

Result<reapi::FindMissingBlobsResponse> RemoteBlobStore::askMissing(
    const reapi::FindMissingBlobsRequest& request) {
  return (*endpoints_)([&](const Endpoint& at) -> Result<reapi::FindMissingBlobsResponse> {
    reapi::FindMissingBlobsResponse response;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + options_.callTimeout);
    const grpc::Status status = stubs_[at.place].cas->FindMissingBlobs(&context, request, &response);
    if (!status.ok()) return fail(fromGrpc(status));
    return response;
  });
}

Result<std::vector<Digest>> RemoteBlobStore::findMissing(const std::string& instance,
                                                         std::span<const Digest> digests) {
  std::vector<Digest> missing;
  while (!digests.empty()) {
    auto group = digests.first(std::min(digests.size(), kMaxFindMissing));
    digests = digests.subspan(group.size());
    reapi::FindMissingBlobsRequest request;
    request.set_instance_name(instance);
    for (const Digest& digest : group) *request.add_blob_digests() = toProto(digest);
    KILN_ASSIGN(const auto response, askMissing(request));
    const std::set<Digest> asked(group.begin(), group.end());
    std::set<Digest> lacked;
    for (const auto& wire : response.missing_blob_digests()) {
      KILN_ASSIGN(Digest digest, fromProto(wire));
      if (!asked.contains(digest))
        return fail(Code::kDataLoss, "the server lacks a blob that it was not asked for");
      // Once, however often it is said: each is sent.
      if (lacked.insert(digest).second) missing.push_back(digest);
    }
  }
  return missing;
}

}  // namespace kiln::storage
