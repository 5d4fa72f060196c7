// kiln.v1.ToolchainService.
#pragma once

#include "coordinator/planning/admissions.h"
#include "kiln/v1/artifact.grpc.pb.h"
#include "storage/index/rows/records.h"

namespace kiln::service {

// Thread safe.
class ToolchainService final : public v1::ToolchainService::Service {
 public:
  explicit ToolchainService(const Admissions& admissions) : admissions_(admissions) {}
  grpc::Status ListToolchains(grpc::ServerContext* context, const v1::ListToolchainsRequest* request,
                              v1::ListToolchainsResponse* response) override;
  grpc::Status GetToolchain(grpc::ServerContext* context, const v1::GetToolchainRequest* request,
                            v1::Toolchain* response) override;
  grpc::Status AddToolchain(grpc::ServerContext* context, const v1::AddToolchainRequest* request,
                            v1::Toolchain* response) override;

 private:
  // Has the toolchain's admission signed and keeps the bundle in the store.
  Result<index::AdmissionRecord> admit(const index::ToolchainRecord& toolchain);
  Result<v1::Toolchain> add(const v1::AddToolchainRequest& request);

  const Admissions& admissions_;
};

// The toolchain that the tree holds. kInvalidArgument unless the tree is canonical, has toolchain.json at its
// root, and each component named there is in the tree with its digest; kFailedPrecondition if blobs of the
// tree are missing.
Result<index::ToolchainRecord> examineToolchain(storage::BlobStore& blobs, const std::string& instance,
                                                const Digest& tree);

}  // namespace kiln::service
