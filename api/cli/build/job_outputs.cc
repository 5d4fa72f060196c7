#include "api/cli/build/job_outputs.h"

#include <filesystem>

#include "manifest/base/new_directory.h"
#include "manifest/spec/path.h"
#include "storage/tree/digest_proto.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

Status saveFile(client::Client& client, const v1::BuilderOutputs::File& file, const fs::path& to) {
  const auto unreadable = [&](const Error& error) { return client.unreadable(error); };
  KILN_TRY(checkRelativePath(file.path()).map_error(unreadable));
  KILN_ASSIGN(const Digest digest, fromProto(file.digest()).map_error(unreadable));
  const fs::path path = to / file.path();
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return fail(errnoError(error.value(), path.parent_path().string()));
  const auto got = storage::getFile(client.blobs(), client.instance(), digest, path);
  if (!got) return fail(client.explain(got.error()).in(file.path()));
  return {};
}

}  // namespace

Result<v1::BuilderOutputs> saveOutputs(client::Client& client, const std::string& job,
                                       const std::string& worker, const std::string& target,
                                       const std::string& to) {
  KILN_ASSIGN(auto outputs, client.outputs(job, worker, target));
  KILN_ASSIGN(auto directory, NewDirectory::make(to));
  for (const auto& file : outputs.files()) KILN_TRY(saveFile(client, file, directory.path()));
  KILN_TRY(directory.keep(0755));
  return outputs;
}

}  // namespace kiln::cli
