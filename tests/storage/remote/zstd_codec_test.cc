#include "storage/remote/zstd_codec.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <random>

namespace kiln::storage {
namespace {

std::string randomText(std::size_t size) {
  std::mt19937 random(11);
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

// One frame, as a client makes it.
std::string frame(std::string_view text, int level = 3, int windowLog = 0) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  if (windowLog != 0) ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog, windowLog);
  std::string out(ZSTD_compressBound(text.size()) + 100, '\0');
  ZSTD_inBuffer from{text.data(), text.size(), 0};
  ZSTD_outBuffer into{out.data(), out.size(), 0};
  // How much is to come is not known when it begins, so that the window is as large as it is said to be.
  ZSTD_compressStream2(context.get(), &into, &from, ZSTD_e_flush);
  EXPECT_EQ(ZSTD_compressStream2(context.get(), &into, &from, ZSTD_e_end), 0u);
  out.resize(into.pos);
  return out;
}

// What comes out of a stream that arrives in pieces of `piece` bytes.
Result<std::string> decode(std::string_view stream, std::uint64_t size, std::size_t piece = 1 << 20) {
  std::string out;
  ZstdDecoder decoder(size);
  const ByteSink sink = [&](Bytes bytes) -> Status {
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    EXPECT_LE(out.size(), size) << "no byte more than was declared is passed on";
    return {};
  };
  for (; !stream.empty(); stream.remove_prefix(std::min(piece, stream.size())))
    KILN_TRY(decoder.push(asBytes(stream.substr(0, piece)), sink));
  KILN_TRY(decoder.finish());
  return out;
}

void expectRefused(std::string_view stream, std::uint64_t size, const std::string& why) {
  const auto decoded = decode(stream, size);
  ASSERT_FALSE(decoded) << why;
  EXPECT_EQ(decoded.error().code, Code::kInvalidArgument);
  EXPECT_NE(decoded.error().message.find(why), std::string::npos) << decoded.error().message;
}

TEST(ZstdDecoder, TakesStreamsInAnyPieces) {
  for (const std::string& text :
       {std::string(), std::string("abc"), std::string(3'000'000, 'x'), randomText(700'000)})
    for (const std::size_t piece : {std::size_t(1), std::size_t(4096), std::size_t(1) << 20}) {
      if (piece == 1 && text.size() > 1000 && frame(text).size() > 100'000)
        continue;  // slow, and no other case
      const auto decoded = decode(frame(text), text.size(), piece);
      ASSERT_TRUE(decoded) << decoded.error().message;
      EXPECT_EQ(*decoded, text);
    }
}

TEST(ZstdDecoder, TakesSeveralFrames) {
  EXPECT_EQ(decode(frame("one ") + frame("two") + frame(""), 7).value(), "one two");
}

TEST(ZstdDecoder, ABombGivesNoMoreThanWasDeclared) {
  const std::string bomb = frame(std::string(64 << 20, '\0'));
  ASSERT_LT(bomb.size(), 10'000u);
  expectRefused(bomb, 1000, "more than the 1000 bytes declared");
  expectRefused(frame("abcd"), 3, "more than the 3 bytes declared");
  expectRefused(frame("abc") + frame("d"), 3, "more than the 3 bytes declared");
}

TEST(ZstdDecoder, WantsAllOfTheStreamAndNothingElse) {
  const std::string whole = frame(std::string(100'000, 'x'));
  for (const std::size_t length : {std::size_t(0), std::size_t(1), std::size_t(4), whole.size() - 1})
    expectRefused(whole.substr(0, length), 100'000, "ended within a frame or short of its bytes");
  expectRefused(frame("abc"), 4, "short of its bytes");
  expectRefused(frame("abc") + "trailing", 3, "zstd stream after 3 bytes");
  expectRefused(frame("abc") + frame("").substr(0, 5), 3, "ended within a frame");
  expectRefused("no zstd at all", 14, "zstd stream after 0 bytes");
}

TEST(ZstdDecoder, FramesWithoutBytesEndSomewhere) {
  std::string nothing;
  for (int i = 0; i < 20'000; ++i) nothing += frame("");
  expectRefused(nothing, 3, "compressed bytes for 3 declared ones");
}

TEST(ZstdDecoder, BoundsTheWindow) {
  const std::string text = randomText(100'000);
  EXPECT_EQ(decode(frame(text, 3, kMaxZstdWindowLog), text.size()).value(), text);
  expectRefused(frame(text, 3, kMaxZstdWindowLog + 1), text.size(), "windows of at most 8 MiB");
}

TEST(ZstdDecoder, MutatedStreamsNeverGiveMore) {
  const std::string whole = frame("a text that is compressed, a text that is compressed, and mutated");
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string mutant = whole;
    for (unsigned k = 0; k <= random() % 3; ++k)
      mutant[random() % mutant.size()] = static_cast<char>(random());
    (void)decode(mutant, 65);
    (void)zstdDecompress(mutant, 65);
  }
}

TEST(ZstdEncoder, GivesWhatAnyDecoderTakes) {
  for (const std::string& text :
       {std::string(), std::string("abc"), std::string(3'000'000, 'x'), randomText(3'000'000)}) {
    std::string out;
    const ByteSink sink = [&out](Bytes bytes) -> Status {
      out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return {};
    };
    ZstdEncoder encoder(text.size());
    for (std::size_t at = 0; at < text.size(); at += 100'000)
      ASSERT_TRUE(encoder.push(asBytes(std::string_view(text).substr(at, 100'000)), sink));
    ASSERT_TRUE(encoder.finish(sink));
    EXPECT_EQ(decode(out, text.size()).value(), text);
  }
}

TEST(ZstdEncoder, TellsOfFewerBytesThanWereAnnounced) {
  ZstdEncoder encoder(4);
  const ByteSink sink = [](Bytes) -> Status { return {}; };
  ASSERT_TRUE(encoder.push(asBytes("abc"), sink));
  EXPECT_EQ(encoder.finish(sink).error().code, Code::kInternal);
}

TEST(Zstd, SmallBlobsInMemory) {
  const std::string text(10'000, 'y');
  EXPECT_EQ(zstdDecompress(zstdCompress(text), text.size()).value(), text);
  EXPECT_EQ(zstdDecompress(zstdCompress(""), 0).value(), "");
  for (const std::uint64_t size : {9'999, 10'001, 0})
    EXPECT_EQ(zstdDecompress(zstdCompress(text), size).error().code, Code::kInvalidArgument) << size;
  EXPECT_EQ(zstdDecompress(zstdCompress(text) + "x", text.size()).error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace kiln::storage
