// Whether a backup's database and log are of one farm, over what pg_restore prints of the one and the tiles
// of the other.
#include "api/cli/farm/backup_check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "signing/follow/tile_directory.h"
#include "signing/log/checkpoint.h"
#include "tests/support/temp_directory.h"

namespace kiln::cli {
namespace {

using signing::TileTree;
using signing::WritableTiles;

// Entries are `word` and their number: logs of different words have nothing in common.
struct Log {
  testing_support::TempDirectory directory;
  WritableTiles tiles = WritableTiles::open(directory.path()).value();
  const std::string word;
  std::uint64_t size = 0;

  Log(std::string w, std::uint64_t entries) : word(std::move(w)) { growTo(entries); }
  void growTo(std::uint64_t entries) {
    std::vector<std::string> leaves;
    for (std::uint64_t i = size; i < entries; ++i) leaves.push_back(word + std::to_string(i));
    const auto grown = signing::grow(tiles, size, leaves).value();
    EXPECT_TRUE(tiles.write(grown));
    size = entries;
    const auto key = signing::Ed25519PrivateKey::create().value();
    EXPECT_TRUE(tiles.publish(signing::signCheckpoint({"log.example", size, rootAt(size)}, key)->toString()));
    tiles.prune(grown);
  }
  signing::TreeHash rootAt(std::uint64_t entries) {
    TileTree tree(tiles, size);
    return signing::treeRoot(tree, entries).value();
  }
  std::string row(std::uint64_t entries) {
    return fmt::format("{}\t\\\\x{}\tlog.example\\n{}\n", entries, toHex(rootAt(entries)), entries);
  }
};

std::string table(const std::string& rows) {
  return "SET row_security = off;\n\nCOPY public.log_checkpoints (size, root, note) FROM stdin;\n" + rows +
         "\\.\n\n\n7\t\\\\xff\tno row\n";
}

Code verdict(const std::string& text, const Log& log) {
  std::istringstream rows(text);
  const Status same = checkSameLog(rows, log.directory.path());
  return same ? Code::kUnknown : same.error().code;
}

TEST(BackupCheck, OneIsTheBeginningOfTheOther) {
  Log log("entry ", 300);
  const std::string before = log.row(3) + log.row(300);
  EXPECT_EQ(verdict(table(before), log), Code::kUnknown);
  // Published and not yet copied, or logged after the dump.
  Log later("entry ", 300);
  later.growTo(700);
  EXPECT_EQ(verdict(table(before + later.row(700)), log), Code::kUnknown);
  EXPECT_EQ(verdict(table(before), later), Code::kUnknown);
  EXPECT_EQ(verdict(table(later.row(700) + before), later), Code::kUnknown) << "in any order";
  EXPECT_EQ(verdict("COPY public.log_checkpoints (note, root, size) FROM stdin;\nn\t\\\\x" +
                        toHex(log.rootAt(300)) + "\t300\n\\.\n",
                    log),
            Code::kUnknown);
}

TEST(BackupCheck, AnotherDatabaseIsRefused) {
  Log log("entry ", 300), other("something else ", 300), longer("something else ", 900);
  EXPECT_EQ(verdict("", log), Code::kDataLoss) << "no farm's";
  EXPECT_EQ(verdict("COPY public.jobs (size, root) FROM stdin;\n\\.\n", log), Code::kDataLoss);
  EXPECT_EQ(verdict(table(""), log), Code::kDataLoss) << "a new farm's";
  EXPECT_EQ(verdict(table(fmt::format("0\t\\\\x{}\tnew\n", toHex(signing::emptyTreeHash()))), log),
            Code::kDataLoss);
  EXPECT_EQ(verdict(table(other.row(300)), log), Code::kDataLoss);
  EXPECT_EQ(verdict(table(other.row(200)), log), Code::kDataLoss) << "a shorter one";
  EXPECT_EQ(verdict(table(longer.row(900)), log), Code::kDataLoss) << "a longer one";
  EXPECT_EQ(verdict(table("300\n"), log), Code::kDataLoss);
  EXPECT_EQ(verdict(table("300\t\\\\x\tn\n"), log), Code::kDataLoss);
}

TEST(BackupCheck, ALogThatLiesElsewhereSaysNothing) {
  const testing_support::TempDirectory nothing;
  std::istringstream rows(table(""));
  EXPECT_TRUE(checkSameLog(rows, nothing.path()));
  std::istringstream none("");
  EXPECT_FALSE(checkSameLog(none, nothing.path())) << "but the database is a farm's";
}

}  // namespace
}  // namespace kiln::cli
