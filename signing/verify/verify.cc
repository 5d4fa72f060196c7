#include "signing/verify/verify.h"

#include <algorithm>
#include <array>
#include <variant>

#include "manifest/artifact/fixture_list.h"
#include "manifest/artifact/media_types.h"
#include "manifest/base/printable.h"
#include "signing/bundle/bundle.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxBundles = 256;

class Verification {
 public:
  Verification(const VerifyRequest& request, const TrustRoot& root, const Policy& policy, TimePoint now)
      : request_(request), root_(root), policy_(policy), now_(now) {}

  Verdict run() {
    if (checkManifest()) {
      checkLayerFiles();
      checkBundles();
      checkPolicy();
      if (request_.fixtures) checkFixtures();
    }
    verdict_.passed = allHold();
    return std::move(verdict_);
  }

 private:
  bool allHold() const {
    return std::all_of(verdict_.lines.begin(), verdict_.lines.end(), [](auto& line) { return line.ok; });
  }
  void pass(std::string check, std::string detail) {
    verdict_.lines.push_back({true, std::move(check), std::move(detail)});
  }
  void refuse(std::string check, const Error& error) {
    if (allHold())
      verdict_.failure = error.code == Code::kPermissionDenied ? Code::kPermissionDenied : Code::kDataLoss;
    verdict_.lines.push_back({false, std::move(check), error.message});
  }

  // Streams a file and compares its size and hash; never takes more than the size that is expected.
  Status checkFile(const ArtifactFile& file, std::string* keep) {
    Hasher hasher;
    std::uint64_t left = file.digest.size;
    KILN_TRY(request_.read(file, [&](Bytes bytes) -> Status {
      if (bytes.size() > left)
        return fail(Code::kDataLoss, "is longer than " + std::to_string(file.digest.size) + " bytes");
      left -= bytes.size();
      hasher.update(bytes);
      if (keep) keep->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return {};
    }));
    if (left != 0) return fail(Code::kDataLoss, "is " + std::to_string(left) + " bytes short");
    if (Digest found = hasher.finish(); found != file.digest)
      return fail(Code::kDataLoss, "has digest " + found.text() + " instead of " + file.digest.text());
    return {};
  }

  bool checkManifest() {
    verdict_.artifact = digestOf(request_.artifactJson);
    const Digest& wanted = request_.artifact;
    if (wanted.hash != Digest{}.hash && wanted.hash != verdict_.artifact.hash) {
      refuse("artifact", {Code::kDataLoss, "artifact.json has digest " + verdict_.artifact.text() +
                                               " instead of " + wanted.text()});
      return false;
    }
    auto oci = parseOciManifest(request_.artifactJson);
    if (!oci) return refuse("artifact", oci.error()), false;
    pass("artifact", verdict_.artifact.text());
    std::string text;
    ArtifactFile config{"manifest.json", kManifestMediaType, oci->config};
    if (auto read = checkFile(config, &text); !read) return refuse("file manifest.json", read.error()), false;
    auto manifest = readManifest(text);
    if (!manifest) return refuse("file manifest.json", manifest.error()), false;
    if (auto same = checkLayers(*oci, *manifest); !same)
      return refuse("file manifest.json", same.error()), false;
    pass("file manifest.json", config.digest.text());
    verdict_.manifest = std::move(*manifest);
    config_ = config.digest;
    layers_ = std::move(oci->layers);
    return true;
  }

  static Result<Manifest> readManifest(const std::string& text) {
    KILN_ASSIGN(Json json, parseCanonicalJson(text));
    return Manifest::fromJson(json);
  }

  void checkLayerFiles() {
    for (const ArtifactFile& layer : layers_) {
      if (auto read = checkFile(layer, nullptr); !read)
        refuse("file " + layer.path, read.error());
      else
        pass("file " + layer.path, layer.digest.text());
    }
  }

  using Said = std::variant<Provenance, CheckStatement, Reproduction, Tombstone>;

