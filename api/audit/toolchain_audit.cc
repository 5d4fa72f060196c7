#include "api/audit/toolchain_audit.h"

#include <algorithm>
#include <tuple>

#include "api/audit/page_walk.h"
#include "manifest/statement/toolchain_admission.h"
#include "manifest/toolchain/description.h"
#include "manifest/toolchain/lock.h"
#include "storage/tree/digest_proto.h"
#include "storage/tree/directory.h"

namespace kiln::audit {
namespace {

constexpr std::uint64_t kMaxDirectory = 4u << 20, kMaxDescription = 1u << 20;
constexpr std::uint64_t kMaxRows = 256u << 20;  // bytes of all rows, which are held at once
constexpr char kDescriptionFile[] = "toolchain.json";
constexpr char kTable[] = "toolchains", kAdmissions[] = "toolchain_admissions";

std::vector<index::PartRecord> partsIn(const v1::IndexedToolchain& row) {
  std::vector<index::PartRecord> out;
  for (const auto& part : row.parts())
    out.push_back(
        {part.kind(), part.name(), part.version(), part.path(), fromProto(part.digest()).value_or(Digest{})});
  std::sort(out.begin(), out.end());
  return out;
}

// Whether another admission of the same label counts in its place: one with a lock, and of these the newest.
bool isReplaced(const v1::Admission& admission, const v1::IndexedToolchain& row) {
  const auto rank = [](const v1::Admission& each) {
    const auto& at = each.statement().recorded();
    return std::tuple(each.has_lock(), at.seconds(), at.nanos());
  };
  return std::ranges::any_of(row.admissions(),
                             [&](const auto& other) { return rank(other) > rank(admission); });
}

// A tree may have several labels, and each of their locks adds to its parts.
struct Parts {
  std::string label;
  std::set<index::PartRecord> expected;
  std::vector<index::PartRecord> stored;
};

class ToolchainCheck {
 public:
  ToolchainCheck(const Audit& audit, KnownToolchains& known, std::map<Digest, Parts>& parts)
      : audit_(audit), known_(known), parts_(parts) {}

  Status run(const v1::IndexedToolchain& row) {
    const auto toolchainDigest = fromProto(row.toolchain_digest());
    if (!toolchainDigest) return tampered(row, "the row names no tree");
    const Digest hash{toolchainDigest->hash, 0};
    known_.labels[row.label()] = hash;
    Parts& parts = parts_[hash];
    parts.label = row.label();
    parts.stored = partsIn(row);
    KILN_TRY(checkDescription(row, *toolchainDigest, parts));
    if (row.admissions_size() == 0)
      audit_.report(FindingKind::kMissingStatement, kAdmissions, row.label(),
                    "no statement says that it was admitted");
    for (const v1::Admission& admission : row.admissions())
      KILN_TRY(checkAdmission(row, admission, *toolchainDigest, parts));
    return {};
  }

 private:
  Status tampered(const v1::IndexedToolchain& row, std::string what, const char* table = kTable) {
    audit_.report(FindingKind::kTamperedRow, table, row.label(), std::move(what));
    return {};
  }

  Status checkDescription(const v1::IndexedToolchain& row, const Digest& toolchainDigest, Parts& parts) {
    const auto read = [&](const Digest& digest, std::uint64_t limit, const char* name) {
      return readFor(audit_, digest, limit, {FindingKind::kTamperedRow, kTable, row.label(), name});
    };
    KILN_ASSIGN(const auto bytes, read(toolchainDigest, kMaxDirectory, "its tree"));
    if (!bytes) return {};
    const auto root = storage::parseDirectory(*bytes, 1);
    if (!root) return tampered(row, "its tree is none: " + root.error().message);
    const auto file =
        std::ranges::find(root->files(), kDescriptionFile, [](const auto& each) { return each.name(); });
    if (file == root->files().end()) return tampered(row, "its tree has no toolchain.json");
    KILN_ASSIGN(const auto text,
                read(fromProto(file->digest()).value_or(Digest{}), kMaxDescription, kDescriptionFile));
    if (!text) return {};
    if (*text != row.description_json())
      return tampered(row, "its description is not the tree's toolchain.json");
    const auto description = readToolchainDescription(*text);
    if (!description || description->label != row.label()) return tampered(row, "its tree is not called so");
    const auto components = index::componentsOf(*text);
    parts.expected.insert(components.begin(), components.end());
    known_.trees[{toolchainDigest.hash, 0}] = components;
    return {};
  }

