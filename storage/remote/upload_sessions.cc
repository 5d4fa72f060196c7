#include "storage/remote/upload_sessions.h"

#include <fmt/core.h>

#include <algorithm>

namespace kiln::storage {
namespace {

constexpr std::chrono::seconds kLook{30};

Error wrongOffset(std::uint64_t offset, std::uint64_t received) {
  return {Code::kInvalidArgument,
          fmt::format("write_offset {} where {} bytes were received; go on there, or begin again at 0",
                      offset, received)};
}

}  // namespace

UploadSessions::Upload::~Upload() {
  sessions_.ended(*this, writer_ && received_ >= sessions_.limits_.smallest);
}

Status UploadSessions::Upload::write(Bytes bytes) {
  if (!writer_) return fail(Code::kFailedPrecondition, "the upload has ended");
  if (Status written = writer_->write(bytes); !written) {
    writer_.reset();
    return written;
  }
  received_ += bytes.size();
  sessions_.note(*this);
  return {};
}

Status UploadSessions::Upload::commit() {
  if (!writer_) return fail(Code::kFailedPrecondition, "the upload has ended");
  const auto writer = std::move(writer_);
  return writer->commit();
}

Result<std::unique_ptr<UploadSessions::Upload>> UploadSessions::open(BlobStore& store,
                                                                     const ResourceName& name,
                                                                     std::int64_t offset) {
  Key key{name.instance, name.upload, name.digest};
  if (offset < 0) return fail(Code::kInvalidArgument, "write_offset is negative");
  dropOld();
  return offset == 0 ? begin(store, std::move(key))
                     : goOn(std::move(key), static_cast<std::uint64_t>(offset));
}

Result<std::unique_ptr<UploadSessions::Upload>> UploadSessions::begin(BlobStore& store, Key key) {
  Dropped dropped;
  {
    const MutexLock lock(mutex_);
    if (const auto known = entries_.find(key); known != entries_.end()) take(known, dropped);
  }
  dropped.clear();
  auto writer = store.beginWrite(key.instance, key.digest);
  while (!writer && writer.error().code == Code::kResourceExhausted && drop(key.instance))
    writer = store.beginWrite(key.instance, key.digest);
  if (!writer) return fail(writer.error());
  std::unique_ptr<Upload> upload(new Upload(*this, std::move(key), std::move(*writer), 0));
  const MutexLock lock(mutex_);
  upload->number_ = ++last_;
  Entry& entry = entries_[upload->key_];
  dropped.push_back(std::move(entry.writer));
  entry = {.number = upload->number_};
  return upload;
}

Result<std::unique_ptr<UploadSessions::Upload>> UploadSessions::goOn(Key key, std::uint64_t offset) {
  const MutexLock lock(mutex_);
  const auto known = entries_.find(key);
  if (known == entries_.end()) return fail(wrongOffset(offset, 0));
  Entry& entry = known->second;
  if (!entry.writer)
    return fail(Code::kUnavailable,
                "another stream of this upload goes on; ask QueryWriteStatus and try again shortly");
  if (entry.received != offset) return fail(wrongOffset(offset, entry.received));
  std::unique_ptr<Upload> upload(new Upload(*this, std::move(key), std::move(entry.writer), offset));
  upload->number_ = entry.number;
  return upload;
}

std::uint64_t UploadSessions::received(const ResourceName& name) {
  dropOld();
  const MutexLock lock(mutex_);
  const auto known = entries_.find(Key{name.instance, name.upload, name.digest});
  return known == entries_.end() ? 0 : known->second.received;
}

void UploadSessions::note(const Upload& upload) {
  const MutexLock lock(mutex_);
  const auto known = entries_.find(upload.key_);
  if (known != entries_.end() && known->second.number == upload.number_)
    known->second.received = upload.received_;
}

void UploadSessions::ended(Upload& upload, bool keep) {
  Dropped dropped;
  const MutexLock lock(mutex_);
  const auto known = entries_.find(upload.key_);
  // Another stream may have begun it again meanwhile.
  if (known == entries_.end() || known->second.number != upload.number_) return;
  if (!keep) {
    entries_.erase(known);
    return;
  }
  known->second.writer = std::move(upload.writer_);
  known->second.since = clock_.now();
  while (isBeyond(upload.key_.instance)) take(oldest(&upload.key_.instance), dropped);
  std::size_t kept = 0;
  for (const auto& [key, entry] : entries_) kept += entry.writer != nullptr;
  if (kept > limits_.kept) take(oldest(nullptr), dropped);
}

bool UploadSessions::drop(const std::string& instance) {
  Dropped dropped;
  const MutexLock lock(mutex_);
  const auto one = oldest(&instance);
  if (one == entries_.end()) return false;
  take(one, dropped);
  return true;
}

UploadSessions::Entries::iterator UploadSessions::oldest(const std::string* instance) {
  auto out = entries_.end();
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    if (!it->second.writer || (instance && it->first.instance != *instance)) continue;
    if (out == entries_.end() || it->second.since < out->second.since) out = it;
  }
  return out;
}

bool UploadSessions::isBeyond(const std::string& instance) {
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  for (auto it = entries_.lower_bound(Key{instance, "", {}});
       it != entries_.end() && it->first.instance == instance; ++it) {
    if (!it->second.writer) continue;
    ++count;
    bytes += it->first.digest.size;
  }
  return count > limits_.ofInstance || bytes > limits_.bytesOfInstance;
}

void UploadSessions::take(Entries::iterator entry, Dropped& dropped) {
  dropped.push_back(std::move(entry->second.writer));
  entries_.erase(entry);
}

void UploadSessions::dropOld() {
  Dropped dropped;
  const MutexLock lock(mutex_);
  const TimePoint before = clock_.now() - limits_.age;
  for (auto it = entries_.begin(); it != entries_.end();) {
    const auto here = it++;
    if (here->second.writer && here->second.since < before) take(here, dropped);
  }
}

void UploadSessions::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      dropOld();
      const MutexLock lock(mutex_);
      never_.waitFor(mutex_, kLook, stop);
    }
  });
}

}  // namespace kiln::storage
