#include <algorithm>

#include "api/cli/audit/commands.h"
#include "api/cli/base/artifact_option.h"
#include "api/cli/base/print.h"
#include "api/cli/base/trust_settings.h"
#include "api/cli/view/provenance_text.h"
#include "api/client/audit_client.h"
#include "manifest/statement/compare.h"
#include "storage/tree/digest_proto.h"
#include "storage/tree/directory.h"

namespace kiln::cli {
namespace {

constexpr std::uint64_t kMaxDirectory = 4u << 20, kMaxDescription = 1u << 20;
constexpr char kDescriptionFile[] = "toolchain.json";

struct Options {
  std::string artifact, against, format = "text";
};

// The toolchain.json of a tree that a signed statement names, by the digests that lead to it.
Result<ToolchainDescription> toolchainOf(client::Client& client, const Digest& tree) {
  KILN_ASSIGN(const auto bytes, storage::getBlob(client.blobs(), client.instance(), tree, kMaxDirectory));
  if (digestOf(bytes) != tree) return fail(Code::kDataLoss, "what came is another tree");
  KILN_ASSIGN(const auto root, storage::parseDirectory(bytes, 1));
  const auto file =
      std::ranges::find(root.files(), kDescriptionFile, [](const auto& each) { return each.name(); });
  if (file == root.files().end()) return fail(Code::kNotFound, "the tree has no toolchain.json");
  KILN_ASSIGN(const Digest digest, fromProto(file->digest()));
  KILN_ASSIGN(const auto text, storage::getBlob(client.blobs(), client.instance(), digest, kMaxDescription));
  if (digestOf(text) != digest) return fail(Code::kDataLoss, "what came is another toolchain.json");
  return readToolchainDescription(text);
}

// What a farm can add to the statements; a directory that is looked at without one goes without.
void askFarm(client::Client& client, graph::Ancestry& ancestry) {
  if (!ancestry.provenances.empty()) {
    const Digest tree = ancestry.provenances.front().provenance.resolvedDependencies.front().digest;
    if (auto toolchain = toolchainOf(client, tree))
      ancestry.toolchain = std::move(*toolchain);
    else
      note("the toolchain's components are not known: " + toolchain.error().message);
  }
  v1::ListSubmissionsRequest request;
  request.set_artifact(ancestry.artifact.text());
  const auto submissions = client::AuditClient(client).submissions(request);
  if (!submissions) return note("who submitted is not known: " + submissions.error().message);
  for (const auto& submission : submissions->submissions())
    ancestry.submitters.push_back({submission.submitter(), submission.job()});
  if (!submissions->next_page_token().empty()) note("there are more submissions than are shown");
}

struct Opened {
  node::VerifiedArtifact artifact;
  graph::Ancestry ancestry;
  std::optional<Error> recalled;  // why nobody may use it
};

// Everything but who submitted is read from statements whose signatures hold under the named root, or has a
// digest that these name; the index is not asked.
Result<Opened> open(const Context& context, const std::string& name) {
  Opened out;
  KILN_ASSIGN(OpenedArtifact opened, openThoughRecalled(context, name));
  out.artifact = std::move(opened.artifact);
  out.recalled = std::move(opened.recalled);
  const auto& verdict = out.artifact.verdict;
  out.ancestry = {verdict.artifact, {}, verdict.reproductions, verdict.checks, {}, {}};
  for (std::size_t i = 0; i < verdict.statements.size(); ++i)
    out.ancestry.provenances.push_back({verdict.statements[i], verdict.evidence.at(i).payload.text()});
  if (!name.starts_with("sha256:")) return out;
  KILN_ASSIGN(const auto client, context.connect());
  askFarm(*client, out.ancestry);
  return out;
}

template <class Statements>
Json listOf(const Statements& statements) {
  Json out = Json::array();
  for (const auto& statement : statements) out.push_back(statement.toJson());
  return out;
}

Json jsonOf(const Opened& opened) {
  const auto& verdict = opened.artifact.verdict;
  Json digests = Json::array(), submitters = Json::array(), components = Json::array();
  for (const auto& built : opened.ancestry.provenances) digests.push_back(built.statement);
  for (const auto& said : verdict.reproductions)
    digests.push_back(graph::statementOf(verdict.artifact, said));
  for (const auto& said : verdict.checks) digests.push_back(graph::statementOf(verdict.artifact, said));
  Json others = Json::array();
  for (const auto& each : verdict.attestations) {
    digests.push_back(each.evidence.payload.text());
    others.push_back({{"predicateType", each.predicateType},
                      {"by", each.evidence.ids},
                      {"key", each.evidence.keyId},
                      {"statement", each.evidence.payload.text()}});
    if (each.summary) others.back()["predicate"] = each.summary->toJson();
  }
  for (const auto& each : opened.ancestry.submitters)
    submitters.push_back({{"submitter", each.name}, {"job", each.job}});
  if (opened.ancestry.toolchain)
    for (const auto& part : opened.ancestry.toolchain->components)
      components.push_back({{"name", part.name},
                            {"version", part.version},
                            {"path", part.path},
                            {"digest", part.digest.text()}});
  return {{"artifact", verdict.artifact.text()},
          {"refused", opened.recalled ? Json(opened.recalled->message) : Json()},
          {"provenance", listOf(verdict.statements)},
          {"reproductions", listOf(verdict.reproductions)},
          {"checks", listOf(verdict.checks)},
          {"tombstones", listOf(verdict.tombstones)},
          {"attestations", std::move(others)},
          {"statements", std::move(digests)},
          {"components", std::move(components)},
          {"submissions", std::move(submitters)}};
}

// By the newest provenance of each.
void printComparison(const Context& context, const Options& options, const Opened& first,
                     const Opened& second) {
  const auto& a = first.ancestry;
  const auto& b = second.ancestry;
  const bool known = a.toolchain && b.toolchain;
  const graph::Built& one = a.provenances.back();
  const graph::Built& two = b.provenances.back();
  const auto found = compareProvenance(one.provenance, two.provenance, known ? &*a.toolchain : nullptr,
                                       known ? &*b.toolchain : nullptr);
  if (context.json || options.format == "json") {
    Json list = Json::array();
    for (const auto& each : found)
      list.push_back(
          {{"what", each.what}, {"name", each.name}, {"first", each.first}, {"second", each.second}});
    printJson({{"first", a.artifact.text()},
               {"second", b.artifact.text()},
               {"statements", {one.statement, two.statement}},
               {"differences", std::move(list)}});
    return;
  }
  printLine("A  " + a.artifact.text() + " by statement " + one.statement);
  printLine("B  " + b.artifact.text() + " by statement " + two.statement);
  for (const auto& each : found) {
    printOneLine(each.what + " " + each.name);
    printOneLine("  A  " + (each.first.empty() ? "none" : each.first));
    printOneLine("  B  " + (each.second.empty() ? "none" : each.second));
  }
  if (found.empty()) printLine("they were made in the same way");
  note("kiln diff A B says where the bytes differ");
}

void print(const Context& context, const Options& options, const Opened& opened) {
  if (context.json || options.format == "json") return printJson(jsonOf(opened));
  if (options.format == "dot")
    return printText(printable(graph::toDot(graph::provenanceGraph(opened.ancestry))) + "\n");
  if (options.format == "svg")
    return printText(printable(graph::toSvg(graph::provenanceGraph(opened.ancestry))) + "\n");
  if (opened.recalled) printOneLine("refused     " + opened.recalled->message);
  printProvenance(opened.artifact.verdict, opened.ancestry);
}

// What is printed is all there is to know of a recalled artifact; that nobody may use it is the exit code.
Status refused(Context& context, const Options& options, const Opened& opened) {
  if (!opened.recalled) return {};
  context.reported = context.json || options.format == "json";
  return fail(*opened.recalled);
}

Status run(Context& context, const Options& options) {
  const bool drawing = options.format == "dot" || options.format == "svg";
  if (!drawing && options.format != "text" && options.format != "json")
    return fail(Code::kInvalidArgument, "--format is text, json, dot or svg");
  if (!options.against.empty() && drawing)
    return fail(Code::kInvalidArgument, "--against prints text or json");
  KILN_ASSIGN(const Opened opened, open(context, options.artifact));
  if (options.against.empty()) {
    print(context, options, opened);
    return refused(context, options, opened);
  }
  KILN_ASSIGN(const Opened second, open(context, options.against));
  printComparison(context, options, opened, second);
  return refused(context, options, opened.recalled ? opened : second);
}

}  // namespace

void addProvenance(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command =
      addCommand(app, context, "provenance",
                 "Who built, reproduced and checked an artifact from what, by its signed statements",
                 "kiln provenance sha256:<hex> --format svg > provenance.svg\n"
                 "  kiln provenance sha256:<hex> --against sha256:<hex>\n\n"
                 "Of what was recalled it prints all the same, with the recall, and exits with 5.",
                 [&context, options] { return run(context, *options); });
  addArtifactOption(command, "ARTIFACT", options->artifact,
                    "sha256:<hex>, 12 digits or more, or a fetched directory")
      ->required();
  addArtifactOption(command, "--against", options->against,
                    "Another artifact: print what changed between the two instead");
  command.add_option("--format", options->format, "text, json, dot or svg")
      ->excludes(command.get_option("--json"));
  addFarmOptions(command, context);
  addTrustOptions(command, context);
}

}  // namespace kiln::cli
