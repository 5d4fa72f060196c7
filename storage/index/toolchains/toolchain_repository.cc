#include "storage/index/toolchains/toolchain_repository.h"

#include "manifest/base/nearest.h"
#include "manifest/base/printable.h"
#include "manifest/base/short_digest.h"
#include "storage/index/rows/codec.h"
#include "storage/index/toolchains/toolchain_parts.h"

namespace kiln::index {
namespace {

using postgres::Connection;
using postgres::Row;

ToolchainRecord toolchainAt(const Row& row) {
  ToolchainRecord out;
  out.instance = row.get<std::string>("instance");
  out.label = row.get<std::string>("label");
  out.toolchainDigest = digestAt(row, "hash", "size");
  out.description = row.get<std::string>("description");
  out.targets = row.get<std::vector<std::string>>("targets");
  out.isDefault = row.get<bool>("is_default");
  out.added = row.get<TimePoint>("added");
  out.lock = optionalDigestAt(row, "lock_hash", "lock_size");
  out.admission = optionalDigestAt(row, "bundle_hash", "bundle_size");
  out.admitted = row.get<std::optional<TimePoint>>("admitted");
  return out;
}

// Every toolchain with whether it is the default, and its admission: one that names a lock, if any does, and
// of these the newest.
constexpr char kSelect[] =
    "SELECT t.*, d.label IS NOT NULL AS is_default, a.lock_hash, a.lock_size, a.bundle_hash, a.bundle_size, "
    "a.admitted "
    "FROM toolchains t LEFT JOIN toolchain_defaults d ON d.instance = t.instance AND d.label = t.label LEFT "
    "JOIN LATERAL (SELECT * FROM toolchain_admissions x WHERE x.instance = t.instance AND x.label = t.label "
    "ORDER BY x.locked DESC, x.admitted DESC LIMIT 1) a ON true ";

Error unknown(const std::string& name, const std::vector<ToolchainRecord>& all) {
  if (all.empty())
    return {Code::kNotFound, "this farm has no toolchain yet: add one with `kiln toolchain add`", {}};
  std::string listed;
  std::vector<std::string> labels;
  for (const ToolchainRecord& toolchain : all) {
    listed += (listed.empty() ? "" : ", ") + toolchain.label;
    labels.push_back(toolchain.label);
  }
  const std::string near = orNearest(name, labels);
  return {
      Code::kNotFound,
      "no toolchain is called " + inQuotes(name) + near + (near.empty() ? ";" : "") + " there are: " + listed,
      {}};
}

// The tree of a labelled toolchain whose hash lies in the range, if there is one. kInvalidArgument for
// several.
Result<std::optional<Digest>> treeIn(Connection& connection, const std::string& instance,
                                     const std::string& name, const DigestRange& range) {
  KILN_ASSIGN(
      const postgres::Rows rows,
      connection.execute("SELECT DISTINCT hash, size FROM toolchains WHERE instance = $1 AND hash BETWEEN "
                         "$2 AND $3 ORDER BY hash LIMIT $4",
                         {instance, hashParam(range.first), hashParam(range.last), kMaxMeant}));
  KILN_ASSIGN(const auto found, rows.map([](const Row& row) { return digestAt(row, "hash", "size"); }));
  if (found.size() > 1) return fail(severalMeant(name, "toolchains' digests", found));
  return found.empty() ? std::optional<Digest>() : found.front();
}

}  // namespace

Status addToolchain(Connection& connection, const ToolchainRecord& toolchain, bool makeDefault) {
  KILN_ASSIGN(
      postgres::Rows added,
      connection.execute(
          "INSERT INTO toolchains (instance, label, hash, size, description, targets, added) "
          "VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
          {toolchain.instance, toolchain.label, hashParam(toolchain.toolchainDigest),
           toolchain.toolchainDigest.size, toolchain.description, toolchain.targets, toolchain.added}));
  if (added.affected() == 0) {
    KILN_ASSIGN(ToolchainRecord there, findToolchain(connection, toolchain.instance, toolchain.label));
    if (there.toolchainDigest != toolchain.toolchainDigest)
      return fail(Code::kAlreadyExists, "label " + inQuotes(toolchain.label) + " already stands for " +
                                            there.toolchainDigest.text() +
                                            "; a label never changes, choose another one");
  }
  KILN_TRY(insertParts(connection, toolchain.instance, toolchain.toolchainDigest,
                       componentsOf(toolchain.description)));
  const char* sql =
      makeDefault ? "INSERT INTO toolchain_defaults VALUES ($1, $2) ON CONFLICT (instance) DO UPDATE SET "
                    "label = excluded.label"
                  : "INSERT INTO toolchain_defaults VALUES ($1, $2) ON CONFLICT DO NOTHING";
  KILN_TRY(connection.execute(sql, {toolchain.instance, toolchain.label}));
  return {};
}

Result<ToolchainRecord> lockToolchain(Connection& connection, const std::string& instance,
                                      const std::string& label) {
  KILN_TRY(connection.execute("SELECT FROM toolchains WHERE instance = $1 AND label = $2 FOR UPDATE",
                              {instance, label}));
  return findToolchain(connection, instance, label);
}

Status addAdmission(Connection& connection, const AdmissionRecord& admission) {
  KILN_TRY(
      connection.execute("INSERT INTO toolchain_admissions VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                         {admission.instance, admission.label, admission.lock.has_value(),
                          hashParam(admission.lock), sizeParam(admission.lock), hashParam(admission.payload),
                          hashParam(admission.bundle), admission.bundle.size, admission.admitted}));
  return {};
}

Result<ToolchainRecord> findToolchain(Connection& connection, const std::string& instance,
                                      const std::string& name) {
  std::optional<Digest> digest;
  if (auto parsed = Digest::parse(name, 0)) digest = *parsed;
  if (const auto range = shortDigestRange(name)) {
    KILN_ASSIGN(digest, treeIn(connection, instance, name, *range));
  }
  KILN_ASSIGN(
      postgres::Rows rows,
      connection.execute(
          kSelect +
              std::string(
                  "WHERE t.instance = $1 AND CASE WHEN $2 = '' THEN d.label IS NOT NULL ELSE t.label = $2 OR "
                  "t.hash = $3 END ORDER BY t.label = $2 DESC, t.added LIMIT 1"),
          {instance, name, hashParam(digest)}));
  KILN_ASSIGN(auto found, rows.first(toolchainAt));
  if (found) return std::move(*found);
  KILN_ASSIGN(auto all, listToolchains(connection, instance));
  return fail(unknown(name, all));
}

Result<std::vector<ToolchainRecord>> listToolchains(Connection& connection, const std::string& instance) {
  KILN_ASSIGN(postgres::Rows rows,
              connection.execute(kSelect + std::string("WHERE t.instance = $1 ORDER BY t.added, t.label"),
                                 {instance}));
  return rows.map(toolchainAt);
}

}  // namespace kiln::index
