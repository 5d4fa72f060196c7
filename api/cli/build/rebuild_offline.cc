#include "api/cli/build/rebuild_offline.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "api/cli/base/print.h"
#include "api/cli/base/program_directory.h"
#include "api/cli/base/trust_settings.h"
#include "api/node/private_copy.h"
#include "manifest/artifact/fixture_list.h"
#include "manifest/artifact/oci.h"
#include "manifest/base/file.h"
#include "manifest/base/new_directory.h"
#include "manifest/base/presence.h"
#include "manifest/base/printable.h"
#include "manifest/base/run_program.h"
#include "manifest/json/error_line.h"
#include "manifest/json/reader.h"
#include "manifest/statement/members.h"
#include "signing/bundle/bundle.h"
#include "signing/token/key_location.h"
#include "storage/oci/oci_export.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxReportBytes = 16u << 20;
constexpr auto kRebuildLimit = std::chrono::hours(24);

// A file that should have come out as it was, and did not.
struct Difference {
  std::string path;
  std::string expected, found;  // digests, "" where there is no such file
};

// What kiln-rebuilder reports of one action.
struct Again {
  Digest action;
  std::int64_t exitCode = 0;
  std::string log;
};

struct Report {
  Digest sandboxPolicy;
  std::vector<ModelFile> absent;
  Again compile, reference;
};

Result<std::string> readFile(const std::string& path, std::uint64_t limit) {
  return readRegular(path, limit, O_NOFOLLOW).map_error([](Error error) {
    if (error.code == Code::kInvalidArgument)
      error.code = Code::kDataLoss;  // of the rebuilder, not of the user
    return error;
  });
}

Result<Again> readAction(ObjectReader& parent, const char* name) {
  KILN_ASSIGN(ObjectReader reader, parent.object(name));
  Again again;
  KILN_ASSIGN(again.action, readDigestMember(reader, "action"));
  KILN_ASSIGN(again.exitCode, reader.integer("exitCode", -kMaxJsonInteger, kMaxJsonInteger));
  KILN_ASSIGN(again.log, reader.string("log"));
  KILN_TRY(reader.array("outputs"));
  KILN_TRY(reader.finish());
  return again;
}

Result<Report> readReport(const std::string& path) {
  KILN_ASSIGN(const std::string text, readFile(path, kMaxReportBytes));
  KILN_ASSIGN(const Json json, parseStrictJson(text, {.bytes = kMaxReportBytes, .depth = 16}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "report"));
  Report report;
  KILN_ASSIGN(report.sandboxPolicy, readDigestMember(reader, "sandboxPolicy"));
  KILN_ASSIGN(report.compile, readAction(reader, "compile"));
  KILN_ASSIGN(report.reference, readAction(reader, "reference"));
  KILN_ASSIGN(const Json* absent, reader.array("absent"));
  for (const Json& one : *absent) {
    KILN_ASSIGN(ObjectReader file, ObjectReader::open(one, "report.absent"));
    ModelFile read;
    KILN_ASSIGN(read.path, file.string("path"));
    KILN_ASSIGN(read.digest, file.digest());
    report.absent.push_back(std::move(read));
  }
  KILN_TRY(reader.finish());
  return report;
}

Result<Report> runRebuilder(const std::string& directory, const CompileSpec& spec, const std::string& work,
                            const std::string& out) {
  KILN_ASSIGN(const std::string specText, toCanonicalJson(spec.toJson()));
  KILN_TRY(writeFile(work + "/spec.json", asBytes(specText), O_EXCL, 0644));
  KILN_ASSIGN(const auto ended,
              runProgram({programDirectory() + "/kiln-rebuilder", "--layout", directory, "--spec",
                          work + "/spec.json", "--state", work + "/state", "--out", out},
                         {.limit = kRebuildLimit}));
  if (ended.exitCode == 0) return readReport(out + "/report.json");
  auto error = readErrorLine(ended.out);
  if (!error)
    return fail(Code::kInternal,
                fmt::format("kiln-rebuilder ended with exit code {} and said nothing", ended.exitCode));
  if (error->code == Code::kFailedPrecondition) error->details = R"({"exitCode":7})";
  return fail(std::move(*error));
}

// Compares by hashing what came out; the report's word is not taken.
class Comparison {
 public:
  Comparison(const node::VerifiedArtifact& artifact, const std::string& out)
      : artifact_(artifact), out_(out) {}

