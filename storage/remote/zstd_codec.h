// Blobs compressed with zstd (RFC 8878) on their way: what comes in is bounded by what was declared, whatever
// a stream says of itself.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "manifest/base/result.h"
#include "storage/blob/blob_store.h"

namespace kiln::storage {

// Frames may want to look back as far as this, what RFC 8878 asks every decoder to allow; a decoder takes as
// much memory.
inline constexpr int kMaxZstdWindowLog = 23;

// Not thread safe. A stream of one frame or several, as parallel compressors make them.
class ZstdDecoder {
 public:
  // `size`: bytes that the whole stream must decompress to.
  explicit ZstdDecoder(std::uint64_t size);
  ~ZstdDecoder();
  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;

  // Passes on what more of the stream decompresses to, at most `size` bytes in all. kInvalidArgument for what
  // is not zstd, wants a larger window, decompresses to more, or is longer than such a stream can be.
  Status push(Bytes compressed, const ByteSink& sink);
  // kInvalidArgument unless the stream has ended with a whole frame and all of its bytes.
  Status finish() const;

 private:
  struct Context;
  const std::unique_ptr<Context> context_;
  const std::uint64_t size_, most_;
  std::uint64_t taken_ = 0, given_ = 0;
  bool ended_ = false;  // at the end of a frame
};

// Not thread safe. Fast rather than small; takes some 2 MiB.
class ZstdEncoder {
 public:
  // `size`: bytes that are going to be pushed.
  explicit ZstdEncoder(std::uint64_t size);
  ~ZstdEncoder();
  ZstdEncoder(const ZstdEncoder&) = delete;
  ZstdEncoder& operator=(const ZstdEncoder&) = delete;

  // Errors are the sink's, and kInternal where other bytes were pushed than were announced.
  Status push(Bytes bytes, const ByteSink& sink);
  Status finish(const ByteSink& sink);

 private:
  struct Context;
  Status run(Bytes bytes, bool end, const ByteSink& sink);

  const std::unique_ptr<Context> context_;
};

// The same in memory, for small blobs: `size` bytes are taken at once. kInvalidArgument as of the decoder.
Result<std::string> zstdDecompress(std::string_view compressed, std::uint64_t size);
std::string zstdCompress(std::string_view bytes);

}  // namespace kiln::storage
