#include "api/node/open.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "api/node/fetch.h"
#include "api/node/private_copy.h"
#include "manifest/base/presence.h"
#include "storage/oci/oci_export.h"

namespace kiln::node {
namespace fs = std::filesystem;
namespace {

bool isOurs(const struct stat& facts, bool sticky) {
  const bool owned = facts.st_uid == ::geteuid() || facts.st_uid == 0;
  return owned && ((facts.st_mode & 022) == 0 || (sticky && (facts.st_mode & S_ISVTX) != 0));
}

// An export is fetched from, as a farm would be.
Result<VerifiedArtifact> openExport(const std::string& directory, const std::optional<Digest>& wanted,
                                    const Trust& trust, const Clock& clock) {
  KILN_ASSIGN(const auto store, storage::OciLayoutStore::open(directory));
  auto found = storage::readExport(*store);
  if (!found)
    return fail(Error{Code::kDataLoss, directory + ": " + found.error().message, R"({"exitCode":5})"});
  if (wanted && wanted->hash != found->artifact.hash)
    return fail(Error{Code::kDataLoss, directory + ": holds another artifact, " + found->artifact.text(),
                      R"({"exitCode":5})"});
  VerifiedArtifact artifact;
  KILN_ASSIGN(artifact.copy, PrivateCopy::create());
  artifact.directory = artifact.copy->path() + "/artifact";
  ArtifactRef ref{"", found->artifact, found->bundles, found->fixtures};
  if (found->recalls) {
    KILN_ASSIGN(ref.recalls, storage::getBlob(*store, "", *found->recalls, signing::kMaxRecallsBytes));
  }
  auto verdict = fetchArtifact(*store, ref, artifact.directory, trust, clock);
  if (!verdict) return fail(verdict.error().in(directory));
  artifact.verdict = std::move(*verdict);
  return artifact;
}

// Whether ".." follows a name: that leads where whoever owns the name wants, and not where it is spelled to.
bool turnsBack(const fs::path& path) {
  bool named = false;
  for (const fs::path& part : path) {
    if (part == ".." && named) return true;
    named = named || (part != ".." && part != ".");
  }
  return false;
}

}  // namespace

bool isPrivate(const std::string& directory) {
  std::error_code error;
  struct stat facts{};
  // Who may write a folder on the way may put another directory in this one's place; a sticky one prevents
  // that. The path is without links, or whoever owns a link could turn it.
  if (turnsBack(directory)) return false;
  auto path = fs::absolute(directory, error).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  if (error || fs::canonical(path, error) != path || error) return false;
  for (auto above = path.parent_path();; above = above.parent_path()) {
    if (::stat(above.c_str(), &facts) != 0 || !isOurs(facts, true)) return false;
    if (above == above.parent_path()) break;
  }
  if (::lstat(directory.c_str(), &facts) != 0 || !isOurs(facts, false)) return false;
  for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    // A link never passes: by its mode anybody may write it.
    if (::lstat(it->path().c_str(), &facts) != 0 || !isOurs(facts, false)) return false;
  }
  return !error;
}

Result<VerifiedArtifact> openArtifact(const std::string& directory, const std::optional<Digest>& wanted,
                                      const Trust& trust, const Clock& clock) {
  if (directory.empty()) return fail(Code::kInvalidArgument, "no artifact directory is named: it is \"\"");
  std::error_code error;
  if (auto there = checkPresent(directory); !there && there.error().code != Code::kNotFound)
    return fail(there.error());
  if (!fs::is_directory(directory, error)) {
    return fail(Code::kNotFound, directory + ": no such artifact directory; kiln fetch makes one");
  }
  if (storage::OciLayoutStore::isLayout(directory)) return openExport(directory, wanted, trust, clock);
  VerifiedArtifact artifact;
  artifact.directory = directory;
  if (!isPrivate(directory)) {
    KILN_ASSIGN(artifact.copy, PrivateCopy::of(directory));
    artifact.directory = artifact.copy->path();
  }
  Trust current = trust;
  auto carried = signing::recallsIn(artifact.directory);
  if (!carried) return fail(carried.error().in(directory));
  KILN_TRY(current.learnCarried(*carried));
  artifact.verdict = signing::verifyDirectory({artifact.directory, wanted}, current.root, current.policy,
                                              clock, current.known());
  if (!artifact.verdict.passed) return fail(verificationError(artifact.verdict).in(directory));
  KILN_TRY(current.learn(artifact.verdict));
  return artifact;
}

Status recheckArtifact(const VerifiedArtifact& artifact, const Trust& trust, const Clock& clock) {
  const auto verdict = signing::verifyDirectory({artifact.directory, artifact.verdict.artifact, true},
                                                trust.root, trust.policy, clock, trust.known());
  if (!verdict.passed) return fail(verificationError(verdict));
  return {};
}

}  // namespace kiln::node
