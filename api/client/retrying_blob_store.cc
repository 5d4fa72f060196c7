#include "api/client/retrying_blob_store.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "storage/blob/behind_hasher.h"
#include "storage/remote/remote_blob_store.h"

namespace kiln::client {
namespace {

using Clock = std::chrono::steady_clock;

// The bytes of one read, from one answer or from several. Of a whole blob they are hashed, beside what the
// receiver does with them, and the newest message is held back until all of them are known to be right. Of a
// range the server's check counts.
class Spliced {
 public:
  Spliced(const Digest& digest, std::uint64_t offset, std::uint64_t length, const storage::ByteSink& sink)
      : digest_(digest),
        sink_(sink),
        wanted_(offset > digest.size ? 0 : digest.size - offset),
        whole_(offset == 0 && (length == 0 || length >= digest.size)) {
    if (length != 0) wanted_ = std::min(wanted_, length);
  }

  std::uint64_t wanted() const { return wanted_; }
  std::uint64_t taken() const { return taken_; }
  std::uint64_t left() const { return wanted_ - std::min(wanted_, taken_); }
  bool cut() const { return cut_; }
  void cutOff() { cut_ = true; }
  // What the receiver said; its errors are final.
  const Status& receiver() const { return receiver_; }

  Status take(Bytes bytes) {
    taken_ += bytes.size();
    if (!whole_) return receiver_ = sink_(bytes);
    hasher_.update(bytes);
    receiver_ = handOn();
    held_.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return receiver_;
  }
  // Once, after the last answer.
  Status finish() {
    if (whole_ && hasher_.finish() != digest_)
      return fail(Code::kDataLoss, "what the server sent for " + digest_.text() + " does not have that hash");
    return handOn();
  }

 private:
  Status handOn() {
    const Status given = held_.empty() ? Status{} : sink_(asBytes(held_));
    held_.clear();
    return given;
  }

  const Digest& digest_;
  const storage::ByteSink& sink_;
  std::uint64_t wanted_, taken_ = 0;
  const bool whole_;
  bool cut_ = false;
  storage::BehindHasher hasher_;
  std::string held_;
  Status receiver_;
};

Error tooSlow(Error error, const Spliced& bytes) {
  error.message += "; gave up with " + std::to_string(bytes.taken()) + " of " +
                   std::to_string(bytes.wanted()) + " bytes: they come too slowly";
  return error;
}

}  // namespace

Result<std::unique_ptr<storage::BlobWriter>> RetryingBlobStore::beginWrite(const std::string& instance,
                                                                           const Digest& digest) {
  return base_.beginWrite(instance, digest).map_error(explain_);
}

Status RetryingBlobStore::read(const std::string& instance, const Digest& digest, std::uint64_t offset,
                               std::uint64_t length, const storage::ByteSink& sink) {
  Spliced bytes(digest, offset, length, sink);
  RetryPolicy::Attempts attempts(retryPolicy_);
  // A byte ends a wait, but bytes that come one by one do not make a read without end.
  std::optional<Clock::time_point> until;
  const storage::ByteSink receive = [&](Bytes got) {
    if (got.empty()) return Status{};
    attempts.answered();
    return bytes.take(got);
  };
  for (;;) {
    const std::uint64_t rest = bytes.cut() ? bytes.left() : length;
    Status status = bytes.cut() && rest == 0
                        ? Status{}
                        : base_.read(instance, digest, offset + bytes.taken(), rest, receive);
    if (status) {
      attempts.answered();
      return bytes.finish();
    }
    if (!bytes.receiver()) return status;
    Error error = explain_(std::move(status).error());
    if (!until) until = Clock::now() + retryPolicy_.limit() + storage::longestTransfer(bytes.left());
    if (!attempts.again(error)) return fail(std::move(error));
    if (Clock::now() > *until) return fail(tooSlow(std::move(error), bytes));
    if (bytes.taken() > 0) bytes.cutOff();
  }
}

Result<std::vector<Digest>> RetryingBlobStore::findMissing(const std::string& instance,
                                                           std::span<const Digest> digests) {
  return retryPolicy_([&] {
    return base_.findMissing(instance, digests).map_error([&](Error error) {
      return explain_(std::move(error));
    });
  });
}

std::vector<Status> RetryingBlobStore::putBatch(const std::string& instance,
                                                std::span<const storage::BlobBytes> blobs) {
  std::vector<Status> stored = base_.putBatch(instance, blobs);
  for (Status& each : stored)
    if (!each) each = fail(explain_(std::move(each).error()));
  return stored;
}

}  // namespace kiln::client
