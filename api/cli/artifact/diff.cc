#include "api/cli/base/artifact_option.h"
#include "api/diff/compare.h"

#include <fmt/format.h>

#include <filesystem>

#include "api/cli/artifact/commands.h"
#include "api/cli/base/print.h"
#include "api/cli/base/program_directory.h"
#include "api/client/artifact_ref.h"
#include "api/node/private_copy.h"
#include "manifest/artifact/oci.h"
#include "manifest/base/run_program.h"
#include "storage/oci/oci_export.h"
#include "storage/tree/digest_proto.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

constexpr auto kDisassemblyLimit = std::chrono::seconds(60);
constexpr std::size_t kMaxListing = 64u << 20;  // bytes of a function's instructions
constexpr std::size_t kShownFields = 20, kShownSymbols = 10;
constexpr std::size_t kLinesBefore = 4, kLinesAfter = 8;
constexpr int kColumn = 56;

struct Options {
  std::string first, second, compiler;
};

struct Opened {
  diff::Side side;
  std::shared_ptr<node::PrivateCopy> copy;  // where it was downloaded to
};

// The artifact's own files; whoever holds them is not believed, its hash decides.
Result<Opened> download(storage::BlobStore& store, const std::string& instance, const Digest& artifact,
                        const std::string& name) {
  KILN_ASSIGN(const std::string text, storage::getBlob(store, instance, artifact, kMaxOciManifestBytes));
  if (digestOf(text) != artifact)
    return fail(Error{Code::kDataLoss, name + ": what arrived is another artifact", R"({"exitCode":5})"});
  const auto read = parseOciManifest(text);
  if (!read) return fail(read.error().asEvidence(name));
  const OciManifest& oci = *read;
  Opened out;
  KILN_ASSIGN(out.copy, node::PrivateCopy::create());
  out.side = {name, out.copy->path()};
  const auto file = [&](const std::string& path, const Digest& digest) -> Status {
    const fs::path to = fs::path(out.side.directory) / path;
    std::error_code error;
    fs::create_directories(to.parent_path(), error);
    if (error) return fail(errnoError(error.value(), to.parent_path().string()));
    return storage::getFile(store, instance, digest, to.string());
  };
  KILN_TRY(file("manifest.json", oci.config));
  for (const ArtifactFile& layer : oci.layers) KILN_TRY(file(layer.path, layer.digest));
  return out;
}

Result<Opened> openSide(const Context& context, const std::string& name) {
  if (name.starts_with("sha256:")) {
    KILN_ASSIGN(const auto client, context.connect());
    KILN_ASSIGN(const auto found, client::indexEntry(*client, name));
    KILN_ASSIGN(const Digest artifact, fromProto(found.manifest()));
    return download(client->blobs(), client->instance(), artifact, name);
  }
  if (storage::OciLayoutStore::isLayout(name)) {
    KILN_ASSIGN(const auto store, storage::OciLayoutStore::open(name));
    const auto offered = storage::readExport(*store);
    if (!offered)
      return fail(Error{Code::kDataLoss, name + ": " + offered.error().message, R"({"exitCode":5})"});
    return download(*store, {}, offered->artifact, name);
  }
  std::error_code error;
  const bool rebuilt = fs::exists(name + "/compile/manifest.json", error);  // what rebuild --out left
  return Opened{{name, rebuilt ? name + "/compile" : name}, nullptr};
}

// One instruction per line: its offset, its bytes, its text.
struct Line {
  std::string offset, bytes, text;
  bool operator==(const Line&) const = default;
};

Result<std::vector<Line>> instructions(const std::string& compiler, const std::string& program,
                                       const std::string& function) {
  KILN_ASSIGN(const auto ended, runProgram({compiler, "disassemble", program, function},
                                           {.limit = kDisassemblyLimit, .maxBytes = kMaxListing}));
  if (ended.exitCode != 0)
    return fail(Code::kInternal,
                fmt::format("{} disassemble ended with exit code {}", compiler, ended.exitCode));
  std::vector<Line> lines;
  for (std::size_t at = 0; at < ended.out.size();) {
    const std::size_t end = std::min(ended.out.find('\n', at), ended.out.size());
    const std::string line = ended.out.substr(at, end - at);
    const std::size_t first = line.find('\t');
    const std::size_t second = first == std::string::npos ? first : line.find('\t', first + 1);
    if (second != std::string::npos)
      lines.push_back(
          {line.substr(0, first), line.substr(first + 1, second - first - 1), line.substr(second + 1)});
    at = end + 1;
  }
  return lines;
}

struct Listing {
  std::string path, function;
  std::vector<Line> first, second;
  std::size_t at = 0;  // the first line that differs
};

// The first function that both have and that differs, if kiln-cc is there to tell.
Result<std::optional<Listing>> listFirst(const Options& options, const diff::Differences& found,
                                         const diff::Side& first, const diff::Side& second) {
  for (const diff::FileDifference& file : found.files)
    for (const diff::SymbolDifference& symbol : file.symbols) {
      if (!symbol.isFunction || symbol.firstSize == 0 || symbol.secondSize == 0) continue;
      Listing out{file.path, symbol.name, {}, {}, 0};
      KILN_ASSIGN(out.first, instructions(options.compiler, first.directory + "/" + file.path, symbol.name));
      KILN_ASSIGN(out.second,
                  instructions(options.compiler, second.directory + "/" + file.path, symbol.name));
      out.at = static_cast<std::size_t>(std::ranges::mismatch(out.first, out.second).in1 - out.first.begin());
      return std::optional<Listing>(std::move(out));
    }
  return std::optional<Listing>();
}

