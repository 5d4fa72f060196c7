#include "coordinator/garbage/reachable.h"

#include <array>

#include "coordinator/jobs/evidence.h"
#include "coordinator/jobs/submission.h"
#include "manifest/artifact/fixture_list.h"
#include "manifest/artifact/oci.h"
#include "manifest/statement/check_statement.h"
#include "manifest/statement/compile_summary.h"
#include "manifest/statement/image_statement.h"
#include "manifest/statement/ir_statement.h"
#include "manifest/statement/provenance.h"
#include "manifest/statement/tombstone.h"
#include "manifest/statement/tune_statement.h"
#include "manifest/toolchain/lock.h"
#include "signing/bundle/bundle.h"
#include "signing/receipt/receipt.h"
#include "storage/tree/directory.h"

namespace kiln::service {
namespace {

using signing::Bundle;

constexpr std::uint64_t kMaxDocument = 16u << 20;
constexpr std::size_t kMaxDepth = 128;
constexpr std::size_t kMaxDamaged = 100;

// The walk through one instance.
class Walk {
 public:
  Walk(storage::BlobStore& blobs, std::string instance, const std::optional<signing::PublicKey>& key,
       Reached& out)
      : blobs_(blobs), instance_(std::move(instance)), key_(key), out_(out) {}

  Status run(const index::InstanceRoots& roots) {
    for (const auto& [digest, root] : roots.artifacts) KILN_TRY(artifact(root));
    for (const Digest& tree : roots.toolchains) KILN_TRY(directory(tree, 0));
    for (const Digest& each : roots.locks) KILN_TRY(lock(each));
    for (const Digest& bundle : roots.admissions) keep(bundle);
    for (const Digest& each : roots.tuned) keep(each);
    for (const Digest& bundle : roots.tuningStatements) KILN_TRY(tuning(bundle));
    for (const Digest& source : roots.sources) keep(source);
    for (const Digest& each : roots.actions) KILN_TRY(action(each));
    for (const std::string& text : roots.deliveries) KILN_TRY(delivery(text));
    for (const index::ResultRecord& each : roots.results) KILN_TRY(result(each));
    return {};
  }

 private:
  // True the first time.
  bool keep(const Digest& digest) { return out_.needed.add(instance_, digest.hash); }

  // Keeps the document and hands out its text; nothing if it is not there, which is noted.
  Result<std::optional<std::string>> document(const Digest& digest, const char* what) {
    keep(digest);
    auto text = storage::getBlob(blobs_, instance_, digest, kMaxDocument);
    if (text) return std::optional(std::move(*text));
    const Code code = text.error().code;
    if (code != Code::kNotFound && code != Code::kDataLoss) return fail(text.error().in(what));
    if (out_.damaged.size() < kMaxDamaged)
      out_.damaged.insert(instance_ + " " + digest.text() + " (" + what + ")");
    return std::optional<std::string>();
  }

  Status directory(const Digest& digest, std::size_t depth) {
    if (depth > kMaxDepth) return fail(Code::kOutOfRange, "a tree is deeper than 128 directories");
    if (!entered_.insert(digest).second) return {};
    KILN_ASSIGN(auto text, document(digest, "directory"));
    if (!text) return {};
    KILN_ASSIGN(auto listed, storage::parseDirectory(*text, depth));
    for (const auto& file : listed.files()) {
      KILN_ASSIGN(Digest blob, fromProto(file.digest()));
      keep(blob);
    }
    for (const auto& child : listed.directories()) {
      KILN_ASSIGN(Digest below, fromProto(child.digest()));
      KILN_TRY(directory(below, depth + 1));
    }
    return {};
  }

  Status lock(const Digest& digest) {
    KILN_ASSIGN(auto text, document(digest, "toolchain lock"));
    if (!text) return {};
    KILN_ASSIGN(const ToolchainLock read, readToolchainLock(*text));
    for (const LockedInput& input : read.inputs) keep(input.digest);
    return {};
  }

