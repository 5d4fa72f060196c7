#include "api/client/export.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "api/node/staging.h"
#include "manifest/artifact/bundle_limit.h"
#include "manifest/artifact/fixture_list.h"
#include "manifest/artifact/media_types.h"
#include "manifest/artifact/oci.h"
#include "manifest/artifact/oci_layout.h"
#include "manifest/statement/provenance.h"
#include "manifest/tuning/entries.h"
#include "signing/receipt/receipt.h"
#include "storage/action/compiler_action.h"
#include "storage/tree/tree_walk.h"

namespace kiln::client {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxReceiptBytes = 4u << 20;

// NVIDIA's compiler parts may be used but not passed on by everybody, so an export names them by digest
// alone.
bool isNvidias(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name == "ptxas" || name.starts_with("libdevice.") || name.starts_with("libnvvm");
}

class Exporter {
 public:
  Exporter(const ExportRequest& request, node::Staging staging)
      : request_(request), staging_(std::move(staging)) {}

  Result<ExportSummary> run() {
    KILN_TRY(addArtifact());
    KILN_TRY(addBundles());
    KILN_TRY(addFixtures());
    KILN_TRY(addRecalls());
    if (request_.store) KILN_TRY(addClosure());
    KILN_ASSIGN(const std::string tag, makeReferrersIndex(referrers_));
    KILN_TRY(put(tag));
    KILN_ASSIGN(const std::string index, makeLayoutIndex(artifact_, referrers_, digestOf(tag)));
    KILN_TRY(staging_.write("index.json", asBytes(index)));
    KILN_TRY(staging_.write("oci-layout", asBytes(kOciLayoutText)));
    KILN_TRY(staging_.commit());
    return std::move(summary_);
  }

 private:
  static std::string nameOf(const Digest& digest) { return "blobs/sha256/" + digest.hex(); }
  std::string source(const std::string& path) const { return request_.artifact.directory + "/" + path; }

  bool isNew(const Digest& digest) {
    if (!written_.insert(digest).second) return false;
    summary_.bytes += digest.size;
    return true;
  }
  Status put(std::string_view text) {
    const Digest digest = digestOf(text);
    return isNew(digest) ? staging_.write(nameOf(digest), asBytes(text)) : Status{};
  }
  Status copy(const Digest& digest, const std::string& path) {
    return isNew(digest) ? staging_.copy(nameOf(digest), digest, source(path)) : Status{};
  }
  Status download(const Digest& digest, const std::string& what) {
    if (!isNew(digest)) return {};
    auto done = staging_.download(nameOf(digest), digest, *request_.store, request_.instance, nullptr);
    return done ? Status{} : fail(done.error().in(what));
  }

  Status addReferrer(const char* type, const Digest& config, std::vector<ArtifactFile> layers) {
    KILN_ASSIGN(const std::string text, makeReferrer({type, artifact_, config, std::move(layers)}));
    KILN_TRY(put(text));
    referrers_.push_back({digestOf(text), type});
    return {};
  }

  // The directory was verified; each file is hashed again on its way.
  Status addArtifact() {
    artifact_ = request_.artifact.verdict.artifact;
    KILN_TRY(copy(artifact_, "artifact.json"));
    KILN_ASSIGN(const Digest manifest, digestOfFile(source("manifest.json")));
    KILN_TRY(copy(manifest, "manifest.json"));
    const Manifest& facts = request_.artifact.manifest();
    for (const ArtifactFile& file : facts.files()) KILN_TRY(copy(file.digest, file.path));
    summary_.artifact = artifact_;
    return put(kEmptyConfig);
  }

  Status addBundles() {
    std::error_code error;
    std::vector<std::string> names;
    for (fs::directory_iterator it(source("bundles"), error), end; !error && it != end; it.increment(error))
      if (it->path().string().ends_with(".sigstore.json")) names.push_back(it->path().filename().string());
    if (error) return fail(errnoError(error.value(), source("bundles")));
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      KILN_ASSIGN(const Digest digest, digestOfFile(source("bundles/" + name)));
      if (digest.size > kMaxBundleBytes) return fail(Code::kDataLoss, "bundles/" + name + ": is too large");
      KILN_TRY(copy(digest, "bundles/" + name));
      KILN_ASSIGN(const std::string referrer, makeBundleReferrer(artifact_, digest));
      KILN_TRY(put(referrer));
      referrers_.push_back({digestOf(referrer), kBundleType});
      ++summary_.bundles;
    }
    return {};
  }

  Status addFixtures() {
    const std::string list = std::string("fixtures/") + kFixtureList;
    std::error_code error;
    if (!fs::exists(source(list), error)) return {};
    KILN_ASSIGN(const Digest digest, digestOfFile(source(list)));
    std::vector<ArtifactFile> layers{{kFixtureList, kBlobMediaType, digest}};
    KILN_TRY(copy(digest, list));
    for (fs::recursive_directory_iterator it(source("fixtures"), error), end; !error && it != end;
         it.increment(error)) {
      if (!it->is_regular_file(error)) continue;
      const std::string path = fs::relative(it->path(), source("fixtures"), error).generic_string();
      if (path == kFixtureList) continue;
      KILN_ASSIGN(const Digest one, digestOfFile(it->path().string()));
      KILN_TRY(copy(one, "fixtures/" + path));
      layers.push_back({path, kBlobMediaType, one});
    }
    if (error) return fail(errnoError(error.value(), source("fixtures")));
    std::sort(layers.begin() + 1, layers.end(),
              [](const ArtifactFile& a, const ArtifactFile& b) { return a.path < b.path; });
    summary_.fixtures = layers.size();
    return addReferrer(kFixturesType, digestOf(kEmptyConfig), std::move(layers));
  }

