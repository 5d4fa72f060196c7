#include "api/cli/build/model_source.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "api/cli/base/print.h"
#include "api/cli/base/transfer_meter.h"
#include "api/cli/build/local_commit.h"
#include "api/client/model_check.h"
#include "api/client/model_files.h"
#include "compiler_core/frontend/format/format.h"
#include "manifest/base/counted.h"
#include "manifest/base/printable.h"
#include "manifest/spec/compile_spec.h"
#include "storage/blob/upload.h"
#include "storage/source/fetched_model.h"
#include "storage/source/git_reference.h"
#include "storage/source/git_url.h"
#include "storage/tree/digest_proto.h"

namespace kiln::cli {
namespace {

constexpr std::uint64_t kMaxModelBytes = 2ull << 30;  // what protobuf can hold

// The sources of one request and the bytes behind them.
class Sources {
 public:
  explicit Sources(v1::SubmitJobRequest& request) : request_(request) {}

  void add(const std::string& name, storage::UploadItem item, const source::GitReference* origin) {
    auto& added = *request_.add_sources();
    added.set_path(name);
    *added.mutable_blob() = toProto(item.digest);
    if (origin != nullptr) fill(*added.mutable_origin(), *origin);
    items_.push_back(std::move(item));
  }
  // What the farm fetches.
  void addGit(const std::string& name, const source::GitReference& reference) {
    auto& added = *request_.add_sources();
    added.set_path(name);
    fill(*added.mutable_git(), reference);
  }
  // Where items lie, until they are sent.
  void keep(ScratchDirectory directory) { kept_.push_back(std::move(directory)); }
  Status upload(client::Client& client, const ModelOptions& options) const {
    if (items_.empty()) return {};
    KILN_TRY(client.ping());  // an instance that is not there would take what is uploaded
    TransferMeter meter(options.terminal && options.verbose, "sending");
    KILN_ASSIGN(const auto sent, client.upload(items_, [&](const storage::UploadProgress& now) {
      meter.at(now.doneBytes, now.totalBytes);
    }));
    if (options.verbose && sent.doneBlobs > 0) note(fmt::format("sent {}", humanBytes(sent.doneBytes)));
    return {};
  }

 private:
  static void fill(v1::GitSource& proto, const source::GitReference& reference) {
    proto.set_url(reference.url);
    proto.set_commit(reference.commit);
    proto.set_path(reference.path);
  }

