#include "coordinator/service/toolchain_service.h"

#include <map>

#include "coordinator/jobs/toolchain_description.h"
#include "coordinator/service/job_view.h"
#include "coordinator/service/log.h"
#include "coordinator/service/rpc.h"
#include "storage/index/toolchain_repository.h"
#include "storage/tree/digest_proto.h"
#include "storage/tree/tree_walk.h"

namespace kiln::service {
namespace {

constexpr char kDescriptionFile[] = "toolchain.json";
constexpr std::uint64_t kMaxDescription = 1u << 20;

Result<index::ToolchainRecord> find(const Farm& farm, const v1::GetToolchainRequest& request) {
  KILN_ASSIGN(auto connection, farm.database.acquire());
  return index::findToolchain(*connection, request.instance(), request.name());
}

Result<std::vector<index::ToolchainRecord>> list(const Farm& farm, const std::string& instance) {
  KILN_ASSIGN(auto connection, farm.database.acquire());
  return index::listToolchains(*connection, instance);
}

v1::Toolchain view(const index::ToolchainRecord& toolchain) {
  return toProto(toolchain);
}

}  // namespace

Result<index::ToolchainRecord> examineToolchain(storage::BlobStore& blobs, const std::string& instance,
                                                const Digest& tree) {
  KILN_ASSIGN(auto missing, storage::findMissingInTree(blobs, instance, tree));
  if (!missing.empty())
    return fail(Code::kFailedPrecondition,
                std::to_string(missing.size()) + " blobs of the tree must be uploaded first");
  KILN_ASSIGN(auto entries, storage::walkTree(blobs, instance, tree));
  std::map<std::string, Digest> files;
  for (const storage::TreeEntry& entry : entries)
    if (entry.kind == storage::EntryKind::kFile) files.emplace(entry.path, entry.digest);
  auto description = files.find(kDescriptionFile);
  if (description == files.end())
    return fail(Code::kInvalidArgument, "the tree has no toolchain.json at its root");
  index::ToolchainRecord out;
  KILN_ASSIGN(out.description, storage::getBlob(blobs, instance, description->second, kMaxDescription));
  auto parsed = jobs::readToolchainDescription(out.description);
  if (!parsed) return fail(parsed.error().in(kDescriptionFile));
  for (const jobs::ToolchainComponent& component : parsed->components) {
    auto file = files.find(component.path);
    if (file == files.end() || file->second != component.digest)
      return fail(Code::kInvalidArgument, "component " + component.name + " is not in the tree as " +
                                              component.path + " with the digest that toolchain.json gives");
  }
  out.instance = instance;
  out.label = parsed->label;
  out.tree = tree;
  out.targets = parsed->targets;
  return out;
}

Result<index::ToolchainRecord> ToolchainService::add(const v1::AddToolchainRequest& request) {
  KILN_ASSIGN(Digest tree, fromProto(request.tree()));
  KILN_ASSIGN(index::ToolchainRecord toolchain, examineToolchain(farm_.blobs, request.instance(), tree));
  if (!request.label().empty() && request.label() != toolchain.label)
    return fail(Code::kInvalidArgument, "the tree's toolchain.json says it is \"" + toolchain.label +
                                            "\", not \"" + request.label().substr(0, 200) + "\"");
  toolchain.added = farm_.clock.now();
  KILN_TRY(farm_.database.transact(
      [&](postgres::Connection& c) { return index::addToolchain(c, toolchain, request.make_default()); }));
  logInfo("toolchain added",
          {{"instance", toolchain.instance}, {"label", toolchain.label}, {"tree", toolchain.tree.text()}});
  KILN_ASSIGN(auto connection, farm_.database.acquire());
  return index::findToolchain(*connection, toolchain.instance, toolchain.label);
}

grpc::Status ToolchainService::ListToolchains(grpc::ServerContext*, const v1::ListToolchainsRequest* request,
                                              v1::ListToolchainsResponse* response) {
  auto toolchains = list(farm_, request->instance());
  if (!toolchains) return toGrpc(toolchains.error());
  for (const index::ToolchainRecord& toolchain : *toolchains)
    *response->add_toolchains() = toProto(toolchain);
  return grpc::Status::OK;
}

grpc::Status ToolchainService::GetToolchain(grpc::ServerContext*, const v1::GetToolchainRequest* request,
                                            v1::Toolchain* response) {
  return answer(find(farm_, *request), response, view);
}

grpc::Status ToolchainService::AddToolchain(grpc::ServerContext*, const v1::AddToolchainRequest* request,
                                            v1::Toolchain* response) {
  return answer(add(*request), response, view);
}

}  // namespace kiln::service
