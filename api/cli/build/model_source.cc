#include "api/cli/build/model_source.h"

#include <fcntl.h>
#include <fmt/format.h>

#include "api/cli/base/print.h"
#include "api/cli/base/transfer_meter.h"
#include "api/cli/build/local_commit.h"
#include "api/client/model_check.h"
#include "api/client/model_files.h"
#include "manifest/spec/compile_spec.h"
#include "storage/blob/upload.h"
#include "storage/source/git_reference.h"
#include "storage/source/git_url.h"
#include "storage/source/onnx_external.h"
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

// Of a repository on this machine the file is read here; the farm fetches what lies elsewhere.
Status addCommittedParameters(const parameters::TensorFile& file, Sources& sources) {
  KILN_ASSIGN(const auto reference, source::parseGitReference(source::escapeLocalUrl(file.file)));
  KILN_ASSIGN(const auto url, source::parseGitUrl(reference.url));
  if (url.scheme != "file") {
    sources.addGit(file.path, reference);
    return {};
  }
  KILN_ASSIGN(auto files, readLocalCommit(url.path, reference));
  const std::string read = files.path() + "/" + nameOf(reference.path);
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
Status addLocalCommit(const std::string& directory, const source::GitReference& reference,
                      const CompileSpec& spec, Sources& sources) {
  KILN_ASSIGN(auto files, readLocalCommit(directory, reference));
  const auto name = nameOf(reference.path);
  const auto home = reference.path.substr(0, reference.path.size() - name.size());
  const auto add = [&](const std::string& path, const Digest& digest) {
    const source::GitReference origin{reference.url, reference.commit, home + path};
    sources.add(path, {digest, files.path() + "/" + path, {}}, &origin);
  };
  KILN_ASSIGN(const auto model, readRegular(files.path() + "/" + name, kMaxModelBytes, O_NOFOLLOW));
  KILN_TRY(client::checkModel(asBytes(model), reference.path, spec));
  std::vector<std::string> locations;
  if (client::isOnnx(asBytes(model))) {
    KILN_ASSIGN(locations, source::externalLocations(asBytes(model)));
  }
  onnx::ExternalSizes sizes;
  std::vector<std::pair<std::string, Digest>> data;
  for (const auto& location : locations) {
    KILN_ASSIGN(std::string path, client::externalPathOf(reference.path, location));
    KILN_ASSIGN(const Digest digest, digestOfFile(files.path() + "/" + path));
    sizes[path] = digest.size;
    data.emplace_back(std::move(path), digest);
  }
  if (!data.empty()) KILN_TRY(client::checkModel(asBytes(model), reference.path, spec, sizes));
  add(name, digestOf(model));
  for (const auto& [path, digest] : data) add(path, digest);
  sources.keep(std::move(files));
  return {};
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
    KILN_TRY(addLocalCommit(url.path, reference, spec, sources));
    KILN_TRY(addParameters(options, sources));
    return sources.upload(client, options);
  }
  sources.addGit(nameOf(reference.path), reference);
  KILN_TRY(addParameters(options, sources));
  return sources.upload(client, options);
}

}  // namespace kiln::cli
