#include "compiler_core/frontend/archive/zip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler_core/frontend/archive/zip_writer.h"

namespace kiln::archive {
namespace {

using testing::HasSubstr;
using namespace testing_support;

std::string textOf(Bytes bytes) {
  return {bytes.begin(), bytes.end()};
}

// The contents of all members one behind the other, or the first error.
Result<std::string> readAll(const std::string& archive) {
  KILN_ASSIGN(const auto members, readZip(asBytes(archive)));
  std::string out;
  for (const ZipMember& member : members) {
    KILN_ASSIGN(const ZipContents contents, contentsOf(member, nullptr));
    out += std::string(member.name) + "=" + textOf(contents.bytes) + ";";
  }
  return out;
}

void expectError(const std::string& archive, Code code, const std::string& part) {
  const auto found = readAll(archive);
  ASSERT_FALSE(found) << part;
  EXPECT_EQ(found.error().code, code) << found.error().message;
  EXPECT_THAT(found.error().message, HasSubstr(part));
}

const std::string kLong(100'000, 'k');

TEST(ZipTest, ReadsStoredAndDeflatedMembers) {
  const auto found =
      readAll(writeZip({{"a", "first"}, {"b/c", kLong, true}, {"empty", ""}, {"none", "", true}}));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, "a=first;b/c=" + kLong + ";empty=;none=;");
}

TEST(ZipTest, StoredMembersAreViews) {
  const std::string archive = writeZip({{"a", "first"}});
  const auto members = readZip(asBytes(archive));
  ASSERT_TRUE(members);
  const auto owner = std::make_shared<int>(1);
  const auto contents = contentsOf((*members)[0], owner);
  ASSERT_TRUE(contents);
  EXPECT_EQ(contents->owner, owner);
  EXPECT_EQ(reinterpret_cast<const char*>(contents->bytes.data()), archive.data() + archive.find("first"));
}

TEST(ZipTest, ReadsWideFields) {
  const auto found = readAll(writeZip({{"a", "first", false, true}, {"b", "second", true, true}}, true));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, "a=first;b=second;");
}

TEST(ZipTest, LeavesFoldersOutAndTakesComments) {
  const auto found = readAll(writeZip({{"folder/", ""}, {"folder/a", "x"}}, false, "made by hand"));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, "folder/a=x;");
  EXPECT_EQ(readAll(writeZip({})).value_or("?"), "");
}

TEST(ZipTest, RefusesEveryBeginning) {
  for (const bool wide : {false, true}) {
    const std::string whole = writeZip({{"a", "first", false, wide}, {"b", kLong, true, wide}}, wide);
    for (std::size_t length = 0; length < whole.size(); ++length)
      ASSERT_FALSE(readAll(whole.substr(0, length))) << length;
  }
}

TEST(ZipTest, RefusesBytesBehindIt) {
  expectError(writeZip({{"a", "first"}}) + "x", Code::kInvalidArgument, "no end of a directory");
}

TEST(ZipTest, SurvivesEveryFlippedByte) {
  const std::string whole =
      writeZip({{"a", "first", false, true}, {"b", "second second second", true}}, true);
  int refused = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string other = whole;
      other[i] = static_cast<char>(other[i] ^ flip);
      refused += !readAll(other);
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(ZipTest, RefusesMembersThatShareBytes) {
  // Two entries of the directory for one member, which is how a bomb grows with its square.
  const std::string one = writeZip({{"a", "first"}});
  const std::size_t directory = one.find(littleEndianText(0x02014b50, 4));
  const std::size_t end = one.find(littleEndianText(0x06054b50, 4));
  const std::string entry = one.substr(directory, end - directory);
  const std::string twice = one.substr(0, directory) + entry + entry + littleEndianText(0x06054b50, 4) +
                            littleEndianText(0, 4) + littleEndianText(2, 2) + littleEndianText(2, 2) +
                            littleEndianText(2 * entry.size(), 4) + littleEndianText(directory, 4) +
                            littleEndianText(0, 2);
  expectError(twice, Code::kInvalidArgument, "two members share byte 0");
}

TEST(ZipTest, RefusesBombsBeforeTakingMemory) {
  std::string bomb = writeZip({{"a", kLong, true}});
  const std::string size = littleEndianText(kLong.size(), 4);
  const std::size_t at = bomb.rfind(size);
  bomb.replace(at, 4, littleEndianText(3'000'000'000, 4));
  expectError(bomb, Code::kInvalidArgument, "cannot hold what it claims");
  // Within deflate's ratio, but not what the stream holds.
  bomb.replace(at, 4, littleEndianText(kLong.size() + 1, 4));
  expectError(bomb, Code::kInvalidArgument, "does not inflate to the size");
  bomb.replace(at, 4, littleEndianText(kLong.size() - 1, 4));
  expectError(bomb, Code::kInvalidArgument, "does not inflate to the size");
}

TEST(ZipTest, RefusesOtherContentsThanTheirCrc) {
  std::string archive = writeZip({{"a", "first"}});
  archive[archive.find("first")] = 'F';
  expectError(archive, Code::kInvalidArgument, "does not have the CRC");
}

TEST(ZipTest, RefusesOtherMethodsAndEncryption) {
  std::string archive = writeZip({{"a", "first"}});
  const std::size_t directory = archive.find(littleEndianText(0x02014b50, 4));
  std::string other = archive;
  other[directory + 10] = 12;
  expectError(other, Code::kUnimplemented, "method 12");
  other = archive;
  other[directory + 8] = 1;
  expectError(other, Code::kUnimplemented, "encrypted");
}

TEST(ZipTest, RefusesMoreMembersThanTheDirectoryHolds) {
  std::string archive = writeZip({{"a", "first"}});
  const std::size_t end = archive.find(littleEndianText(0x06054b50, 4));
  archive.replace(end + 8, 4, "\xff\xff\xff\xff");
  expectError(archive, Code::kInvalidArgument, "cannot hold 65535 members");
}

TEST(ZipTest, RefusesAnotherNameInFrontOfTheMember) {
  std::string archive = writeZip({{"abc", "first"}});
  archive[archive.find("abc")] = 'x';
  expectError(archive, Code::kInvalidArgument, "its header has another name");
}

}  // namespace
}  // namespace kiln::archive