  Status action(const Digest& digest) {
    if (!entered_.insert(digest).second) return {};
    KILN_ASSIGN(auto text, document(digest, "action"));
    if (!text) return {};
    reapi::Action message;
    if (!message.ParseFromString(*text))
      return fail(Code::kDataLoss, "action " + digest.text() + " does not parse");
    KILN_ASSIGN(Digest command, fromProto(message.command_digest()));
    KILN_ASSIGN(Digest root, fromProto(message.input_root_digest()));
    keep(command);
    return directory(root, 0);
  }

  Status artifact(const index::ArtifactRoot& root) {
    ++out_.artifacts;
    KILN_ASSIGN(auto text, document(root.manifest, "artifact manifest"));
    if (text) {
      KILN_ASSIGN(OciManifest oci, parseOciManifest(*text));
      keep(oci.config);
      for (const ArtifactFile& layer : oci.layers) keep(layer.digest);
    }
    if (root.fixtures) KILN_TRY(directory(*root.fixtures, 0));
    std::vector<Tombstone> tombstones;
    std::vector<Bundle> bundles;
    for (const index::BundleRecord& record : root.bundles) {
      KILN_ASSIGN(auto bundle, document(record.bundle, "bundle"));
      if (!bundle) continue;
      KILN_ASSIGN(Bundle parsed, signing::parseBundle(*bundle));
      if (auto tombstone = tombstoneIn(parsed, root.manifest)) tombstones.push_back(std::move(*tombstone));
      bundles.push_back(std::move(parsed));
    }
    bool covered = false;
    for (const Bundle& bundle : bundles) {
      const Digest payload = digestOf(bundle.envelope.payload);
      bool dropped = false;
      for (const Tombstone& tombstone : tombstones) dropped = dropped || tombstone.covers(payload);
      covered = covered || dropped;
      KILN_TRY(statement(bundle, dropped));
    }
    out_.tombstoned += covered;
    return {};
  }

  // What gives inputs up is only what is signed, by our own key, about this artifact.
  std::optional<Tombstone> tombstoneIn(const Bundle& bundle, const Digest& artifact) const {
    if (!key_ || !signing::verifyEnvelope(bundle.envelope, std::array{*key_})) return {};
    auto said = parseStatement(bundle.envelope.payload);
    if (!said || said->predicateType != kTombstoneType || said->subjects.size() != 1 ||
        said->subjects[0].sha256 != artifact.hash)
      return {};
    auto tombstone = Tombstone::fromJson(said->predicate);
    return tombstone ? std::optional(std::move(*tombstone)) : std::nullopt;
  }

  Status statement(const Bundle& bundle, bool withoutInputs) {
    KILN_ASSIGN(Statement said, parseStatement(bundle.envelope.payload));
    if (said.predicateType == kProvenanceType) {
      KILN_ASSIGN(Provenance provenance, Provenance::fromJson(said.predicate));
      return this->provenance(provenance, withoutInputs);
    }
    if (said.predicateType == kCompileType)
      return {};  // it repeats what the artifact and its provenance name
    if (said.predicateType == kImageType)
      return {};  // the image is put together from the artifact's files and bundles about it
    if (said.predicateType == kIrType) {
      KILN_ASSIGN(const IrStatement ir, IrStatement::fromJson(said.predicate));
      for (const ModelFile& file : ir.files) keep(file.digest);
      keep(ir.action);
      return receipt(ir.receipt, false);  // what it was made from is the provenance's to keep
    }
    if (said.predicateType == kCheckType) {
      KILN_ASSIGN(CheckStatement check, CheckStatement::fromJson(said.predicate));
      keep(check.plan);
      KILN_TRY(receipt(check.receipt, true));
      return action(check.action);
    }
    keepEverythingNamed(said.predicate);
    return {};
  }

