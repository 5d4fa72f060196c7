// The stretch of a blob that a reader asked for, held back until its bytes have proved good.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "manifest/base/file.h"
#include "storage/blob/blob_store.h"

namespace kiln::s3 {

// Not thread safe. Passes bytes [begin, end) on to `sink` (which must outlive it) in pieces of up to 1 MiB;
// the last piece only at finish().
class Window {
 public:
  Window(std::uint64_t begin, std::uint64_t end, const storage::ByteSink& sink)
      : begin_(begin), end_(end), sink_(sink) {}

  // The blob's bytes from `offset` on, in order.
  Status push(std::uint64_t offset, Bytes bytes) {
    const std::uint64_t from = std::max(offset, begin_), to = std::min(offset + bytes.size(), end_);
    if (from >= to) return {};
    Bytes rest = bytes.subspan(from - offset, to - from);
    while (!rest.empty()) {
      if (held_.size() == kChunkBytes) KILN_TRY(pass());
      const Bytes some = rest.first(std::min(rest.size(), kChunkBytes - held_.size()));
      held_.insert(held_.end(), some.begin(), some.end());
      rest = rest.subspan(some.size());
    }
    return {};
  }
  Status finish() { return held_.empty() ? Status() : pass(); }

  // Forgets what is held, so that the blob can be pushed from its beginning again. Only if !isBegun().
  void restart() { held_.clear(); }
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  bool isBegun() const { return begun_; }
  bool isRefused() const { return refused_; }  // the error is the sink's

 private:
  Status pass() {
    begun_ = true;
    Status passed = sink_(held_);
    refused_ = !passed;
    held_.clear();
    return passed;
  }

  const std::uint64_t begin_, end_;
  const storage::ByteSink& sink_;
  std::vector<std::uint8_t> held_;
  bool begun_ = false, refused_ = false;
};

}  // namespace kiln::s3
