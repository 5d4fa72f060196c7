#include "signing/verify/verify.h"

#include <algorithm>

#include "manifest/artifact/bundle_limit.h"
#include "manifest/artifact/fixture_list.h"
#include "manifest/artifact/media_types.h"
#include "manifest/base/printable.h"
#include "signing/verify/read_statement.h"

namespace kiln::signing {
namespace {

class Verification {
 public:
  Verification(const VerifyRequest& request, const TrustRoot& root, const Policy& policy, const Known& known,
               TimePoint now)
      : request_(request), root_(root), policy_(policy), known_(known), now_(now) {}

  Verdict run() {
    if (checkManifest()) {
      if (!request_.statementsOnly) checkLayerFiles();
      checkBundles();
      checkRecalls();
      checkPolicy();
      if (request_.fixtures && !request_.statementsOnly) checkFixtures();
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
    const auto& wanted = request_.artifact;
    if (wanted && wanted->hash != verdict_.artifact.hash) {
      refuse("artifact", {Code::kDataLoss, "artifact.json has digest " + verdict_.artifact.text() +
                                               " instead of " + wanted->text()});
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

  void keep(const std::string& line, CountedStatement counted) {
    const std::string by =
        ", signed by key " + counted.evidence.keyId + (counted.evidence.logged ? ", logged" : "");
    const Digest payload = counted.evidence.payload;
    if (auto* provenance = std::get_if<Provenance>(&counted.said)) {
      pass(line, "signed by key " + counted.evidence.keyId + (counted.evidence.logged ? ", logged," : "") +
                     " for builder " + printable(provenance->builderId) +
                     (counted.without.empty() ? "" : "; not counted: " + counted.without));
      verdict_.statements.push_back(std::move(*provenance));
      verdict_.counted.push_back(payload);
      verdict_.evidence.push_back(std::move(counted.evidence));
    } else if (!countsStatement(policy_, counted.evidence)) {
      pass(line, "not counted: the policy wants it in a log" + by);
    } else if (auto* check = std::get_if<CheckStatement>(&counted.said)) {
      pass(line,
           "check by " + printable(check->worker) + ", " + (check->passed() ? "passed" : "failed") + by);
      verdict_.checks.push_back(std::move(*check));
      verdict_.counted.push_back(payload);
    } else if (auto* again = std::get_if<Reproduction>(&counted.said)) {
      pass(line, "reproduced by " + printable(again->worker) + " of " + printable(again->operatorName) +
                     " (" + printable(again->rebuilderId) + ")" + by);
      verdict_.reproductions.push_back(std::move(*again));
      verdict_.counted.push_back(payload);
    } else if (auto* tombstone = std::get_if<Tombstone>(&counted.said)) {
      pass(line, "not rebuildable since " + rfc3339(tombstone->issuedOn) + ": " +
                     printable(tombstone->reason) + by);
      verdict_.tombstones.push_back(std::move(*tombstone));
    } else {
      auto& attestation = std::get<Attestation>(counted.said);
      pass(line, printable(attestation.predicateType) + " by " + printable(attestation.evidence.ids.front()) +
                     (attestation.summary ? attestation.summary->passed() ? ", PASSED" : ", FAILED" : "") +
                     (attestation.image ? ", image " + attestation.image->text() : "") +
                     (attestation.ir ? ", IR " + attestation.ir->ir.text() : "") + by);
      verdict_.attestations.push_back(std::move(attestation));
      verdict_.counted.push_back(payload);
    }
  }

  void checkBundles() {
    if (request_.bundles.empty())
      return refuse("bundles", {Code::kDataLoss, "no bundle: the artifact is not signed"});
    BundleCount count;
    for (const std::string& bundle : request_.bundles)
      if (const Status fits = count.add(bundle.size()); !fits) return refuse("bundles", fits.error());
    const StatementReader reader(root_, known_.recalls, now_, policy_.minWitnesses);
    const StatementSubject about{verdict_.artifact, config_, verdict_.manifest};
    std::string whyNone;
    for (std::size_t i = 0; i < request_.bundles.size(); ++i) {
      const std::string check = "bundle " + std::to_string(i + 1);
      auto counted = reader.read(request_.bundles[i], about);
      if (counted) {
        if (counted->cosigned) verdict_.cosigned = std::max(verdict_.cosigned, *counted->cosigned);
        keep(check, std::move(*counted));
      } else if (counted.error().code == Code::kPermissionDenied) {
        pass(check, "not counted: " + counted.error().message);
        if (whyNone.empty()) whyNone = counted.error().message;
      } else {
        refuse(check, counted.error());
      }
    }
    if (!verdict_.statements.empty()) return;
    if (!whyNone.empty())
      refuse("signature", {Code::kPermissionDenied, "no statement that the trust root accepts: " + whyNone});
    else if (allHold())
      refuse("signature", {Code::kDataLoss, "no bundle says where the artifact comes from"});
  }

  bool isProven() const { return known_.recalls->logged || root_.logs.empty(); }

  // Recalled content condemns the artifact, whoever signed it.
  void checkRecalls() {
    if (!known_.recalls) {
      if (root_.recallKeys) pass("recalls", "none are known here");
      return;
    }
    std::vector<Digest> made{verdict_.artifact};
    for (const Material& material : dependencies(verdict_.manifest.spec)) made.push_back(material.digest);
    for (const Digest& digest : made)
      if (const RecallEntry* recall = known_.recalls->condemns(digest))
        return refuse("recalls",
                      {Code::kPermissionDenied,
                       (digest == made.front() ? "" : digest.text() + " in it was ") + describe(*recall)});
    pass("recalls", "version " + std::to_string(known_.recalls->version) + " of " +
                        rfc3339(known_.recalls->issuedOn) + " condemns nothing in it" +
                        (now_ < known_.recalls->expires ? "" : "; it has expired") +
                        (isProven() ? "" : "; nothing proves that the log holds it"));
  }

  PolicyFacts factsOf(std::size_t statement) const {
    PolicyFacts facts{root_.development, &verdict_.statements[statement], verdict_.checks,
                      verdict_.reproductions};
    facts.evidence = &verdict_.evidence[statement];
    facts.manifest = &verdict_.manifest;
    facts.attestations = verdict_.attestations;
    facts.now = now_;
    if (known_.recalls && now_ < known_.recalls->expires && isProven())
      facts.recallsIssued = known_.recalls->issuedOn;
    return facts;
  }

  // The first statement that satisfies every rule decides; if none does, the last one says what is missing.
  void checkPolicy() {
    std::vector<RuleResult> rules;
    for (std::size_t i = 0; i < verdict_.statements.size(); ++i) {
      rules = evaluate(policy_, factsOf(i));
      verdict_.agreement = agreementOf(policy_, factsOf(i));
      if (std::all_of(rules.begin(), rules.end(), [](auto& rule) { return rule.ok; })) break;
    }
    for (RuleResult& rule : rules) {
      if (rule.ok)
        pass(std::string(kPolicyLine) + rule.rule, std::move(rule.detail));
      else
        refuse(std::string(kPolicyLine) + rule.rule, {Code::kPermissionDenied, rule.detail});
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
  const Known& known_;
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

const IrStatement* Verdict::ir() const {
  for (const Attestation& attestation : attestations)
    if (attestation.ir) return &*attestation.ir;
  return nullptr;
}

Verdict verifyArtifact(const VerifyRequest& request, const TrustRoot& root, const Policy& policy,
                       const Clock& clock, const Known& known) {
  return Verification(request, root, policy, known, std::max(clock.now(), known.latestSeen)).run();
}

}  // namespace kiln::signing