  // The statement in a bundle whose signature holds, about this artifact and in agreement with its manifest.
  Result<Said> readBundle(const std::string& text, std::string& keyId) {
    KILN_ASSIGN(Bundle bundle, parseBundle(text));
    keyId = bundle.keyId;
    const PublicKey* key = root_.findKey(bundle.keyId);
    if (!key) return fail(Code::kPermissionDenied, "signed with a key that the trust root does not list");
    KILN_TRY(verifyEnvelope(bundle.envelope, std::array{*key}));
    KILN_ASSIGN(Statement statement, parseStatement(bundle.envelope.payload));
    if (statement.predicateType != kProvenanceType && statement.predicateType != kCheckType &&
        statement.predicateType != kReproductionType && statement.predicateType != kTombstoneType)
      return fail(Code::kInvalidArgument, "predicate type " + inQuotes(statement.predicateType) +
                                              " is none of " + kProvenanceType + ", " + kCheckType + ", " +
                                              kReproductionType + ", " + kTombstoneType);
    if (statement.subjects.size() != 1 || statement.subjects[0].sha256 != verdict_.artifact.hash)
      return fail(Code::kDataLoss, "its statement is about another artifact (sha256:" +
                                       toHex(statement.subjects[0].sha256) + ")");
    if (statement.predicateType == kCheckType) {
      KILN_ASSIGN(CheckStatement check, CheckStatement::fromJson(statement.predicate));
      KILN_TRY(root_.checkSigner(bundle.keyId, check.builderId, now_));
      return Said(std::move(check));
    }
    if (statement.predicateType == kReproductionType) {
      KILN_ASSIGN(Reproduction again, Reproduction::fromJson(statement.predicate));
      KILN_TRY(root_.checkSigner(bundle.keyId, again.rebuilderId, now_));
      if (again.manifest != config_)
        return fail(Code::kDataLoss,
                    "its statement reproduces another Manifest (" + again.manifest.text() + ")");
      return Said(std::move(again));
    }
    if (statement.predicateType == kTombstoneType) {
      KILN_ASSIGN(Tombstone tombstone, Tombstone::fromJson(statement.predicate));
      KILN_TRY(root_.checkSigner(bundle.keyId, tombstone.builderId, now_));
      return Said(std::move(tombstone));
    }
    KILN_ASSIGN(Provenance provenance, Provenance::fromJson(statement.predicate));
    KILN_TRY(checkAgainstSpec(provenance, verdict_.manifest.spec));
    KILN_TRY(root_.checkSigner(bundle.keyId, provenance.builderId, now_));
    return Said(std::move(provenance));
  }

  void keep(const std::string& line, const std::string& keyId, Said said) {
    if (auto* check = std::get_if<CheckStatement>(&said)) {
      pass(line, "check by " + printable(check->worker) + ", " + (check->passed() ? "passed" : "failed") +
                     ", signed by key " + keyId);
      verdict_.checks.push_back(std::move(*check));
      return;
    }
    if (auto* again = std::get_if<Reproduction>(&said)) {
      pass(line, "reproduced by " + printable(again->worker) + " of " + printable(again->operatorName) +
                     " (" + printable(again->rebuilderId) + "), signed by key " + keyId);
      verdict_.reproductions.push_back(std::move(*again));
      return;
    }
    if (auto* tombstone = std::get_if<Tombstone>(&said)) {
      pass(line, "not rebuildable since " + rfc3339(tombstone->issuedOn) + ": " +
                     printable(tombstone->reason) + ", signed by key " + keyId);
      verdict_.tombstones.push_back(std::move(*tombstone));
      return;
    }
    auto& provenance = std::get<Provenance>(said);
    pass(line, "signed by key " + keyId + " for builder " + printable(provenance.builderId));
    verdict_.statements.push_back(std::move(provenance));
  }