  // The record is a root of its own; what was run for it need not be kept.
  Status tuning(const Digest& bundle) {
    KILN_ASSIGN(auto text, document(bundle, "bundle"));
    if (!text) return {};
    KILN_ASSIGN(const Bundle parsed, signing::parseBundle(*text));
    KILN_ASSIGN(const Statement said, parseStatement(parsed.envelope.payload));
    KILN_ASSIGN(const TuneStatement tuning, TuneStatement::fromJson(said.predicate));
    keep(tuning.plan);
    return receipt(tuning.receipt, false);
  }

  Status provenance(const Provenance& said, bool withoutInputs) {
    for (const Builder& builder : said.builders) KILN_TRY(receipt(builder.receipt, !withoutInputs));
    for (const Material& material : said.byproducts) {
      keep(material.digest);
      if (material.name == kFixturesByproduct) KILN_TRY(fixtures(material.digest));
      if (material.name == kDissentByproduct) KILN_TRY(receipt(material.digest, false));
    }
    if (withoutInputs) return {};
    for (const Material& material : said.resolvedDependencies) {
      if (material.name == "toolchain")
        KILN_TRY(directory(material.digest, 0));
      else
        keep(material.digest);
    }
    return {};
  }

  Status fixtures(const Digest& list) {
    KILN_ASSIGN(auto text, document(list, "fixtures.json"));
    if (!text) return {};
    KILN_ASSIGN(FixtureList fixtures, parseFixtureList(*text));
    for (const FixtureFile& file : fixtures.files) keep(file.digest);
    return {};
  }

  // A receipt document, the policy that it names, and what it was about.
  Status receipt(const Digest& digest, bool withAction) {
    KILN_ASSIGN(auto text, document(digest, "receipt"));
    if (!text) return {};
    KILN_ASSIGN(Json json, parseStrictJson(*text));
    auto envelope = json.find("envelope");
    if (envelope == json.end())
      return fail(Code::kDataLoss, "receipt " + digest.text() + " holds no envelope");
    KILN_ASSIGN(signing::Receipt said, signing::readReceipt(envelope->dump()));
    keep(said.sandboxPolicy);
    return withAction ? action(said.action) : Status();
  }

  // Keeps every SHA-256 in a predicate that is not known here, without going further.
  void keepEverythingNamed(const Json& json) {
    if (json.is_structured()) {
      for (const Json& below : json) keepEverythingNamed(below);
    } else if (const auto* text = json.get_ptr<const std::string*>()) {
      auto digest = Digest::parse(*text, 0);
      if (digest) keep(*digest);
    }
  }

  Status delivery(const std::string& text) {
    KILN_ASSIGN(DeliverySpec spec, jobs::readDelivery(text));
    if (!spec.check) return {};
    keep(spec.check->plan);
    for (const ModelFile& file : spec.check->files) keep(file.digest);
    return {};
  }

  Status result(const index::ResultRecord& record) {
    KILN_ASSIGN(jobs::Outputs outputs, jobs::readOutputs(record));
    for (const jobs::OutputFile& file : outputs.files) keep(file.digest);
    if (auto receipt = signing::readReceipt(record.receipt)) keep(receipt->sandboxPolicy);
    return {};
  }

  storage::BlobStore& blobs_;
  const std::string instance_;
  const std::optional<signing::PublicKey>& key_;
  Reached& out_;
  std::set<Digest> entered_;  // directories and actions
};

}  // namespace

Result<Reached> findReachable(storage::BlobStore& blobs,
                              const std::map<std::string, index::InstanceRoots>& roots,
                              const std::optional<signing::PublicKey>& key) {
  Reached out;
  for (const auto& [instance, each] : roots)
    if (Status walked = Walk(blobs, instance, key, out).run(each); !walked)
      return fail(walked.error().in("finding what instance " + instance + " needs"));
  return out;
}

}  // namespace kiln::service
