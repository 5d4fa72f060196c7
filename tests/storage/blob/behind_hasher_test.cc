#include "storage/blob/behind_hasher.h"

#include <gtest/gtest.h>

namespace kiln::storage {
namespace {

std::string textOf(std::size_t size) {
  std::string out(size, 0);
  std::uint32_t state = 1;
  for (char& c : out) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return out;
}

Digest inPieces(const std::string& text, std::size_t piece) {
  BehindHasher hasher;
  std::vector<std::uint8_t> buffer;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    const Bytes part = asBytes(text).subspan(at, std::min(piece, text.size() - at));
    buffer.assign(part.begin(), part.end());
    hasher.update(buffer);
    std::fill(buffer.begin(), buffer.end(), 0);  // as the caller may
  }
  return hasher.finish();
}

TEST(BehindHasher, GivesTheDigestOfAllThatCame) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{BehindHasher::kAtOnce},
        std::size_t{BehindHasher::kAtOnce + 1}, std::size_t{20'000'000}}) {
    const std::string text = textOf(size);
    for (const std::size_t piece :
         {std::size_t{777'777}, std::size_t{1} << 20, BehindHasher::kMostBehind + 1, std::size_t{32} << 20})
      EXPECT_EQ(inPieces(text, piece), digestOf(text)) << size << " in pieces of " << piece;
  }
}

// Each time that it has nothing to do, here.
TEST(BehindHasher, GoesOnAfterItsThreadHasEnded) {
  const std::string text = textOf(3 * BehindHasher::kAtOnce);
  BehindHasher hasher(std::chrono::milliseconds(0));
  for (std::size_t at = 0; at < text.size(); at += 100'000)
    hasher.update(asBytes(text).subspan(at, std::min<std::size_t>(100'000, text.size() - at)));
  EXPECT_EQ(hasher.finish(), digestOf(text));
}

TEST(BehindHasher, MayBeGivenUpHalfWay) {
  const std::string text = textOf(3 * BehindHasher::kAtOnce);
  BehindHasher hasher;
  hasher.update(asBytes(text));
}

}  // namespace
}  // namespace kiln::storage
