#include "api/audit/log_audit.h"

#include <algorithm>
#include <map>

#include "api/audit/log_rows.h"
#include "api/audit/page_walk.h"
#include "api/audit/recalls_audit.h"
#include "manifest/statement/toolchain_admission.h"
#include "manifest/statement/tune_statement.h"
#include "manifest/statement/vsa.h"
#include "signing/bundle/bundle.h"
#include "signing/log/leaf.h"
#include "storage/tree/digest_proto.h"

namespace kiln::audit {
namespace {

constexpr std::uint64_t kMaxBundleBytes = 12u << 20;
constexpr std::uint64_t kKeptTiles = 64;        // of which a tree's hashes are held at once
constexpr std::size_t kMaxAskedAgain = 10'000;  // more are believed to be missing at once
constexpr std::uint64_t kMaxRows = 256u << 20;  // bytes of a tile's rows, which are held at once
constexpr char kSignatures[] = "signatures";

std::string nameOf(std::uint64_t place) {
  return "entry " + std::to_string(place);
}

class LogWalk {
 public:
  LogWalk(const Audit& audit, IndexSource& source, LogHistory& history)
      : audit_(audit),
        source_(source),
        history_(history),
        size_(history.newest().size),
        root_(history.newest().root),
        rows_(audit, history) {}

  Result<LogCounts> run(std::uint64_t from, const std::function<void(const LogCounts&)>& seen) {
    if (from > size_)
      return fail(Code::kOutOfRange, "the log has " + std::to_string(size_) + " entries; there is no entry " +
                                         std::to_string(from) + " to begin at");
    KILN_ASSIGN(recalls_, RecallsInForce::read(audit_, source_));
    for (std::uint64_t at = from; at < size_;) {
      const std::uint64_t end = std::min(size_, (at / signing::kTileWidth + 1) * signing::kTileWidth);
      KILN_TRY(checkTile(at, end));
      counts_.entries += end - at;
      at = end;
      if (seen) seen(counts_);
    }
    for (const auto& [place, leaf] : missing_) {
      KILN_ASSIGN(const auto rows, rowsOf(place, place + 1));
      KILN_TRY(checkEntry(place, leaf, rows, true));
    }
    KILN_TRY(checkRecalls());
    return counts_;
  }

 private:
  using Rows = std::map<std::uint64_t, v1::LoggedEntry>;

  void damaged(std::string subject, std::string what) {
    audit_.report(FindingKind::kDamagedLog, "log", std::move(subject), std::move(what));
  }

  // Entries [at, end), which are in one tile.
  Status checkTile(std::uint64_t at, std::uint64_t end) {
    const auto entries = signing::readEntries(history_.source(), size_, at, end);
    if (!entries) {
      if (isOutage(entries.error().code)) return fail(entries.error());
      damaged(nameOf(at) + " to " + std::to_string(end - 1), entries.error().message);
      return {};
    }
    rows_.forget();
    KILN_ASSIGN(const auto rows, rowsOf(at, end));
    if (!tree_ || ++treeTiles_ > kKeptTiles) {
      tree_.emplace(history_.source(), size_);
      treeTiles_ = 0;
    }
    for (const std::string& entry : *entries) {
      const auto leaf = signing::Leaf::parse(entry);
      const Status included = checkInclusion(at, entry);
      if (!included && isOutage(included.error().code)) return included;
      if (!included)
        damaged(nameOf(at), included.error().message);
      else if (!leaf)
        damaged(nameOf(at), leaf.error().message);
      else
        KILN_TRY(checkRow(at, entry, *leaf, rows));
      ++at;
    }
    return {};
  }

  Status checkInclusion(std::uint64_t place, const std::string& entry) {
    KILN_ASSIGN(const auto proof, signing::inclusionProof(*tree_, place, size_));
    return signing::verifyInclusion(place, size_, signing::leafHash(entry), proof, root_);
  }

  Status checkRow(std::uint64_t place, const std::string& entry, const signing::Leaf& leaf,
                  const Rows& rows) {
    if (recalls_.isRecall(leaf)) {
      ++counts_.recalls;
      if (!recalls_.holds(leaf)) lostRecalls_.emplace_back(place, leaf);
    }
    if (const auto at = rows.find(place); at != rows.end()) rows_.check(place, entry, leaf, at->second);
    return checkEntry(place, leaf, rows, missing_.size() >= kMaxAskedAgain);
  }

  // One that the farm lacks may just have come into the log: then it is in force a moment later.
  Status checkRecalls() {
    if (lostRecalls_.empty()) return {};
    KILN_ASSIGN(const auto now, RecallsInForce::read(audit_, source_, false));
    for (const auto& [place, leaf] : lostRecalls_)
      if (!now.holds(leaf))
        audit_.report(FindingKind::kMissingStatement, "recalls", nameOf(place),
                      "the log holds this recall, and the farm does not have it in force");
    return {};
  }

  // What the farm keeps of entries [begin, end).
  Result<Rows> rowsOf(std::uint64_t begin, std::uint64_t end) {
    Rows out;
    std::uint64_t bytes = 0;
    v1::ListLoggedRequest request;
    request.set_from(begin);
    while (request.from() < end) {
      request.set_page_size(static_cast<int>(end - request.from()));
      KILN_ASSIGN(const auto page, source_.logged(request));
      KILN_TRY(rows_.take(page));
      bytes += page.ByteSizeLong();
      if (bytes > kMaxRows)
        return fail(Code::kDataLoss, "the farm's rows of entries " + std::to_string(begin) + " to " +
                                         std::to_string(end - 1) + " have more than " +
                                         std::to_string(kMaxRows) + " bytes; its operator must look at it");
      for (const v1::LoggedEntry& entry : page.entries())
        if (entry.place() >= begin && entry.place() < end) out.emplace(entry.place(), entry);
      if (page.entries_size() == 0 || page.last()) break;
      const std::uint64_t next = page.entries(page.entries_size() - 1).place() + 1;
      if (next <= request.from()) return fail(Code::kInternal, "the farm's answers do not go on");
      request.set_from(next);
    }
    return out;
  }

