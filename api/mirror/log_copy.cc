#include "api/mirror/log_copy.h"

#include <algorithm>

#include "manifest/base/counted.h"
#include "manifest/base/printable.h"

namespace kiln::mirror {
namespace {

constexpr std::uint64_t kTilesAtOnce = 4;  // of entries, up to 16 MiB each

tl::unexpected<Error> another(const signing::LogSource& source, const std::string& what) {
  return fail(Error{Code::kDataLoss, source.where() + ": " + what, R"({"exitCode":5})"});
}

Result<signing::TreeHash> rootAt(signing::TileReader& tiles, std::uint64_t size) {
  signing::TileTree tree(tiles, size);
  return signing::treeRoot(tree, size);
}

}  // namespace

Status LogCopy::open(TimePoint now) {
  auto text = source_.checkpoint();
  if (!text) return fail(text.error());
  note_ = std::move(*text);
  auto seen = logs_.open(note_, now);
  if (!seen) return fail(signing::fromLog(source_, seen.error()));
  newest_ = std::move(seen->checkpoint);
  const auto published = tiles_.checkpoint();
  if (!published && published.error().code == Code::kNotFound) return {};
  if (!published) return fail(published.error());
  KILN_ASSIGN(const signing::Note note, signing::parseNote(*published));
  KILN_ASSIGN(const signing::Checkpoint here, signing::Checkpoint::parse(note.text));
  if (here.origin != newest_.origin)
    return fail(Code::kFailedPrecondition, source_.where() + ": is the log " + printable(newest_.origin) +
                                               ", and this mirror has " + printable(here.origin) +
                                               "; name that with --log, or another directory");
  if (here.size > newest_.size)
    return another(source_, "the log has " + counted(newest_.size, "entry") + ", and this mirror " +
                                std::to_string(here.size) + " of it: it was cut, or an old copy is shown");
  size_ = here.size;
  return {};
}

// That the tree of `size` entries with this root is how the newest one begins.
Status LogCopy::prove(std::uint64_t size, const signing::TreeHash& root) {
  signing::TileTree theirs(source_, newest_.size);
  auto proof = signing::consistencyProof(theirs, size, newest_.size);
  if (!proof) return fail(signing::fromLog(source_, proof.error()));
  return signing::verifyConsistency(size, newest_.size, root, newest_.root, *proof);
}

// Whether the first `from` entries, whose tiles are here, are the source's.
Result<bool> LogCopy::continues(std::uint64_t from) {
  const auto root = rootAt(tiles_, from);
  if (!root) return false;
  const Status proven = prove(from, *root);
  if (!proven && proven.error().code != Code::kDataLoss) return fail(proven.error());
  return proven.has_value();
}

Status LogCopy::take(std::uint64_t from, std::uint64_t end) {
  const auto evidence = [&](const Error& error) { return signing::fromLog(source_, error); };
  KILN_ASSIGN(const auto entries, signing::readEntries(source_, newest_.size, from, end).map_error(evidence));
  KILN_ASSIGN(const signing::TileMap grown, signing::grow(tiles_, from, entries));
  signing::OverlaidTiles both(grown, tiles_);
  KILN_ASSIGN(const signing::TreeHash root, rootAt(both, end));
  if (const Status proven = prove(end, root); !proven)
    return fail(evidence(proven.error().in("its entries up to " + std::to_string(end))));
  KILN_TRY(tiles_.write(grown));
  tiles_.prune(grown);
  return {};
}

Status LogCopy::run(std::uint64_t have, TimePoint now, const std::function<Status(std::uint64_t)>& saved) {
  KILN_TRY(open(now));
  std::uint64_t at = std::clamp(have, size_, newest_.size);
  KILN_ASSIGN(bool good, continues(at));
  // What came after the last checkpoint may be of a history that was shown once and never again.
  if (!good && at != size_) {
    at = size_;
    KILN_ASSIGN(good, continues(at));
  }
  if (!good)
    return another(source_, "its first " + counted(at, "entry") +
                                " are not those of this mirror: the log was rewritten, or this is another");
  while (at < newest_.size) {
    const std::uint64_t end =
        std::min(newest_.size, (at / signing::kTileWidth + kTilesAtOnce) * signing::kTileWidth);
    KILN_TRY(take(at, end));
    at = end;
    KILN_TRY(saved(at));
  }
  KILN_TRY(tiles_.publish(note_));
  size_ = newest_.size;
  return {};
}

}  // namespace kiln::mirror