void printListing(const Listing& listing) {
  printLine(fmt::format("{} in {}, from the first instruction that differs:", printable(listing.function),
                        listing.path));
  const std::size_t begin = listing.at > kLinesBefore ? listing.at - kLinesBefore : 0;
  const auto cell = [](const std::vector<Line>& lines, std::size_t i) {
    return i < lines.size() ? printable(lines[i].offset + " " + lines[i].text) : std::string();
  };
  for (std::size_t i = begin; i < listing.at + kLinesAfter; ++i) {
    if (i >= listing.first.size() && i >= listing.second.size()) break;
    const bool same =
        i < listing.first.size() && i < listing.second.size() && listing.first[i] == listing.second[i];
    printLine(fmt::format("  {} {:<{}} | {}", same ? ' ' : '!', cell(listing.first, i).substr(0, kColumn),
                          kColumn, cell(listing.second, i)));
  }
}

Json listingJson(const Listing& listing) {
  const auto lines = [&](const std::vector<Line>& all) {
    Json out = Json::array();
    const std::size_t begin = listing.at > kLinesBefore ? listing.at - kLinesBefore : 0;
    for (std::size_t i = begin; i < std::min(all.size(), listing.at + kLinesAfter); ++i)
      out.push_back({{"offset", all[i].offset}, {"bytes", all[i].bytes}, {"text", all[i].text}});
    return out;
  };
  return {{"path", listing.path},
          {"function", listing.function},
          {"first", lines(listing.first)},
          {"second", lines(listing.second)}};
}

void printFile(const diff::FileDifference& file) {
  if (!file.first || !file.second) {
    printLine(fmt::format("file     {}: only in {}", printable(file.path), file.first ? "A" : "B"));
    return;
  }
  printLine(fmt::format("file     {}: from byte {}, {} and {}", printable(file.path), file.offset,
                        shortDigest(file.first->text()), shortDigest(file.second->text())));
  for (const auto& section : file.sections)
    printLine(fmt::format("  section {} ({} and {} bytes): from byte {}{}", printable(section.name),
                          section.firstSize, section.secondSize, section.offset,
                          section.symbol.empty() ? "" : ", in " + printable(section.symbol)));
  for (std::size_t i = 0; i < file.symbols.size() && i < kShownSymbols; ++i) {
    const auto& symbol = file.symbols[i];
    printLine(fmt::format("  {} {} ({} and {} bytes){}", symbol.isFunction ? "function" : "object",
                          printable(symbol.name), symbol.firstSize, symbol.secondSize,
                          symbol.nodes.empty() ? "" : ": node " + printable(symbol.nodes)));
  }
  if (file.symbols.size() > kShownSymbols)
    printLine(fmt::format("  and {} more symbols", file.symbols.size() - kShownSymbols));
}

// A member that one manifest lacks.
std::string orNone(const std::string& value) {
  return value.empty() ? "none" : printable(value);
}

void print(const diff::Differences& found) {
  for (std::size_t i = 0; i < found.fields.size() && i < kShownFields; ++i)
    printLine(fmt::format("manifest {}: {} and {}", printable(found.fields[i].path),
                          orNone(found.fields[i].first), orNone(found.fields[i].second)));
  if (found.fields.size() > kShownFields)
    printLine(fmt::format("and {} more manifest fields", found.fields.size() - kShownFields));
  for (const auto& file : found.files) printFile(file);
  if (!found.pass) return;
  std::string functions;
  for (const auto& name : found.pass->functions)
    functions += (functions.empty() ? "" : ", ") + printable(name);
  printLine(fmt::format(
      "pass     the IR differs first after {} (step {}){}{}", printable(found.pass->pass),
      found.pass->index + 1, functions.empty() ? "" : ", in " + functions,
      found.pass->before.empty() ? "" : "; it was the same after " + printable(found.pass->before)));
}

Status run(Context& context, Options options) {
  if (options.compiler.empty()) options.compiler = programDirectory() + "/kiln-cc";
  KILN_ASSIGN(const Opened first, openSide(context, options.first));
  KILN_ASSIGN(const Opened second, openSide(context, options.second));
  KILN_ASSIGN(const diff::Differences found, diff::compare(first.side, second.side));
  // A compiler that is not there, or has no such command, costs the listing and nothing else.
  const auto listing = listFirst(options, found, first.side, second.side);
  if (context.json) {
    Json json = found.toJson();
    if (listing && *listing) json["listing"] = listingJson(**listing);
    printJson(json);
  } else {
    print(found);
    if (listing && *listing) printListing(**listing);
    if (!listing) note("no disassembly: " + listing.error().message + "; --compiler names a kiln-cc");
    if (found.none()) printLine("equal");
  }
  if (found.none()) return {};
  context.reported = true;
  return fail(Error{Code::kAborted, "they differ", R"({"exitCode":9})"});
}

}  // namespace

void addDiff(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command =
      addCommand(app, context, "diff",
                 "Where two artifacts or outputs differ: manifest, file, section, function, instruction and, "
                 "with traces, "
                 "the compiler's pass; exit 9 if they do",
                 "kiln diff sha256:<hex> rebuilt", [&context, options] { return run(context, *options); });
  const char* what = "sha256:<hex>, a fetched directory, an export, or a directory of outputs";
  addArtifactOption(command, "A", options->first, what)->required();
  addArtifactOption(command, "B", options->second, what)->required();
  command.add_option("--compiler", options->compiler, "kiln-cc, for the disassembly (default: beside kiln)");
  command.footer(
      "A directory may hold passes.json (kiln-cc compile --trace-passes) beside its outputs: with both, the "
      "first "
      "pass after which the IR differed is named.\n\nExample:\n  kiln diff sha256:<hex> rebuilt");
  addFarmOptions(command, context);
}

}  // namespace kiln::cli
