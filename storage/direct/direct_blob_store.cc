#include "storage/direct/direct_blob_store.h"

#include <algorithm>

#include "manifest/base/steady_clock.h"
#include "storage/direct/direct_writer.h"
#include "storage/remote/remote_blob_store.h"
#include "storage/remote/status.h"
#include "storage/s3/window.h"
#include "storage/tree/digest_proto.h"

namespace kiln::storage {
namespace {

constexpr std::chrono::minutes kNoSuchService{10};  // and the longest rest
constexpr unsigned kMostDoublings = 4;

const Clock& steadyClock() {
  static const SteadyClock clock;
  return clock;
}

BlobRoute routeOf(const v1::BlobRoute& wire) {
  return {wire.url(), {wire.headers().begin(), wire.headers().end()}, wire.upload()};
}

}  // namespace

DirectBlobStore::DirectBlobStore(std::shared_ptr<Endpoints> endpoints, BlobStore& coordinator,
                                 const DirectBlobStoreOptions& options)
    : endpoints_(std::move(endpoints)),
      coordinator_(coordinator),
      options_(options),
      clock_(options.clock ? *options.clock : steadyClock()),
      mover_(options.timeouts, options.retry) {
  for (const Endpoint& one : endpoints_->all()) stubs_.push_back(v1::TransferService::NewStub(one.channel));
}

bool DirectBlobStore::isOpen(const Rest& rest) const {
  return clock_.now().time_since_epoch().count() >= rest.until;
}

void DirectBlobStore::close(Rest& rest, std::chrono::seconds time) {
  rest.until = (clock_.now() + time).time_since_epoch().count();
}

// Transfers that were on their way at the same time fail for one reason, and count once.
void DirectBlobStore::failed(Rest& rest) {
  if (!isOpen(rest)) return;
  const unsigned doublings = std::min(rest.failures++, kMostDoublings);
  close(rest, std::min<std::chrono::seconds>(options_.restAfterFailure * (1u << doublings), kNoSuchService));
}

template <class Request, class Response>
Status DirectBlobStore::call(grpc::Status (v1::TransferService::Stub::*method)(grpc::ClientContext*,
                                                                               const Request&, Response*),
                             const Request& request, Response& response, std::chrono::milliseconds timeout) {
  Status called = (*endpoints_)([&](const Endpoint& at) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    return statusFromGrpc((*stubs_[at.place].*method)(&context, request, &response));
  });
  // This farm has no such way, or is of an earlier release.
  if (!called && called.error().code == Code::kUnimplemented) {
    close(downloads_, kNoSuchService);
    close(uploads_, kNoSuchService);
  }
  return called;
}

Result<BlobRoute> DirectBlobStore::locate(const std::string& instance, const Digest& digest) {
  v1::LocateBlobRequest request;
  v1::BlobRoute response;
  request.set_instance(instance);
  *request.mutable_digest() = toProto(digest);
  KILN_TRY(call(&v1::TransferService::Stub::LocateBlob, request, response, options_.callTimeout));
  return routeOf(response);
}

Status DirectBlobStore::read(const std::string& instance, const Digest& digest, std::uint64_t offset,
                             std::uint64_t length, const ByteSink& sink) {
  const bool whole = offset == 0 && (length == 0 || length >= digest.size);
  const auto plainly = [&] { return coordinator_.read(instance, digest, offset, length, sink); };
  if (!whole || digest.size < options_.smallest || !isOpen(downloads_)) return plainly();
  const auto route = locate(instance, digest);
  if (!route) return plainly();

  s3::Window window(0, digest.size, sink);
  Hasher hasher;
  std::uint64_t done = 0;
  const auto take = [&](Bytes bytes) -> Status {
    hasher.update(bytes);
    return window.push(done, bytes);
  };
  Status got = mover_.get(*route, digest.size, done, take);
  if (window.isRefused()) return got;
  if (!got) {
    failed(downloads_);
    if (!window.isBegun()) return plainly();
    got = coordinator_.read(instance, digest, done, 0, [&](Bytes bytes) -> Status {
      KILN_TRY(take(bytes));
      done += bytes.size();
      return {};
    });
    KILN_TRY(got);
  }
  if (hasher.finish() == digest) {
    if (isOpen(downloads_)) downloads_.failures = 0;
    return window.finish();
  }
  failed(downloads_);
  if (!window.isBegun()) return plainly();
  // The coordinator looks at the store's bytes: if they are damaged, it misses the blob from now on.
  KILN_TRY(coordinator_.read(instance, digest, 0, 0, [](Bytes) -> Status { return {}; }));
  return fail(Code::kDataLoss, "the farm's store gave other bytes than those of " + digest.text() +
                                   "; read it again, and they come through the coordinator");
}

Status DirectBlobStore::put(const std::string& instance, const Digest& digest, const s3::Body& body) {
  v1::BeginUploadRequest begin;
  v1::BlobRoute route;
  begin.set_instance(instance);
  *begin.mutable_digest() = toProto(digest);
  KILN_TRY(call(&v1::TransferService::Stub::BeginUpload, begin, route, options_.callTimeout));
  if (Status sent = mover_.put(routeOf(route), body); !sent) {
    failed(uploads_);
    return sent;
  }
  uploads_.failures = 0;
  v1::FinishUploadRequest finish;
  v1::FinishUploadResponse finished;
  finish.set_instance(instance);
  *finish.mutable_digest() = toProto(digest);
  finish.set_upload(route.upload());
  return call(&v1::TransferService::Stub::FinishUpload, finish, finished,
              options_.callTimeout + longestTransfer(digest.size));
}

Result<std::unique_ptr<BlobWriter>> DirectBlobStore::beginWrite(const std::string& instance,
                                                                const Digest& digest) {
  if (digest.size < options_.smallest || !isOpen(uploads_)) return coordinator_.beginWrite(instance, digest);
  return std::make_unique<DirectWriter>(*this, instance, digest);
}

Result<std::vector<Digest>> DirectBlobStore::findMissing(const std::string& instance,
                                                         std::span<const Digest> digests) {
  return coordinator_.findMissing(instance, digests);
}

std::vector<Status> DirectBlobStore::putBatch(const std::string& instance, std::span<const BlobBytes> blobs) {
  return coordinator_.putBatch(instance, blobs);
}

std::vector<Result<std::string>> DirectBlobStore::getBatch(const std::string& instance,
                                                           std::span<const Digest> digests) {
  std::vector<Result<std::string>> blobs(digests.size());
  std::vector<Digest> small;
  std::vector<std::size_t> places;  // of `small` in `digests`
  for (std::size_t i = 0; i < digests.size(); ++i) {
    if (digests[i].size >= options_.smallest) {
      blobs[i] = getBlob(*this, instance, digests[i], digests[i].size);
    } else {
      small.push_back(digests[i]);
      places.push_back(i);
    }
  }
  auto together = coordinator_.getBatch(instance, small);
  for (std::size_t i = 0; i < places.size(); ++i) blobs[places[i]] = std::move(together[i]);
  return blobs;
}

}  // namespace kiln::storage