  Status run() {
    const std::string original = artifact_.directory + "/manifest.json";
    KILN_ASSIGN(const Digest config, digestOfFile(original));
    compare("manifest.json", config, out_ + "/compile/manifest.json");
    const Manifest& facts = artifact_.manifest();
    for (const ArtifactFile& file : facts.files())
      compare(file.path, file.digest, out_ + "/compile/" + file.path);
    KILN_TRY(compareFixtures());
    return compareArtifact();
  }

  const std::vector<Difference>& differences() const { return differences_; }
  const Digest& manifest() const { return manifest_; }
  const std::optional<Digest>& fixtures() const { return fixtures_; }

 private:
  void compare(const std::string& path, const Digest& expected, const std::string& file) {
    const auto found = digestOfFile(file);
    if (!found || *found != expected)
      differences_.push_back({path, expected.text(), found ? found->text() : std::string()});
  }

  // fixtures.json names every fixture, and the artifact's own were verified.
  Status compareFixtures() {
    const std::string list = artifact_.directory + "/fixtures/" + kFixtureList;
    std::error_code error;
    if (!fs::exists(list, error)) return {};
    KILN_ASSIGN(const std::string text, readFile(list, kMaxFixtureListBytes));
    KILN_ASSIGN(const FixtureList fixtures, parseFixtureList(text));
    fixtures_ = digestOf(text);
    compare(std::string("fixtures/") + kFixtureList, *fixtures_, out_ + "/reference/" + kFixtureList);
    for (const FixtureFile& file : fixtures.files)
      compare("fixtures/" + file.path, file.digest, out_ + "/reference/" + file.path);
    return {};
  }

  // The OCI manifest, and with it the artifact's digest, from what came out.
  Status compareArtifact() {
    auto text = readFile(out_ + "/compile/manifest.json", kMaxOciManifestBytes);
    if (!text) return {};  // told already
    manifest_ = digestOf(*text);
    auto json = parseCanonicalJson(*text);
    auto manifest = json ? Manifest::fromJson(*json) : fail(json.error());
    auto oci = manifest ? makeOciManifest(*manifest, manifest_) : fail(manifest.error());
    const std::string found = oci ? digestOf(*oci).text() : std::string();
    if (found != artifact_.verdict.artifact.text())
      differences_.push_back({"artifact.json", artifact_.verdict.artifact.text(), found});
    return {};
  }

  const node::VerifiedArtifact& artifact_;
  const std::string out_;
  std::vector<Difference> differences_;
  Digest manifest_;
  std::optional<Digest> fixtures_;
};

tl::unexpected<Error> notReproduced(std::string message, const std::vector<Difference>& differences) {
  Json list = Json::array();
  for (const Difference& one : differences)
    list.push_back({{"path", one.path}, {"first", one.expected}, {"second", one.found}});
  return fail(Error{Code::kAborted, std::move(message),
                    Json{{"exitCode", 9}, {"differences", std::move(list)}}.dump()});
}

Status checkRan(const Again& again, const char* what) {
  if (again.exitCode == 0) return {};
  const auto error = readErrorLine(again.log);
  return notReproduced(fmt::format("the {} was run again and ended with exit code {}{}", what, again.exitCode,
                                   error ? ": " + kiln::printable(error->message, 500) : ""),
                       {});
}

Status checkSame(const std::vector<Difference>& differences, const std::string& out) {
  if (differences.empty()) return {};
  std::string names;
  for (std::size_t i = 0; i < differences.size() && i < 10; ++i)
    names += (i ? ", " : "") + differences[i].path;
  if (differences.size() > 10) names += fmt::format(" and {} more", differences.size() - 10);
  return notReproduced(
      "not reproduced; different: " + names +
          (out.empty() ? "; --out DIR keeps what came out for kiln diff" : "; kiln diff tells where"),
      differences);
}

// Nothing where no statement is wanted.
Result<std::optional<signing::PrivateKey>> loadKey(const OfflineRebuild& options) {
  if (options.key.empty()) return std::optional<signing::PrivateKey>();
  if (!options.statement.empty() && ::access(options.statement.c_str(), F_OK) == 0)
    return fail(Code::kInvalidArgument, "--statement " + options.statement + ": is there already");
  KILN_ASSIGN(auto key, signing::loadKey(options.key));
  return std::optional<signing::PrivateKey>(std::move(key));
}

