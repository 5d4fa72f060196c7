#include "api/pull/seen_logs.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "api/audit/log_history.h"
#include "manifest/base/counted.h"
#include "manifest/base/durable_file.h"
#include "manifest/base/file.h"
#include "manifest/base/printable.h"
#include "manifest/json/reader.h"
#include "signing/trust/root_logs.h"

namespace kiln::pull {
namespace {

constexpr std::size_t kMaxFileBytes = 4u << 20;
constexpr std::size_t kMaxLogs = 32;  // of the newest roots alone: those of before are of no use

tl::unexpected<Error> stale(std::string message) {
  return fail(Error{Code::kDataLoss, std::move(message), R"({"exitCode":5})"});
}

Result<std::map<std::string, std::string>> load(const std::string& path) {
  auto text = readRegular(path, kMaxFileBytes, O_NOFOLLOW);
  if (!text && text.error().code == Code::kNotFound) return std::map<std::string, std::string>();
  const auto damaged = [&](const Error& error) {
    return Error{Code::kDataLoss,
                 path + ": " + error.message + "; remove it to begin anew with what the next source shows",
                 R"({"exitCode":5})"};
  };
  if (!text) return fail(damaged(text.error()));
  const auto read = [&]() -> Result<std::map<std::string, std::string>> {
    KILN_ASSIGN(const Json json, parseCanonicalJson(*text));
    KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, ""));
    KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
    KILN_TRY(reader.expect("kind", "SeenLogs"));
    KILN_ASSIGN(const std::vector<std::string> notes, reader.strings("checkpoints"));
    KILN_TRY(reader.finish());
    std::map<std::string, std::string> out;
    for (const std::string& note : notes) {
      KILN_ASSIGN(const signing::Note parsed, signing::parseNote(note));
      KILN_ASSIGN(const signing::Checkpoint checkpoint, signing::Checkpoint::parse(parsed.text));
      out[checkpoint.origin] = note;
    }
    return out;
  }();
  return read ? read : fail(damaged(read.error()));
}

Result<std::string> fileOf(const std::map<std::string, std::string>& newest) {
  Json notes = Json::array();
  for (const auto& [origin, note] : newest) notes.push_back(note);
  return toCanonicalJson(
      {{"apiVersion", "kiln/v1"}, {"kind", "SeenLogs"}, {"checkpoints", std::move(notes)}});
}

Result<signing::Checkpoint> checkpointIn(const std::string& note) {
  KILN_ASSIGN(const signing::Note parsed, signing::parseNote(note));
  return signing::Checkpoint::parse(parsed.text);
}

// A log that shows one checkpoint, whatever it would show when asked again.
class Pinned final : public signing::LogSource {
 public:
  Pinned(signing::LogSource& log, std::string checkpoint) : log_(log), checkpoint_(std::move(checkpoint)) {}
  const std::string& where() const override { return log_.where(); }
  Result<std::string> read(const signing::TilePath& path) override { return log_.read(path); }
  Result<std::string> checkpoint() override { return checkpoint_; }

 private:
  signing::LogSource& log_;
  const std::string checkpoint_;
};

std::string entries(std::uint64_t count) {
  return counted(count, "entry");
}

// The log has what the recalls known here are proven by.
Status checkAgainst(const signing::Recalls& known, const signing::Checkpoint& now) {
  for (const signing::Checkpoint& seen : known.seen) {
    if (seen.origin != now.origin || seen.size <= now.size) continue;
    return stale("its log has " + entries(now.size) + ", and recalls known here are proven by one of " +
                 entries(seen.size) + ": it is behind");
  }
  return {};
}

}  // namespace

Result<SeenLogs> SeenLogs::open(const std::string& rootPath) {
  SeenLogs out(rootPath + ".logs");
  KILN_ASSIGN(out.newest_, load(out.path_));
  return out;
}

Result<std::string> SeenLogs::check(signing::LogSource& source, const node::Trust& trust,
                                    TimePoint now) const {
  const signing::RootLogs logs(trust.root);
  if (logs.empty()) return std::string();
  auto note = source.checkpoint();
  if (!note && note.error().code == Code::kNotFound) return stale("it shows no checkpoint of the log");
  if (!note) return fail(note.error());
  const auto shown = logs.open(*note, now).map_error([](const Error& error) {
    return error.asEvidence("its log's checkpoint");
  });
  if (!shown) return fail(shown.error());
  if (trust.recalls) KILN_TRY(checkAgainst(*trust.recalls, shown->checkpoint));
  std::string before;
  if (const auto seen = newest_.find(shown->checkpoint.origin); seen != newest_.end()) {
    KILN_ASSIGN(const signing::Checkpoint known, checkpointIn(seen->second));
    if (known.size > shown->checkpoint.size)
      return stale("its log has " + entries(shown->checkpoint.size) + ", and " + entries(known.size) +
                   " were seen before: it is behind, or was cut");
    before = seen->second;
  }
  const std::vector<signing::VerifierKey> keys(logs.logs().begin(), logs.logs().end());
  Pinned pinned(source, *note);
  KILN_ASSIGN(const auto history, audit::LogHistory::open(pinned, keys, before));
  return history.note();
}

Status SeenLogs::remember(const std::string& checkpoint) {
  if (checkpoint.empty()) return {};
  KILN_ASSIGN(const signing::Checkpoint seen, checkpointIn(checkpoint));
  const std::string lock = path_ + ".lock";
  const UniqueFd alone(::open(lock.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!alone && (errno == EROFS || errno == EACCES || errno == EPERM)) return {};
  if (!alone || ::flock(alone.get(), LOCK_EX) != 0) return fail(errnoError(errno, lock));
  KILN_ASSIGN(newest_, load(path_));
  if (const auto known = newest_.find(seen.origin); known != newest_.end()) {
    KILN_ASSIGN(const signing::Checkpoint before, checkpointIn(known->second));
    if (before.size >= seen.size) return {};
  } else if (newest_.size() >= kMaxLogs) {
    newest_.clear();
  }
  newest_[seen.origin] = checkpoint;
  KILN_ASSIGN(const std::string text, fileOf(newest_));
  return replaceFile(path_, text, 0600);
}

Status checkRecallsFresh(const std::string& offered, const node::Trust& trust) {
  if (!trust.recalls) return {};
  const std::string known = "version " + std::to_string(trust.recalls->version) + " is known here";
  if (offered.empty()) return stale("it offers no recalls, and " + known);
  const auto read = signing::Recalls::parse(offered, trust.root, signing::LogProofs::kIfAny);
  if (!read) return stale("its recalls are not those of the root's keys: " + read.error().message);
  if (read->version >= trust.recalls->version) return {};
  return stale("its recalls are version " + std::to_string(read->version) + ", and " + known);
}

}  // namespace kiln::pull
