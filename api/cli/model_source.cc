#include "api/cli/model_source.h"

#include <fmt/format.h>

#include "api/cli/print.h"
#include "api/client/model_files.h"
#include "storage/blob/upload.h"
#include "storage/tree/digest_proto.h"

namespace kiln::cli {
namespace {

Status upload(client::Client& client, const std::vector<storage::UploadItem>& items, bool verbose) {
  const auto sent = storage::uploadMissing(client.blobs(), client.instance(), items);
  if (!sent) return fail(client.explain(sent.error()));
  if (verbose && sent->doneBlobs > 0) note(fmt::format("sent {}", humanBytes(sent->doneBytes)));
  return {};
}

Status addFiles(client::Client& client, const std::string& model, const std::vector<std::string>& data,
                bool verbose, v1::SubmitJobRequest& request) {
  KILN_ASSIGN(const auto files, client::findModelFiles(model, data));
  std::vector<storage::UploadItem> items;
  for (const auto& file : files) {
    KILN_ASSIGN(const Digest digest, digestOfFile(file.path));
    items.push_back({digest, file.path, {}});
    auto& source = *request.add_sources();
    source.set_path(file.name);
    *source.mutable_blob() = toProto(digest);
  }
  return upload(client, items, verbose);
}

}  // namespace

Status addModel(client::Client& client, const std::string& model, const std::vector<std::string>& data,
                bool verbose, v1::SubmitJobRequest& request) {
  return addFiles(client, model, data, verbose, request);
}

}  // namespace kiln::cli