  Status checkEntry(std::uint64_t place, const signing::Leaf& leaf, const Rows& rows, bool last) {
    const auto at = rows.find(place);
    const auto lost = [&] {
      audit_.report(FindingKind::kMissingStatement, kSignatures, nameOf(place),
                    "the farm has lost what it signed here");
      return Status();
    };
    if (at == rows.end()) return lost();
    const v1::LoggedEntry& row = at->second;
    if (row.foreign()) {
      if (!recalls_.isRecall(leaf)) ++counts_.foreign;  // a recall is of no instance
      return {};
    }
    if (!row.table().empty()) return checkBundle(place, leaf, row);
    if (!last) {
      missing_.emplace_back(place, leaf);
      return {};
    }
    return row.payload().empty() ? lost() : checkMissing(place, leaf, row);
  }

  // The index leads to the very signature that the log holds.
  Status checkBundle(std::uint64_t place, const signing::Leaf& leaf, const v1::LoggedEntry& row) {
    const auto digest = fromProto(row.bundle());
    KILN_ASSIGN(const auto text, readFor(audit_, digest.value_or(Digest{}), kMaxBundleBytes,
                                         {FindingKind::kMissingStatement, row.table(), row.payload(),
                                          "the bundle of " + nameOf(place)}));
    if (!text) return {};
    const auto bundle = signing::parseBundle(*text);
    if (!bundle) {
      audit_.report(FindingKind::kBadSignature, row.table(), row.payload(), bundle.error().message);
      return {};
    }
    const signing::Envelope& envelope = bundle->envelope;
    if (digestOf(envelope.payload).text() != row.payload() ||
        signing::logDigest(envelope.payloadType, envelope.payload) != leaf.digest)
      audit_.report(FindingKind::kTamperedRow, row.table(), row.payload(),
                    nameOf(place) + " of the log is about another statement than its bundle holds");
    else if (envelope.signatures.size() != 1 || envelope.signatures[0] != leaf.signature)
      audit_.report(FindingKind::kBadSignature, row.table(), row.payload(),
                    "its bundle has another signature than " + nameOf(place) + " of the log");
    return {};
  }

  // The index keeps the newest verdict on an artifact. Says whether it has one that was logged later.
  Result<bool> isReplaced(std::uint64_t place, const Statement& statement) {
    if (statement.predicateType != kVsaType || statement.subjects.size() != 1) return false;
    v1::ListIndexRequest request;
    request.set_artifact(Digest{statement.subjects[0].sha256, 0}.text());
    PageWalk walk("statements about an artifact");
    do {
      KILN_ASSIGN(const auto page, source_.statements(request));
      for (const v1::IndexedStatement& each : page.statements()) {
        const v1::StatementRef& ref = each.statement().statement();
        if (ref.predicate_type() != kVsaType) continue;
        const auto text = audit_.blobs.read(fromProto(ref.bundle()).value_or(Digest{}), kMaxBundleBytes);
        if (!text && isOutage(text.error().code)) return fail(text.error());
        const auto bundle = text ? signing::parseBundle(*text) : fail(text.error());
        if (bundle && bundle->logEntry && bundle->logEntry->index > place) return true;
      }
      KILN_TRY(walk.check(page.next_page_token(), page.statements_size()));
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    return false;
  }

  Status checkMissing(std::uint64_t place, const signing::Leaf& leaf, const v1::LoggedEntry& row) {
    const bool proven = digestOf(row.statement()).text() == row.payload() &&
                        signing::logDigest(signing::kInTotoPayload, row.statement()) == leaf.digest;
    if (!proven) {
      audit_.report(FindingKind::kTamperedRow, kSignatures, row.payload(),
                    nameOf(place) + " of the log is about another statement than its row");
      return {};
    }
    const auto statement = parseStatement(row.statement());
    if (statement) {
      KILN_ASSIGN(const bool replaced, isReplaced(place, *statement));
      if (replaced) return {};
    }
    const std::string type = statement ? statement->predicateType : "";
    std::string what = nameOf(place) + " of the log has no row in the index";
    if (statement) what += ": " + statement->predicateType;
    if (statement && !statement->subjects.empty())
      what += " about " + Digest{statement->subjects[0].sha256, 0}.text();
    audit_.report(FindingKind::kMissingStatement,
                  type == kToolchainType ? "toolchain_admissions"
                  : type == kTuneType    ? "tuning_records"
                                         : "statements",
                  row.payload(), std::move(what));
    return {};
  }

  const Audit& audit_;
  IndexSource& source_;
  LogHistory& history_;
  // What the walk began with: the history may read a newer checkpoint meanwhile.
  const std::uint64_t size_;
  const signing::TreeHash root_;
  LogRows rows_;
  RecallsInForce recalls_;
  std::vector<std::pair<std::uint64_t, signing::Leaf>> lostRecalls_;  // to be asked for again
  LogCounts counts_;
  std::optional<signing::TileTree> tree_;
  std::uint64_t treeTiles_ = 0;
  std::vector<std::pair<std::uint64_t, signing::Leaf>> missing_;  // to be asked for again
};

}  // namespace

Result<LogCounts> auditLog(const Audit& audit, IndexSource& source, LogHistory& history, std::uint64_t from,
                           const std::function<void(const LogCounts&)>& seen) {
  return LogWalk(audit, source, history).run(from, seen);
}

}  // namespace kiln::audit
