#include "api/cli/farm/backup_check.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <vector>

#include "api/cli/farm/postgres_tools.h"
#include "manifest/base/digest.h"
#include "manifest/base/printable.h"
#include "manifest/base/scratch_directory.h"
#include "signing/follow/tile_directory.h"
#include "signing/log/checkpoint.h"
#include "signing/log/note.h"
#include "signing/log/tiles.h"
#include "storage/backup/document.h"

namespace kiln::cli {
namespace {

constexpr char kTable[] = "log_checkpoints";

struct Row {
  std::uint64_t size = 0;
  std::string root;  // hexadecimal
};

std::vector<std::string> split(const std::string& line, const char* between) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  for (std::size_t end; (end = line.find(between, begin)) != line.npos;
       begin = end + std::string(between).size())
    out.push_back(line.substr(begin, end - begin));
  out.push_back(line.substr(begin));
  return out;
}

std::optional<std::size_t> indexOf(const std::vector<std::string>& names, const char* name) {
  const auto at = std::ranges::find(names, name);
  if (at == names.end()) return std::nullopt;
  return static_cast<std::size_t>(at - names.begin());
}

// The rows behind "COPY public.log_checkpoints (size, root, note) FROM stdin;", one a line, to "\.".
class Rows {
 public:
  // Nothing if the table is not there.
  static std::optional<Rows> open(std::istream& text) {
    for (std::string line; std::getline(text, line);) {
      const std::size_t begin = line.find('('), end = line.find(") FROM stdin;");
      if (!line.starts_with("COPY ") || line.find(kTable) == line.npos || end == line.npos || begin > end)
        continue;
      const auto names = split(line.substr(begin + 1, end - begin - 1), ", ");
      const auto size = indexOf(names, "size"), root = indexOf(names, "root");
      if (size && root) return Rows(text, *size, *root);
    }
    return std::nullopt;
  }

  std::optional<Row> next() {
    std::string line;
    if (!std::getline(text_, line) || line == "\\.") return std::nullopt;
    const auto values = split(line, "\t");
    if (values.size() <= std::max(size_, root_)) return std::nullopt;
    Row row;
    const std::string& number = values[size_];
    std::from_chars(number.data(), number.data() + number.size(), row.size);
    row.root = values[root_].substr(std::min<std::size_t>(3, values[root_].size()));  // behind "\\x"
    return row;
  }

 private:
  Rows(std::istream& text, std::size_t size, std::size_t root) : text_(text), size_(size), root_(root) {}
  std::istream& text_;
  std::size_t size_, root_;
};

Result<signing::Checkpoint> publishedIn(const signing::TileDirectory& tiles, const std::string& log) {
  KILN_ASSIGN(const std::string text, tiles.checkpoint());
  auto note = signing::parseNote(text);
  if (!note) return fail(Code::kDataLoss, log + "/checkpoint: " + note.error().message);
  auto checkpoint = signing::Checkpoint::parse(note->text);
  if (!checkpoint) return fail(Code::kDataLoss, log + "/checkpoint: " + checkpoint.error().message);
  return checkpoint;
}

tl::unexpected<Error> foreign(const std::string& log) {
  return fail(Code::kDataLoss,
              "the database is not that of the farm whose log it lies beside (" + printable(log) +
                  "): another farm's, or one from another time; a backup of this farm with its "
                  "own --database can be restored, and this one cannot");
}

}  // namespace

Status checkSameLog(std::istream& text, const std::string& log) {
  auto rows = Rows::open(text);
  if (!rows)
    return fail(
        Code::kDataLoss,
        "the database holds no farm; a backup with the farm's own --database can be restored, and this "
        "one cannot");
  signing::TileDirectory tiles(log);
  const auto published = publishedIn(tiles, log);
  if (!published && published.error().code == Code::kNotFound) return {};
  if (!published) return fail(published.error());
  Row last;  // of those that the tiles may hold
  while (const auto row = rows->next())
    if (row->size <= published->size && row->size >= last.size) last = *row;
  if (last.size == published->size) {
    if (last.root == toHex(published->root)) return {};
    return foreign(log);
  }
  if (last.size == 0) return foreign(log);  // an empty log begins every one
  signing::TileTree tree(tiles, published->size);
  const auto root = signing::treeRoot(tree, last.size);
  if (!root) return fail(Code::kDataLoss, log + ": " + root.error().message);
  if (last.root == toHex(*root)) return {};
  return foreign(log);
}

Status checkBackup(const std::string& backup) {
  KILN_ASSIGN(const auto scratch, ScratchDirectory::makeTemporary("kiln-backup-"));
  const std::string rows = scratch.path() + "/rows";
  KILN_TRY(extractTable(backup + "/" + storage::kBackupDump, kTable, rows));
  std::ifstream text(rows);
  return checkSameLog(text, backup + "/" + storage::kBackupState + "/log");
}

}  // namespace kiln::cli
