// A farm with one signed artifact, as a mirror sees it, and a mirror of it.
#pragma once

#include "api/mirror/update.h"
#include "tests/api/mirror/growing_log.h"
#include "tests/api/node/lying_store.h"
#include "tests/api/node/signed_artifact.h"
#include "tests/support/manual_clock.h"
#include "tests/support/signed_root.h"
#include "tests/support/temp_directory.h"

namespace kiln::testing_support {

// Answers from what a test sets.
class ScriptedFarm final : public mirror::Farm {
 public:
  explicit ScriptedFarm(storage::BlobStore& blobs) : blobs_(blobs) {}

  Result<mirror::ArtifactPage> artifacts(const std::string& pageToken) override {
    const std::size_t at = pageToken.empty() ? 0 : std::stoul(pageToken);
    mirror::ArtifactPage page;
    if (at < offered.size()) page.artifacts = {offered[at].artifact};
    if (at + 1 < offered.size()) page.next = std::to_string(at + 1);
    ++pages;
    return page;
  }
  Result<mirror::LoggedPage> logged(std::uint64_t from) override {
    mirror::LoggedPage page{{}, from, true, true};
    for (std::size_t at = from; at < entries.size(); ++at) page.statements.push_back(entries[at]);
    page.next = std::max<std::uint64_t>(from, entries.size());
    return page;
  }
  Result<node::ArtifactRef> find(const Digest& artifact) override {
    for (const node::ArtifactRef& ref : offered)
      if (ref.artifact.hash == artifact.hash) return ref;
    return fail(Code::kNotFound, "no such artifact");
  }
  Result<std::string> recalls() override { return recallsText; }
  storage::BlobStore& blobs() override { return blobs_; }
  signing::LogSource* log() override { return source; }

  std::vector<node::ArtifactRef> offered;  // by digest
  std::vector<mirror::LoggedStatement> entries;
  std::string recallsText;
  signing::LogSource* source = nullptr;
  int pages = 0;

 private:
  storage::BlobStore& blobs_;
};

// Counts reads, and fails when it is told to.
class CountingStore final : public storage::BlobStore {
 public:
  explicit CountingStore(storage::BlobStore& base) : base_(base) {}
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const storage::ByteSink& sink) override {
    if (reads == failAfter) return fail(Code::kUnavailable, "connection reset");
    ++reads;
    return base_.read(instance, digest, offset, length, sink);
  }
  Result<std::unique_ptr<storage::BlobWriter>> beginWrite(const std::string&, const Digest&) override {
    return fail(Code::kPermissionDenied, "read-only");
  }
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override {
    return base_.findMissing(instance, digests);
  }
  int reads = 0, failAfter = -1;

 private:
  storage::BlobStore& base_;
};

struct MirroredFarm {
  SignedArtifact artifact;
  LyingStore lying{artifact.farm.store};
  CountingStore counted{lying};
  ScriptedFarm farm{counted};
  GrowingLog log;
  ManualClock time{SystemClock().now()};
  std::vector<signing::PrivateKey> recallKeys = newKeys(2);
  TempDirectory directory;
  const std::string place = directory / "mirror";
  std::vector<std::string> told;
  mirror::UpdateOptions options{
      .maxBytes = 0, .all = false, .tell = [this](const std::string& what) { told.push_back(what); }};

  MirroredFarm() {
    artifact.trust.root.recallKeys = signing::RecallKeys{thresholdOf(1, recallKeys), 2, 10};
    artifact.writeTrust(directory.path());
    farm.offered = {artifact.ref};
  }
  node::Trust trust() const {
    return node::Trust::load(directory / "root.json", directory / "policy.json").value();
  }
  Result<mirror::UpdateReport> update() {
    KILN_ASSIGN(const auto held, mirror::MirrorDirectory::openForUpdate(place, "default"));
    auto known = trust();
    return mirror::update(held, farm, known, time, options);
  }
  // The next version of recalls.json, with one more recall of these artifacts if there are any.
  std::string issue(const std::string& before, std::vector<Digest> artifacts) const {
    const TimePoint now = SystemClock().now();
    std::optional<signing::Recalls> old;
    if (!before.empty())
      old = signing::Recalls::parse(before, artifact.trust.root, signing::LogProofs::kIfAny).value();
    std::optional<signing::Recall> recall;
    if (!artifacts.empty()) {
      recall.emplace();
      recall->what = artifacts.front().text();
      recall->reason = "wrong weights";
      recall->issuedOn = now;
      recall->listed = std::move(artifacts);
    }
    return signing::Recalls::issue(old ? &*old : nullptr, recall, recallKeys, now, now + std::chrono::days(7),
                                   "")
        .value();
  }
  std::optional<mirror::ArtifactRecord> record() const {
    return mirror::MirrorDirectory::open(place).value().record(artifact.ref.artifact).value();
  }
};

}  // namespace kiln::testing_support
