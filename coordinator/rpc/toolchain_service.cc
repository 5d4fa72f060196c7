#include "coordinator/rpc/toolchain_service.h"

#include <algorithm>
#include <map>

#include "coordinator/farm/log.h"
#include "coordinator/planning/admitted_toolchain.h"
#include "coordinator/rpc/rpc.h"
#include "coordinator/view/job_view.h"
#include "manifest/base/printable.h"
#include "manifest/statement/toolchain_admission.h"
#include "manifest/toolchain/description.h"
#include "manifest/toolchain/lock.h"
#include "storage/index/toolchains/toolchain_parts.h"
#include "storage/index/toolchains/toolchain_repository.h"
#include "storage/tree/digest_proto.h"
#include "storage/tree/tree_walk.h"

namespace kiln::service {
namespace {

constexpr char kDescriptionFile[] = "toolchain.json";
constexpr std::uint64_t kMaxDescription = 1u << 20;

Result<index::ToolchainRecord> find(postgres::Pool& database, const v1::GetToolchainRequest& request) {
  KILN_ASSIGN(auto connection, database.acquire());
  return index::findToolchain(*connection, request.instance(), request.name());
}

Result<std::vector<index::ToolchainRecord>> list(postgres::Pool& database, const std::string& instance) {
  KILN_ASSIGN(auto connection, database.acquire());
  return index::listToolchains(*connection, instance);
}

// What it names. kFailedPrecondition if the lock must be uploaded first, kInvalidArgument if it is none.
Result<std::vector<index::PartRecord>> examineLock(storage::BlobStore& blobs, const std::string& instance,
                                                   const Digest& lock) {
  if (lock.size > kMaxToolchainLockBytes)
    return fail(Code::kInvalidArgument, "lock: must have at most 1 MiB");
  auto text = storage::getBlob(blobs, instance, lock, kMaxToolchainLockBytes);
  if (!text && text.error().code == Code::kNotFound)
    return fail(Code::kFailedPrecondition, "the lock " + lock.text() + " must be uploaded first");
  if (!text) return fail(text.error().in("lock"));
  return index::lockedPartsOf(*text);
}

// What an admission with this lock, or none, adds to the toolchain as it stands: a value of
// v1::Toolchain.change. kAlreadyExists for another lock.
Result<std::string> changeBy(const Admissions& admissions, const index::ToolchainRecord& there,
                             const std::optional<Digest>& lock) {
  if (!there.admission) return "added";
  if (lock && there.lock && *there.lock != *lock)
    return fail(Code::kAlreadyExists, "label " + inQuotes(there.label) + " was admitted with the lock " +
                                          there.lock->text() + "; what was said of it never changes");
  KILN_ASSIGN(const std::optional<Error> doubt, doubtOf(admissions, there));
  if (doubt) return "admitted again";
  if (lock && !there.lock) return "lock added";
  KILN_ASSIGN(const bool isPlaced, namesInstance(admissions, there));
  return isPlaced ? "unchanged" : "admitted again";
}

v1::Toolchain view(const index::ToolchainRecord& toolchain) {
  return toProto(toolchain);
}

}  // namespace

Result<index::ToolchainRecord> examineToolchain(storage::BlobStore& blobs, const std::string& instance,
                                                const Digest& toolchainDigest) {
  KILN_ASSIGN(auto missing, storage::findMissingInTree(blobs, instance, toolchainDigest));
  if (!missing.empty())
    return fail(Code::kFailedPrecondition,
                std::to_string(missing.size()) + " blobs of the tree must be uploaded first");
  KILN_ASSIGN(auto entries, storage::walkTree(blobs, instance, toolchainDigest));
  std::map<std::string, Digest> files;
  for (const storage::TreeEntry& entry : entries)
    if (entry.kind == storage::EntryKind::kFile) files.emplace(entry.path, entry.digest);
  auto description = files.find(kDescriptionFile);
  if (description == files.end())
    return fail(Code::kInvalidArgument, "the tree has no toolchain.json at its root");
  index::ToolchainRecord out;
  KILN_ASSIGN(out.description, storage::getBlob(blobs, instance, description->second, kMaxDescription));
  auto parsed = readToolchainDescription(out.description);
  if (!parsed) return fail(parsed.error().in(kDescriptionFile));
  for (const ToolchainComponent& component : parsed->components) {
    auto file = files.find(component.path);
    if (file == files.end() || file->second != component.digest)
      return fail(Code::kInvalidArgument, "component " + component.name + " is not in the tree as " +
                                              component.path + " with the digest that toolchain.json gives");
  }
  out.instance = instance;
  out.label = parsed->label;
  out.toolchainDigest = toolchainDigest;
  out.targets = parsed->targets;
  return out;
}

Result<index::AdmissionRecord> ToolchainService::admit(const index::ToolchainRecord& toolchain) {
  const ToolchainAdmission admission{.builderId = admissions_.signatory.builder.id,
                                     .label = toolchain.label,
                                     .lock = toolchain.lock,
                                     .admittedOn = toolchain.added,
                                     .instance = toolchain.instance};
  KILN_ASSIGN(std::string statement, admissionStatement(toolchain.toolchainDigest, admission));
  auto bundle = admissions_.signatory.signer.sign({.instance = toolchain.instance,
                                                   .statement = statement,
                                                   .subjectSize = toolchain.toolchainDigest.size,
                                                   .receipts = {}});
  if (!bundle) return fail(bundle.error().in("signer"));
  KILN_ASSIGN(const Digest stored,
              storage::putBlob(admissions_.stores.blobs, toolchain.instance, asBytes(*bundle)));
  return index::AdmissionRecord{toolchain.instance,  toolchain.label, toolchain.lock,
                                digestOf(statement), stored,          admission.admittedOn};
}

Result<v1::Toolchain> ToolchainService::add(const v1::AddToolchainRequest& request) {
  KILN_ASSIGN(Digest toolchainDigest, fromProto(request.toolchain_digest()));
  KILN_ASSIGN(index::ToolchainRecord toolchain,
              examineToolchain(admissions_.stores.blobs, request.instance(), toolchainDigest));
  if (!request.label().empty() && request.label() != toolchain.label)
    return fail(Code::kInvalidArgument, "the tree's toolchain.json says it is " + inQuotes(toolchain.label) +
                                            ", not " + inQuotes(request.label()));
  std::vector<index::PartRecord> parts;
  if (request.has_lock()) {
    KILN_ASSIGN(toolchain.lock, fromProto(request.lock()));
    KILN_ASSIGN(parts, examineLock(admissions_.stores.blobs, request.instance(), *toolchain.lock));
  }
  toolchain.added = admissions_.stores.clock.now();
  std::string change;
  // Signed within the transaction: there is no label without its statement, and no statement about a label
  // that stands for another tree. Run again, it signs the same statement.
  KILN_TRY(admissions_.stores.database.transact([&](postgres::Connection& c) -> Status {
    KILN_TRY(index::addToolchain(c, toolchain, request.make_default()));
    KILN_ASSIGN(auto there, index::lockToolchain(c, toolchain.instance, toolchain.label));
    KILN_ASSIGN(change, changeBy(admissions_, there, toolchain.lock));
    if (change == "unchanged") return {};
    KILN_TRY(checkMayAdmit(admissions_));
    KILN_TRY(index::insertParts(c, toolchain.instance, toolchain.toolchainDigest, parts));
    index::ToolchainRecord admitted = toolchain;
    if (!admitted.lock) admitted.lock = there.lock;
    // The newest counts, whatever has become of the clock, and statements give whole seconds.
    if (there.admitted) admitted.added = std::max(admitted.added, *there.admitted + std::chrono::seconds(1));
    KILN_ASSIGN(auto admission, admit(admitted));
    return index::addAdmission(c, admission);
  }));
  logInfo("toolchain " + change, {{"instance", toolchain.instance},
                                  {"label", toolchain.label},
                                  {"tree", toolchain.toolchainDigest.text()}});
  KILN_ASSIGN(auto connection, admissions_.stores.database.acquire());
  // Cached while the signer is there: the first submission need not find it.
  (void)admittedToolchain(admissions_, *connection, toolchain.instance, toolchain.label);
  KILN_ASSIGN(const auto there, index::findToolchain(*connection, toolchain.instance, toolchain.label));
  v1::Toolchain out = toProto(there);
  out.set_change(change);
  return out;
}

grpc::Status ToolchainService::ListToolchains(grpc::ServerContext*, const v1::ListToolchainsRequest* request,
                                              v1::ListToolchainsResponse* response) {
  auto toolchains = list(admissions_.stores.database, request->instance());
  if (!toolchains) return toGrpc(toolchains.error());
  for (const index::ToolchainRecord& toolchain : *toolchains)
    *response->add_toolchains() = toProto(toolchain);
  return grpc::Status::OK;
}

grpc::Status ToolchainService::GetToolchain(grpc::ServerContext*, const v1::GetToolchainRequest* request,
                                            v1::Toolchain* response) {
  return answer(find(admissions_.stores.database, *request), response, view);
}

grpc::Status ToolchainService::AddToolchain(grpc::ServerContext*, const v1::AddToolchainRequest* request,
                                            v1::Toolchain* response) {
  return answer(add(*request), response, [](const v1::Toolchain& added) { return added; });
}

}  // namespace kiln::service
