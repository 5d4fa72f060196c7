#include "storage/remote/zstd_codec.h"

#include <fmt/core.h>
#include <zstd.h>

#include "storage/remote/wire_limits.h"

namespace kiln::storage {
namespace {

constexpr int kLevel = 1;
constexpr int kEncoderWindowLog = 19;

struct FreeDecoder {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};
struct FreeEncoder {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

// What no compressor exceeds that flushes now and then and adds a few frames of its own.
std::uint64_t mostCompressed(std::uint64_t size) {
  return size + size / 16 + (64 << 10);
}

Error notWhole(std::uint64_t given, std::uint64_t size) {
  return {Code::kInvalidArgument,
          fmt::format("the zstd stream ended within a frame or short of its bytes: {} of {} declared; send "
                      "all of it",
                      given, size)};
}

}  // namespace

struct ZstdDecoder::Context {
  std::unique_ptr<ZSTD_DCtx, FreeDecoder> zstd{ZSTD_createDCtx()};
  std::vector<std::uint8_t> buffer = std::vector<std::uint8_t>(ZSTD_DStreamOutSize());
};

ZstdDecoder::ZstdDecoder(std::uint64_t size)
    : context_(std::make_unique<Context>()), size_(size), most_(mostCompressed(size)) {
  ZSTD_DCtx_setParameter(context_->zstd.get(), ZSTD_d_windowLogMax, kMaxZstdWindowLog);
}

ZstdDecoder::~ZstdDecoder() = default;

Status ZstdDecoder::push(Bytes compressed, const ByteSink& sink) {
  if (compressed.empty()) return {};
  if (compressed.size() > most_ - taken_)
    return fail(Code::kInvalidArgument,
                fmt::format("more than {} compressed bytes for {} declared ones", most_, size_));
  taken_ += compressed.size();
  std::vector<std::uint8_t>& buffer = context_->buffer;
  ZSTD_inBuffer in{compressed.data(), compressed.size(), 0};
  for (bool more = true; more;) {
    ZSTD_outBuffer out{buffer.data(), buffer.size(), 0};
    const std::size_t left = ZSTD_decompressStream(context_->zstd.get(), &out, &in);
    if (ZSTD_isError(left))
      return fail(Code::kInvalidArgument,
                  fmt::format("zstd stream after {} bytes: {} (windows of at most {} MiB are taken)", given_,
                              ZSTD_getErrorName(left), (1 << kMaxZstdWindowLog) >> 20));
    if (out.pos > size_ - given_)
      return fail(Code::kInvalidArgument,
                  fmt::format("the zstd stream decompresses to more than the {} bytes declared", size_));
    if (out.pos != 0) KILN_TRY(sink({buffer.data(), out.pos}));
    given_ += out.pos;
    ended_ = left == 0;
    // A full buffer in the middle of a frame says that more may be held back.
    more = in.pos < in.size || (!ended_ && out.pos == buffer.size());
  }
  return {};
}

Status ZstdDecoder::finish() const {
  if (!ended_ || given_ != size_) return fail(notWhole(given_, size_));
  return {};
}

struct ZstdEncoder::Context {
  std::unique_ptr<ZSTD_CCtx, FreeEncoder> zstd{ZSTD_createCCtx()};
  std::vector<std::uint8_t> buffer = std::vector<std::uint8_t>(kStreamChunkBytes);
  std::size_t filled = 0;
};

ZstdEncoder::ZstdEncoder(std::uint64_t size) : context_(std::make_unique<Context>()) {
  ZSTD_CCtx* const zstd = context_->zstd.get();
  ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, kEncoderWindowLog);
  ZSTD_CCtx_setPledgedSrcSize(zstd, size);
}

ZstdEncoder::~ZstdEncoder() = default;

Status ZstdEncoder::run(Bytes bytes, bool end, const ByteSink& sink) {
  std::vector<std::uint8_t>& buffer = context_->buffer;
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  for (bool more = true; more;) {
    ZSTD_outBuffer out{buffer.data(), buffer.size(), context_->filled};
    const std::size_t left =
        ZSTD_compressStream2(context_->zstd.get(), &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
    if (ZSTD_isError(left)) return fail(Code::kInternal, std::string("zstd: ") + ZSTD_getErrorName(left));
    context_->filled = out.pos;
    more = end ? left != 0 : in.pos < in.size;
    if (context_->filled == buffer.size() || (end && !more && context_->filled != 0)) {
      KILN_TRY(sink({buffer.data(), context_->filled}));
      context_->filled = 0;
    }
  }
  return {};
}

Status ZstdEncoder::push(Bytes bytes, const ByteSink& sink) {
  return bytes.empty() ? Status() : run(bytes, false, sink);
}

Status ZstdEncoder::finish(const ByteSink& sink) {
  return run({}, true, sink);
}

Result<std::string> zstdDecompress(std::string_view compressed, std::uint64_t size) {
  std::string out(size, '\0');
  // Whole in memory it wants no window.
  const std::size_t given = ZSTD_decompress(out.data(), out.size(), compressed.data(), compressed.size());
  if (ZSTD_isError(given))
    return fail(Code::kInvalidArgument,
                fmt::format("zstd: {} ({} bytes were declared)", ZSTD_getErrorName(given), size));
  if (given != size) return fail(notWhole(given, size));
  return out;
}

std::string zstdCompress(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), kLevel));
  return out;
}

}  // namespace kiln::storage