  void checkBundles() {
    if (request_.bundles.empty() || request_.bundles.size() > kMaxBundles)
      return refuse("bundles",
                    {Code::kDataLoss, request_.bundles.empty()
                                          ? "no bundle: the artifact is not signed"
                                          : "more than " + std::to_string(kMaxBundles) + " bundles"});
    std::string whyNone;
    for (std::size_t i = 0; i < request_.bundles.size(); ++i) {
      std::string check = "bundle " + std::to_string(i + 1), keyId;
      auto said = readBundle(request_.bundles[i], keyId);
      if (said) {
        keep(check, keyId, std::move(*said));
      } else if (said.error().code == Code::kPermissionDenied) {
        pass(check, "not counted: " + said.error().message);
        if (whyNone.empty()) whyNone = said.error().message;
      } else {
        refuse(check, said.error());
      }
    }
    if (!verdict_.statements.empty()) return;
    if (!whyNone.empty())
      refuse("signature", {Code::kPermissionDenied, "no statement that the trust root accepts: " + whyNone});
    else if (allHold())
      refuse("signature", {Code::kDataLoss, "no bundle says where the artifact comes from"});
  }

  // The first statement that satisfies every rule decides; if none does, the last one says what is missing.
  void checkPolicy() {
    std::vector<RuleResult> rules;
    for (const Provenance& provenance : verdict_.statements) {
      rules = evaluate(policy_, {root_.development, &provenance, verdict_.checks, verdict_.reproductions});
      if (std::all_of(rules.begin(), rules.end(), [](auto& rule) { return rule.ok; })) break;
    }
    for (RuleResult& rule : rules) {
      if (rule.ok)
        pass("policy " + rule.rule, std::move(rule.detail));
      else
        refuse("policy " + rule.rule, {Code::kPermissionDenied, rule.detail});
    }
  }

  // The files of the list that a counted statement names, if nothing else is there.
  Result<std::vector<FixtureFile>> coveredFixtures() const {
    const Digest list = digestOf(request_.fixtures->list);
    if (std::none_of(verdict_.statements.begin(), verdict_.statements.end(),
                     [&](const Provenance& provenance) { return provenance.fixtures() == list; }))
      return fail(Code::kDataLoss, "no accepted provenance names a fixtures.json with digest " + list.text());
    KILN_ASSIGN(FixtureList fixtures, parseFixtureList(request_.fixtures->list));
    for (const std::string& path : request_.fixtures->files)
      if (!std::ranges::binary_search(fixtures.files, path, {}, &FixtureFile::path))
        return fail(Code::kDataLoss, inQuotes(path) + " is not in the list that is signed");
    return std::move(fixtures.files);
  }

  void checkFixtures() {
    auto files = coveredFixtures();
    if (!files) return refuse("fixtures", files.error());
    bool matching = true;
    for (const FixtureFile& file : *files) {
      const ArtifactFile expected{"fixtures/" + file.path, "", file.digest};
      if (auto read = checkFile(expected, nullptr); !read) {
        refuse("fixture " + file.path, read.error());
        matching = false;
      }
    }
    if (matching) pass("fixtures", std::to_string(files->size()) + " files match the provenance");
  }

  const VerifyRequest& request_;
  const TrustRoot& root_;
  const Policy& policy_;
  const TimePoint now_;
  std::vector<ArtifactFile> layers_;
  Digest config_;  // of the Manifest
  Verdict verdict_;
};

}  // namespace

Status Verdict::status() const {
  for (const VerdictLine& line : lines)
    if (!line.ok) return fail(failure, line.check + ": " + line.detail);
  if (!passed) return fail(failure, "not verified");
  return {};
}

Verdict verifyArtifact(const VerifyRequest& request, const TrustRoot& root, const Policy& policy,
                       const Clock& clock, const Known& known) {
  return Verification(request, root, policy, std::max(clock.now(), known.latestSeen)).run();
}

}  // namespace kiln::signing