  v1::SubmitJobRequest& request_;
  std::vector<storage::UploadItem> items_;
  std::vector<ScratchDirectory> kept_;
};

std::string nameOf(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

Status addFiles(const ModelOptions& options, const CompileSpec& spec, Sources& sources) {
  KILN_ASSIGN(const auto files, client::findModelFiles(options.model, options.data));
  KILN_TRY(client::checkModelFile(options.model, spec, client::externalSizes(files)));
  for (const auto& file : files) {
    KILN_ASSIGN(const Digest digest, digestOfFile(file.path));
    if (options.inspect) KILN_TRY(options.inspect(file.path, digest));
    sources.add(file.name, {digest, file.path, {}}, nullptr);
  }
  return {};
}

// What kiln-fetcher left in `files`.
Result<source::FetchedModel> modelIn(const ScratchDirectory& files, const source::GitReference& reference) {
  std::vector<std::string> outputs;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(files.path(), error), end; !error && at != end;
       at.increment(error))
    if (at->is_regular_file(error)) outputs.push_back(at->path().string().substr(files.path().size() + 1));
  if (error) return fail(errnoError(error.value(), files.path()));
  std::ranges::sort(outputs);
  return source::fetchedModel(reference.path, outputs);
}

// Of a repository on this machine the file is read here; the farm fetches what lies elsewhere.
Status addCommittedParameters(const parameters::TensorFile& file, Sources& sources) {
  KILN_ASSIGN(const auto reference, source::parseGitReference(source::escapeLocalUrl(file.file)));
  KILN_ASSIGN(const auto url, source::parseGitUrl(reference.url));
  if (url.scheme != "file") {
    sources.addGit(file.path, reference);
    return {};
  }
  KILN_ASSIGN(auto files, readLocalCommit(url.path, reference));
  KILN_ASSIGN(const source::FetchedModel fetched, modelIn(files, reference));
  if (fetched.isFolder)
    return fail(Code::kInvalidArgument,
                "--params " + printable(file.file) + ": a folder of the commit; name its files");
  const std::string read = files.path() + "/" + fetched.model.output;
  KILN_ASSIGN(const Digest digest, digestOfFile(read));
  sources.add(file.path, {digest, read, {}}, &reference);
  sources.keep(std::move(files));
  return {};
}

// The spec of the request names them so.
Status addParameters(const ModelOptions& options, Sources& sources) {
  for (const parameters::TensorFile& file : options.parameters) {
    if (source::isGitReference(file.file)) {
      KILN_TRY(addCommittedParameters(file, sources));
      continue;
    }
    KILN_ASSIGN(const Digest digest, digestOfFile(file.file));
    if (options.inspect) KILN_TRY(options.inspect(file.file, digest));
    sources.add(file.path, {digest, file.file, {}}, nullptr);
  }
  return {};
}

// A repository on this machine: read here, for the farm sees no files of its users.
Status addLocalCommit(const std::string& directory, const source::GitReference& reference, bool verbose,
                      CompileSpec& spec, Sources& sources) {
  KILN_ASSIGN(auto files, readLocalCommit(directory, reference));
  KILN_ASSIGN(const source::FetchedModel fetched, modelIn(files, reference));
  const std::string home = files.path() + "/";
  KILN_ASSIGN(const auto model, readRegular(home + fetched.model.output, kMaxModelBytes, O_NOFOLLOW));
  std::vector<source::FetchedFile> beside = fetched.data;
  if (spec.parameters.empty()) {  // whoever names some chose others than those that lie there
    for (const source::FetchedFile& file : fetched.weights) spec.parameters.push_back(file.name);
    beside.insert(beside.end(), fetched.weights.begin(), fetched.weights.end());
  }
  if (verbose && fetched.isFolder)
    note(fmt::format("model {}: {}, {} beside it", printable(fetched.model.path),
                     frontend::formatName(frontend::formatOf(asBytes(model))),
                     counted(beside.size(), "file")));
  KILN_TRY(client::checkModel(asBytes(model), fetched.model.path, spec));
  onnx::ExternalSizes sizes;
  std::vector<Digest> digests;
  for (const source::FetchedFile& file : beside) {
    KILN_ASSIGN(const Digest digest, digestOfFile(home + file.output));
    sizes[file.name] = digest.size;
    digests.push_back(digest);
  }
  if (!fetched.data.empty()) KILN_TRY(client::checkModel(asBytes(model), fetched.model.path, spec, sizes));
  const auto add = [&](const std::string& name, const source::FetchedFile& file, const Digest& digest) {
    const source::GitReference origin{reference.url, reference.commit, file.path};
    sources.add(name, {digest, home + file.output, {}}, &origin);
  };
  add(nameOf(fetched.model.path), fetched.model, digestOf(model));
  for (std::size_t i = 0; i < beside.size(); ++i) add(beside[i].name, beside[i], digests[i]);
  sources.keep(std::move(files));
  return {};
}

// The name of a model that the farm fetches, before it is known what a folder holds.
std::string nameOf(const source::GitReference& reference) {
  if (reference.path != source::kWholeCommit) return nameOf(reference.path);
  const std::string name = nameOf(reference.url);
  return name.ends_with(".git") ? name.substr(0, name.size() - 4) : name;
}

}  // namespace

Result<std::vector<parameters::TensorFile>> findParameters(const std::vector<std::string>& given) {
  std::vector<std::string> files, commits;
  for (const std::string& one : given) (source::isGitReference(one) ? commits : files).push_back(one);
  KILN_ASSIGN(auto found, parameters::expandParameters(files));
  for (const std::string& one : commits) {
    KILN_ASSIGN(const auto reference, source::parseGitReference(source::escapeLocalUrl(one)));
    // The one tensor of an .npy has the file's name.
    const std::string name = reference.path.ends_with(".npy") ? nameOf(reference.path) : "";
    found.push_back({one, parameterPath(found.size(), name)});
  }
  return found;
}

Status addModel(client::Client& client, const ModelOptions& options, v1::SubmitJobRequest& request) {
  const std::string& model = options.model;
  Sources sources(request);
  CompileSpec spec;
  KILN_ASSIGN(const Json given, parseJson(request.spec_json()));
  KILN_TRY(applySubmitted(given, spec));
  if (!source::isGitReference(model)) {
    KILN_TRY(addFiles(options, spec, sources));
    KILN_TRY(addParameters(options, sources));
    return sources.upload(client, options);
  }
  if (!options.data.empty()) {
    return fail(Code::kInvalidArgument,
                "--data goes with a model file; a commit's external data is found in it");
  }
  KILN_ASSIGN(const auto reference, source::parseGitReference(source::escapeLocalUrl(model)));
  KILN_ASSIGN(const auto url, source::parseGitUrl(reference.url));
  if (url.scheme == "file") {
    KILN_TRY(addLocalCommit(url.path, reference, options.verbose, spec, sources));
    KILN_ASSIGN(*request.mutable_spec_json(), toCanonicalJson(submittedToJson(spec)));
    KILN_TRY(addParameters(options, sources));
    return sources.upload(client, options);
  }
  sources.addGit(nameOf(reference), reference);
  KILN_TRY(addParameters(options, sources));
  return sources.upload(client, options);
}

}  // namespace kiln::cli
