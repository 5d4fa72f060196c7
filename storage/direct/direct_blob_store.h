// DirectBlobStore: the farm's blobs, their bytes past the coordinator where its store can be reached.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "kiln/v1/transfer.grpc.pb.h"
#include "manifest/base/clock.h"
#include "storage/direct/http_mover.h"
#include "storage/remote/endpoints.h"

namespace kiln::storage {

struct DirectBlobStoreOptions {
  std::uint64_t smallest = 64 << 10;  // smaller blobs go through the coordinator
  // Of a call to the coordinator; the end of an upload has longestTransfer() more, since the store copies the
  // blob meanwhile, and the coordinator reads it where the store tells no checksum.
  std::chrono::milliseconds callTimeout{60'000};
  // A store that cannot be reached, or gives wrong bytes, is not tried again for as long; after each further
  // failure in a row for twice as long, up to 10 minutes.
  std::chrono::seconds restAfterFailure{60};
  s3::Timeouts timeouts{.connect = std::chrono::milliseconds(3000), .stall = std::chrono::seconds(10)};
  s3::RetryPolicy retry{.attempts = 3, .giveUpAfter = std::chrono::seconds(20)};
  const Clock* clock = nullptr;  // null: a steady one; must outlive the store
};

// Thread safe. Whole blobs of at least `smallest` bytes are moved directly, everything else goes through
// `coordinator`, which must outlive it. So does what the direct way did not bring: a farm without one, a
// store that cannot be reached from here or fails on the way. Bytes are hashed as they arrive and held back
// by 1 MiB, whichever way they came, so neither is trusted. Errors are those of `coordinator`; kDataLoss if
// bytes of the store were wrong after some had been passed on (the next read goes through the coordinator,
// which then judges its store). What one of several coordinators began, another may finish.
class DirectBlobStore final : public BlobStore {
 public:
  DirectBlobStore(std::shared_ptr<Endpoints> endpoints, BlobStore& coordinator,
                  const DirectBlobStoreOptions& options = {});

  Result<std::unique_ptr<BlobWriter>> beginWrite(const std::string& instance, const Digest& digest) override;
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const ByteSink& sink) override;
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override;
  std::vector<Status> putBatch(const std::string& instance, std::span<const BlobBytes> blobs) override;
  std::vector<Result<std::string>> getBatch(const std::string& instance,
                                            std::span<const Digest> digests) override;

 private:
  friend class DirectWriter;
  // While a direction goes through the coordinator.
  struct Rest {
    std::atomic<TimePoint::rep> until = 0;
    std::atomic<unsigned> failures = 0;  // in a row
  };
  bool isOpen(const Rest& rest) const;
  void failed(Rest& rest);
  void close(Rest& rest, std::chrono::seconds time);
  template <class Request, class Response>
  Status call(grpc::Status (v1::TransferService::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                Response*),
              const Request& request, Response& response, std::chrono::milliseconds timeout);
  Result<BlobRoute> locate(const std::string& instance, const Digest& digest);
  // Uploads what the body holds. Not: it has to go through the coordinator.
  Status put(const std::string& instance, const Digest& digest, const s3::Body& body);

  const std::shared_ptr<Endpoints> endpoints_;
  std::vector<std::unique_ptr<v1::TransferService::Stub>> stubs_;  // by the place of their endpoint
  BlobStore& coordinator_;
  const DirectBlobStoreOptions options_;
  const Clock& clock_;
  HttpMover mover_;
  Rest downloads_, uploads_;
};

}  // namespace kiln::storage
