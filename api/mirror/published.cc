#include "api/mirror/published.h"

#include <algorithm>

#include "manifest/statement/ir_statement.h"
#include "signing/verify/verify.h"

namespace kiln::mirror {
namespace {

constexpr std::size_t kMaxNamedBy = 64;

// The list comes first, and then the files by their path: as in an export, so that it has the same digest.
Referrer fixturesOf(const ArtifactRecord& record) {
  Referrer out{kFixturesType, record.artifact, digestOf(kEmptyConfig), {}};
  for (const FixtureFile& file : record.fixtures)
    out.layers.push_back({file.path, kBlobMediaType, file.digest});
  std::ranges::sort(out.layers, [](const ArtifactFile& a, const ArtifactFile& b) {
    const bool first = a.path == kFixtureList, second = b.path == kFixtureList;
    return first != second ? first : a.path < b.path;
  });
  return out;
}

Referrer recallsOf(const ArtifactRecord& record, const Digest& recalls) {
  return {kRecallsType,
          record.artifact,
          digestOf(kEmptyConfig),
          {{signing::kRecallsFile, kRecallsType, recalls}}};
}

}  // namespace

Result<std::shared_ptr<const Published::Entry>> Published::entryOf(ArtifactRecord record,
                                                                   const std::optional<Digest>& recalls) {
  auto entry = std::make_shared<Entry>();
  for (const Digest& bundle : record.bundles) {
    KILN_ASSIGN(const std::string text, makeBundleReferrer(record.artifact, bundle));
    entry->referrers.push_back(digestOf(text).hash);
  }
  if (!record.fixtures.empty()) {
    KILN_ASSIGN(const std::string text, makeReferrer(fixturesOf(record)));
    entry->referrers.push_back(digestOf(text).hash);
  }
  if (!record.ir.empty()) {
    KILN_ASSIGN(const std::string text, makeReferrer(irReferrer(record.artifact, record.ir)));
    entry->referrers.push_back(digestOf(text).hash);
  }
  if (recalls) {
    KILN_ASSIGN(const std::string text, makeReferrer(recallsOf(record, *recalls)));
    entry->recalls = digestOf(text).hash;
  }
  for (std::size_t i = 0; i < record.images.size(); ++i) {
    const gateway::PublishedImage& image = record.images[i];
    const auto documents = makeImage(image.image);
    // One that makes another image than its own is served to nobody.
    if (!documents || digestOf(documents->manifest).hash != image.digest.hash) continue;
    KILN_ASSIGN(const std::string text, makeBundleReferrer(digestOf(documents->manifest), image.bundle));
    for (const Digest& name : {image.digest, digestOf(documents->config), digestOf(text)})
      entry->images.emplace_back(name.hash, i);
    for (const Digest& layer : image.image.layers) entry->images.emplace_back(layer.hash, i);
  }
  entry->record = std::move(record);
  return std::shared_ptr<const Entry>(std::move(entry));
}

void Published::name(const Digest& blob, const Entry& by) {
  Named& named = blobs_[blob.hash];
  named.blob = blob;
  const bool known = !named.by.empty() && named.by.back() == &by;
  if (!known && named.by.size() < kMaxNamedBy) named.by.push_back(&by);
}

void Published::add(std::shared_ptr<const Entry> entry) {
  const ArtifactRecord& record = entry->record;
  for (const Digest& file : record.files) name(file, *entry);
  for (const Digest& bundle : record.bundles) name(bundle, *entry);
  for (const FixtureFile& file : record.fixtures) name(file.digest, *entry);
  for (const ModelFile& file : record.ir) name(file.digest, *entry);
  for (std::size_t i = 0; i < entry->referrers.size(); ++i)
    referrers_[entry->referrers[i]] = {entry.get(), i};
  if (recalls_) referrers_[entry->recalls] = {entry.get(), entry->referrers.size()};
  for (const auto& [hash, place] : entry->images) images_.try_emplace(hash, &record.images[place]);
  artifacts_[record.artifact.hash] = std::move(entry);
}

Result<std::shared_ptr<const Published>> Published::make(std::vector<ArtifactRecord> records,
                                                         std::optional<Digest> recalls,
                                                         const Published& before) {
  auto out = std::make_shared<Published>();
  out->recalls_ = recalls;
  for (ArtifactRecord& record : records) {
    const auto known = before.artifacts_.find(record.artifact.hash);
    if (known != before.artifacts_.end() && before.recalls_ == recalls && known->second->record == record) {
      out->add(known->second);
      continue;
    }
    KILN_ASSIGN(auto entry, entryOf(std::move(record), recalls));
    out->add(std::move(entry));
  }
  return std::shared_ptr<const Published>(std::move(out));
}

const ArtifactRecord* Published::artifact(const Digest& hash) const {
  const auto found = artifacts_.find(hash.hash);
  return found == artifacts_.end() ? nullptr : &found->second->record;
}

std::optional<Digest> Published::blob(const Digest& hash) const {
  if (recalls_ && recalls_->hash == hash.hash) return recalls_;
  const auto found = blobs_.find(hash.hash);
  return found == blobs_.end() ? std::nullopt : std::optional(found->second.blob);
}

const gateway::PublishedImage* Published::image(const Digest& hash) const {
  const auto found = images_.find(hash.hash);
  return found == images_.end() ? nullptr : found->second;
}

std::vector<Digest> Published::artifactsOf(const Digest& blob) const {
  std::vector<Digest> out;
  if (const auto found = blobs_.find(blob.hash); found != blobs_.end())
    for (const Entry* entry : found->second.by) out.push_back(entry->record.artifact);
  return out;
}

gateway::PublishedArtifact Published::referrersOf(const ArtifactRecord& record) const {
  gateway::PublishedArtifact out{record.artifact, record.bundles, {}};
  if (!record.fixtures.empty()) out.others.push_back(fixturesOf(record));
  if (!record.ir.empty()) out.others.push_back(irReferrer(record.artifact, record.ir));
  if (recalls_) out.others.push_back(recallsOf(record, *recalls_));
  return out;
}

std::optional<gateway::PublishedArtifact> Published::referrer(const Digest& hash) const {
  const auto found = referrers_.find(hash.hash);
  if (found == referrers_.end()) return std::nullopt;
  const auto& [entry, place] = found->second;
  const gateway::PublishedArtifact all = referrersOf(entry->record);
  if (place < all.bundles.size()) return gateway::PublishedArtifact{all.artifact, {all.bundles[place]}, {}};
  return gateway::PublishedArtifact{all.artifact, {}, {all.others[place - all.bundles.size()]}};
}

}  // namespace kiln::mirror