  // What was recalled by then; whoever opens the export needs it, and believes it by its signatures.
  Status addRecalls() {
    std::error_code error;
    if (!fs::exists(source(signing::kRecallsFile), error)) return {};
    KILN_ASSIGN(const Digest digest, digestOfFile(source(signing::kRecallsFile)));
    KILN_TRY(copy(digest, signing::kRecallsFile));
    return addReferrer(kRecallsType, digestOf(kEmptyConfig), {{signing::kRecallsFile, kRecallsType, digest}});
  }

  // One blob of the closure, by the name that people see; equal blobs are listed once.
  Status input(const std::string& path, const Digest& digest) {
    if (!listed_.insert(digest).second) return {};
    closure_.push_back({path, kBlobMediaType, digest});
    return download(digest, path);
  }

  Status addClosure() {
    const CompileSpec& spec = request_.artifact.manifest().spec;
    KILN_TRY(addAction("compile", storage::CompilerVerb::kCompile, spec));
    KILN_TRY(addAction("reference", storage::CompilerVerb::kReference, storage::referenceSpec(spec)));
    for (const ModelFile& file : spec.files) KILN_TRY(input("input/" + file.path, file.digest));
    if (spec.tuning) KILN_TRY(input(std::string("input/") + kTuningEntriesFile, *spec.tuning));
    KILN_TRY(addToolchain(spec.toolchainDigest));
    for (const Provenance& provenance : request_.artifact.verdict.statements)
      KILN_TRY(addEvidence(provenance));
    std::sort(summary_.omitted.begin(), summary_.omitted.end(),
              [](const ModelFile& a, const ModelFile& b) { return a.path < b.path; });
    KILN_ASSIGN(const std::string config, makeClosureConfig({summary_.omitted}));
    KILN_TRY(put(config));
    summary_.inputs = closure_.size();
    return addReferrer(kClosureType, digestOf(config), std::move(closure_));
  }

  // Made here, not read: the same function of the spec made it when it ran.
  Status addAction(const std::string& name, storage::CompilerVerb verb, const CompileSpec& spec) {
    KILN_ASSIGN(const storage::BuiltAction built, storage::buildAction(verb, spec));
    if (verb == storage::CompilerVerb::kCompile) KILN_TRY(checkRan(built.action));
    for (const storage::UploadItem& item : built.blobs) {
      KILN_TRY(put(item.bytes));
      if (listed_.insert(item.digest).second)
        closure_.push_back({name + "/" + item.digest.hex(), kBlobMediaType, item.digest});
    }
    return {};
  }

  Status checkRan(const Digest& action) const {
    for (const Provenance& provenance : request_.artifact.verdict.statements) {
      auto ran = provenance.internalParameters.find("action");
      if (ran != provenance.internalParameters.end() && ran->second == action.text()) return {};
    }
    return fail(Code::kFailedPrecondition,
                "no provenance of this artifact names the action that its spec defines, " + action.text() +
                    "; it was built by another release, whose kiln exports it");
  }

  Status addToolchain(const Digest& root) {
    auto entries = storage::walkTree(*request_.store, request_.instance, root);
    if (!entries) return fail(entries.error().in("toolchain " + root.text()));
    KILN_TRY(input("toolchain/tree", root));
    for (const storage::TreeEntry& entry : *entries) {
      if (entry.kind == storage::EntryKind::kSymlink) continue;
      if (entry.kind == storage::EntryKind::kFile && !request_.withNvidia && isNvidias(entry.path)) {
        summary_.omitted.push_back({entry.path, entry.digest});
        continue;
      }
      KILN_TRY(input("toolchain/" + entry.path, entry.digest));
    }
    return {};
  }

  // What the builders signed, and the policies that they say confined them.
  Status addEvidence(const Provenance& provenance) {
    for (const Builder& builder : provenance.builders) {
      KILN_TRY(input("receipts/" + builder.receipt.hex(), builder.receipt));
      KILN_ASSIGN(const std::string text,
                  storage::getBlob(*request_.store, request_.instance, builder.receipt, kMaxReceiptBytes));
      KILN_ASSIGN(const signing::Receipt receipt, signing::readReceiptDocument(text));
      KILN_TRY(input("policies/" + receipt.sandboxPolicy.hex(), receipt.sandboxPolicy));
    }
    return {};
  }

  const ExportRequest& request_;
  node::Staging staging_;
  Digest artifact_;
  std::set<Digest> written_, listed_;
  std::vector<LayoutEntry> referrers_;
  std::vector<ArtifactFile> closure_;
  ExportSummary summary_;
};

}  // namespace

Result<ExportSummary> exportArtifact(const ExportRequest& request) {
  KILN_ASSIGN(auto staging, node::Staging::begin(request.destination));
  return Exporter(request, std::move(staging)).run();
}

}  // namespace kiln::client
