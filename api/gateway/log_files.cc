#include "api/gateway/log_files.h"

#include "signing/log/checkpoint.h"

namespace kiln::gateway {
namespace {

// Without the place's name, which is nobody's business.
Result<std::string> hidden(Result<std::string> read, const char* missing) {
  if (!read && read.error().code == Code::kNotFound) return fail(Code::kNotFound, missing);
  return read;
}

}  // namespace

Result<std::string> PublishedLogFiles::checkpoint() {
  return hidden(tiles_->checkpoint(), "the log has no checkpoint yet");
}

Result<std::string> PublishedLogFiles::tile(const std::string& path) {
  constexpr char kMissing[] = "the log has no such tile";
  KILN_ASSIGN(std::string text, checkpoint());
  KILN_ASSIGN(signing::Note note, signing::parseNote(text));
  KILN_ASSIGN(signing::Checkpoint covered, signing::Checkpoint::parse(note.text));
  KILN_ASSIGN(signing::TilePath tile, signing::TilePath::parse(path));
  if (!tile.within(covered.size)) return fail(Code::kNotFound, kMissing);
  return hidden(tiles_->read(tile), kMissing);
}

}  // namespace kiln::gateway
