#include "api/cli/build/check_files.h"

#include <filesystem>

#include "compiler_core/runtime/check/plan.h"
#include "signing/keys/files.h"
#include "storage/blob/upload.h"

namespace kiln::cli {

Result<CheckRequest> uploadCheck(client::Client& client, const std::string& planPath) {
  std::string text = "{}";
  if (!planPath.empty()) {
    KILN_ASSIGN(text, signing::readTextFile(planPath, runtime::kMaxCheckPlanBytes));
  }
  auto plan = runtime::parseCheckPlan(text);
  if (!plan) return fail(plan.error().in(planPath));
  CheckRequest request;
  request.plan = digestOf(text);
  std::vector<storage::UploadItem> blobs{{request.plan, {}, text}};
  const auto directory = std::filesystem::path(planPath).parent_path();
  for (const std::string& file : plan->files()) {
    const std::string path = (directory / file).string();
    KILN_ASSIGN(const Digest digest, digestOfFile(path));
    request.files.push_back({file, digest});
    blobs.push_back({digest, path, {}});
  }
  KILN_TRY(client.ping());  // an instance that is not there would take what is uploaded
  KILN_TRY(client.upload(blobs));
  return request;
}

}  // namespace kiln::cli