  Status checkAdmission(const v1::IndexedToolchain& row, const v1::Admission& admission,
                        const Digest& toolchainDigest, Parts& parts) {
    const bool replaced = isReplaced(admission, row);
    KILN_ASSIGN(const auto said, openStatement(audit_, admission.statement(), kAdmissions, replaced));
    if (!said) return {};
    const auto admitted = ToolchainAdmission::fromJson(said->statement.predicate);
    const auto& subjects = said->statement.subjects;
    if (!admitted || subjects.size() != 1 || subjects[0].sha256 != toolchainDigest.hash)
      return tampered(row, "its admission is about another tree", kAdmissions);
    std::optional<Digest> lock;
    if (admission.has_lock()) lock = fromProto(admission.lock()).value_or(Digest{});
    if (admitted->label != row.label() || admitted->lock != lock)
      return tampered(row, "its admission gives another label or lock", kAdmissions);
    if (admitted->instance && *admitted->instance != audit_.blobs.instance())
      return tampered(row, "its admission is about another instance", kAdmissions);
    if (!admitted->instance && !replaced) known_.withoutInstance.push_back(row.label());
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(admitted->admittedOn.time_since_epoch()).count();
    if (admission.statement().recorded().seconds() != seconds)
      tampered(row, "it was admitted on " + rfc3339(admitted->admittedOn), kAdmissions);
    if (!lock || replaced) return {};  // the one in force names the same
    KILN_ASSIGN(const auto text, readFor(audit_, *lock, kMaxToolchainLockBytes,
                                         {FindingKind::kTamperedRow, kAdmissions, row.label(), "its lock"}));
    const auto locked = text ? index::lockedPartsOf(*text) : std::vector<index::PartRecord>();
    if (!locked) return tampered(row, "its lock is none: " + locked.error().message, kAdmissions);
    parts.expected.insert(locked->begin(), locked->end());
    return {};
  }

  const Audit& audit_;
  KnownToolchains& known_;
  std::map<Digest, Parts>& parts_;
};

}  // namespace

Result<KnownToolchains> auditToolchains(const Audit& audit, IndexSource& source, int pageSize) {
  KnownToolchains known;
  std::map<Digest, Parts> parts;
  ToolchainCheck check(audit, known, parts);
  v1::ListIndexRequest request;
  request.set_page_size(pageSize);
  PageWalk walk("toolchains");
  std::uint64_t stored = 0;
  do {
    KILN_ASSIGN(const auto page, source.toolchains(request));
    for (const v1::IndexedToolchain& row : page.toolchains()) {
      KILN_TRY(walk.takeInOrder(row.label()));
      stored += row.ByteSizeLong();
      if (stored > kMaxRows)
        return fail(Code::kDataLoss, "the farm's list of toolchains has more than " +
                                         std::to_string(kMaxRows) + " bytes; its operator must look at it");
      KILN_TRY(check.run(row));
      ++known.count;
    }
    KILN_TRY(walk.check(page.next_page_token(), page.toolchains_size()));
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  for (const auto& [tree, each] : parts)
    if (known.trees.contains(tree) && !std::ranges::equal(each.stored, each.expected))
      audit.report(FindingKind::kTamperedRow, "toolchain_parts", each.label,
                   "they are not what toolchain.json and the lock name");
  return known;
}

}  // namespace kiln::audit