// The bundle of the statement that all of it came out again.
Result<std::string> signStatement(const OfflineRebuild& options, const signing::PrivateKey& key,
                                  const Digest& artifact, Reproduction again) {
  again.rebuilderId =
      options.id.empty() ? "urn:kiln:rebuilder:" + digestOf(key.publicKey().der()).hex() : options.id;
  again.worker = "offline";
  again.operatorName = options.operatorName;
  KILN_ASSIGN(const std::string text, reproductionStatement(artifact, again));
  KILN_ASSIGN(const auto envelope, signing::signEnvelope(signing::kInTotoPayload, text, key));
  return signing::makeBundle(envelope, key.publicKey());
}

Status leaveStatement(const OfflineRebuild& options, const std::string& bundle) {
  if (!options.statement.empty()) return writeFile(options.statement, asBytes(bundle), O_EXCL, 0644);
  KILN_ASSIGN(const auto store, storage::OciLayoutStore::open(options.directory));
  KILN_ASSIGN(const auto current, storage::readExport(*store));
  return storage::addBundle(options.directory, current, bundle);
}

}  // namespace

std::string rebuiltThough(const Error& refusal) {
  return "kiln: refused, and made again all the same: " + refusal.message;
}

Status rebuildOffline(const Context& context, const OfflineRebuild& options) {
  const SystemClock clock;
  // What could not be signed at the end is told before anything is built.
  KILN_ASSIGN(const auto key, loadKey(options));
  if (!storage::OciLayoutStore::isLayout(options.directory)) {
    const Status present = checkPresent(options.directory);
    if (!present && present.error().code != Code::kNotFound) return present;
    const bool there = present.has_value();
    return fail(there ? Code::kInvalidArgument : Code::kNotFound,
                options.directory + (there ? ": is no export" : ": there is no such directory") +
                    "; kiln export ARTIFACT --oci DIR --with-inputs makes one");
  }
  KILN_ASSIGN(const OpenedArtifact opened, openThoughRecalled(context, options.directory));
  const node::VerifiedArtifact& artifact = opened.artifact;
  if (opened.recalled) note(rebuiltThough(*opened.recalled));
  if (!context.json && !opened.recalled) note("verified " + artifact.verdict.artifact.text());
  KILN_ASSIGN(const auto work, node::PrivateCopy::create());
  auto made = NewDirectory::make(options.out.empty() ? work->path() + "/out" : options.out);
  if (!made) return fail(made.error().in("--out"));

  Reproduction again;
  again.startedOn = clock.now();
  KILN_ASSIGN(const Report report,
              runRebuilder(options.directory, artifact.manifest().spec, work->path(), made->path()));
  again.finishedOn = clock.now();
  KILN_TRY(made->keep(0755));  // also what came out otherwise
  const std::string& out = made->destination();
  KILN_TRY(checkRan(report.compile, "compile"));
  KILN_TRY(checkRan(report.reference, "reference evaluation"));
  Comparison comparison(artifact, out);
  KILN_TRY(comparison.run());
  KILN_TRY(checkSame(comparison.differences(), options.out));

  again.compile = report.compile.action;
  again.manifest = comparison.manifest();
  again.fixtures = comparison.fixtures();
  if (again.fixtures) again.reference = report.reference.action;
  again.sandboxPolicy = report.sandboxPolicy;
  again.absent = report.absent;
  if (key) {
    KILN_ASSIGN(const std::string bundle, signStatement(options, *key, artifact.verdict.artifact, again));
    KILN_TRY(leaveStatement(options, bundle));
  }
  const std::string left = options.key.empty()         ? ""
                           : options.statement.empty() ? options.directory
                                                       : options.statement;
  if (context.json) {
    Json absent = Json::array();
    for (const auto& file : again.absent) absent.push_back(file.path);
    printJson({{"artifact", artifact.verdict.artifact.text()},
               {"reproduced", true},
               {"refused", opened.recalled ? Json(opened.recalled->message) : Json()},
               {"absent", std::move(absent)},
               {"statement", left}});
    return {};
  }
  for (const auto& file : again.absent)
    note("without toolchain/" + file.path +
         ", which the export names by digest only and the run had no use for");
  note(left.empty() ? "no statement was signed; --key FILE names the rebuilder's key" : "signed in " + left);
  printLine("reproduced " + artifact.verdict.artifact.text());
  return {};
}

}  // namespace kiln::cli
