#include "storage/oci/tar_writer.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kiln::storage {
namespace {

struct Archive {
  std::string bytes;
  TarWriter tar{[this](Bytes part) {
    bytes.append(reinterpret_cast<const char*>(part.data()), part.size());
    return Status{};
  }};

  std::string field(std::size_t block, std::size_t at, std::size_t length) const {
    return bytes.substr(block * 512 + at, length).c_str();  // up to its zero
  }
};

auto contents(std::string text) {
  return [text = std::move(text)](const ByteSink& sink) { return sink(asBytes(text)); };
}

TEST(TarWriter, WritesUstarHeadersThatSayNothingOfTheMachine) {
  Archive archive;
  ASSERT_TRUE(archive.tar.folder("models"));
  ASSERT_TRUE(archive.tar.file("models/a.txt", 5, contents("hello")));
  ASSERT_TRUE(archive.tar.finish());
  ASSERT_EQ(archive.bytes.size(), 5 * 512u);  // folder, file, its contents, two blocks of zeros
  EXPECT_EQ(archive.field(0, 0, 100), "models/");
  EXPECT_EQ(archive.field(0, 100, 8), "0000555");
  EXPECT_EQ(archive.field(0, 156, 1), "5");
  EXPECT_EQ(archive.field(1, 0, 100), "models/a.txt");
  EXPECT_EQ(archive.field(1, 100, 8), "0000444");
  EXPECT_EQ(archive.field(1, 108, 8) + archive.field(1, 116, 8), "00000000000000");
  EXPECT_EQ(archive.field(1, 124, 12), "00000000005");
  EXPECT_EQ(archive.field(1, 136, 12), "00000000000");
  EXPECT_EQ(archive.field(1, 156, 1), "0");
  EXPECT_EQ(archive.bytes.substr(512 + 257, 8), std::string("ustar\00000", 8));
  EXPECT_EQ(archive.bytes.substr(2 * 512, 512), "hello" + std::string(507, '\0'));
  EXPECT_EQ(archive.bytes.substr(3 * 512), std::string(1024, '\0'));
}

TEST(TarWriter, TakesTheChecksumWithItsOwnFieldAsSpaces) {
  Archive archive;
  ASSERT_TRUE(archive.tar.file("a", 0, contents("")));
  unsigned sum = 0;
  for (std::size_t i = 0; i < 512; ++i)
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(archive.bytes[i]);
  EXPECT_EQ(std::stoul(archive.field(0, 148, 8), nullptr, 8), sum);
  EXPECT_EQ(archive.bytes.substr(148 + 6, 2), std::string("\0 ", 2));
}

TEST(TarWriter, GivesLongPathsAnExtendedHeader) {
  Archive archive;
  const std::string path = std::string(120, 'd') + "/file";
  ASSERT_TRUE(archive.tar.file(path, 1, contents("x")));
  EXPECT_EQ(archive.field(0, 156, 1), "x");
  EXPECT_EQ(archive.field(1, 0, 512), "135 path=" + path + "\n");
  EXPECT_EQ(archive.field(2, 0, 100), path.substr(0, 100));
  // The length counts its own digits, also where these make it one digit longer.
  Archive grown;
  ASSERT_TRUE(grown.tar.file(std::string(989, 'p'), 0, contents("")));
  const std::string record = grown.field(1, 0, 1024);
  EXPECT_EQ(std::stoul(record), record.size());
}

TEST(TarWriter, GivesFilesFromEightGibibytesAnExtendedHeader) {
  std::uint64_t seen = 0;
  std::string head;
  TarWriter tar([&](Bytes part) {
    if (head.size() < 2048)
      head.append(reinterpret_cast<const char*>(part.data()), std::min<std::size_t>(part.size(), 2048));
    seen += part.size();
    return Status{};
  });
  const std::uint64_t size = std::uint64_t{8} << 30;
  const std::vector<std::uint8_t> piece(64 << 20);
  ASSERT_TRUE(tar.file("w", size, [&](const ByteSink& sink) -> Status {
    for (std::uint64_t at = 0; at < size; at += piece.size()) KILN_TRY(sink(piece));
    return {};
  }));
  EXPECT_EQ(head.substr(512, 19), "19 size=8589934592\n");
  EXPECT_EQ(seen, size + 3 * 512);
}

TEST(TarWriter, RefusesFilesOfAnotherLengthThanWasSaid) {
  for (const std::uint64_t said : {4, 6}) {
    Archive archive;
    const Status status = archive.tar.file("a", said, contents("hello"));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kDataLoss);
    EXPECT_NE(status.error().message.find("a: is"), std::string::npos);
  }
}

}  // namespace
}  // namespace kiln::storage
