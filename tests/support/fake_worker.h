// A worker that speaks the real protocol, uploads real bytes and signs real receipts, but compiles nothing:
// its "program" is a text made from the spec. For tests of the coordinator.
#pragma once

#include <grpcpp/channel.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "kiln/v1/worker.grpc.pb.h"
#include "signing/keys/certificate.h"
#include "signing/receipt/worker_identity.h"
#include "storage/blob/blob_store.h"
#include "tests/support/sample_policy.h"

namespace kiln::testing_support {

// What the tool of one action leaves, before it is uploaded and reported.
struct ToolOutcome {
  int exitCode = 0;
  std::string standardError;
  std::map<std::string, std::string> files;  // below output/
};

// Not thread safe.
class FakeWorker {
 public:
  // Certificate and key are issued by `authority` and written to `directory`.
  FakeWorker(std::shared_ptr<grpc::Channel> channel, storage::BlobStore& blobs,
             const signing::Authority& authority, const std::string& directory, const std::string& name,
             const std::string& operatorName, TimePoint now);

  v1::WorkerDescription description;  // may be changed before a call
  // Changes what a run leaves, before it is uploaded.
  std::function<void(const v1::Lease&, ToolOutcome&)> tamper;
  // Changes the report after the receipt was signed.
  std::function<void(const v1::Lease&, v1::Finished&)> forge;

  // What its receipts say it ran under; uploaded with each result unless that is off.
  std::string sandboxPolicy = samplePolicyText("fake");
  bool uploadsPolicy = true;

  // One Synchronize call with these reports, waiting for work for at most `timeout`.
  Result<v1::SynchronizeResponse> synchronize(
      const std::vector<v1::LeaseReport>& reports,
      std::chrono::milliseconds timeout = std::chrono::milliseconds(600));
  // Leases that are to be run.
  std::vector<v1::Lease> poll();
  // Runs the lease's action and makes the report.
  Result<v1::LeaseReport> run(const v1::Lease& lease);
  static v1::LeaseReport running(const v1::Lease& lease, const std::string& stage);

  // Polls, runs and reports until there is nothing to do. The number of leases run.
  Result<int> work();

 private:
  ToolOutcome check(const v1::Lease& lease) const;
  Result<ToolOutcome> compile(const v1::Lease& lease, bool reference);
  // The kernels of samplePlan() for the spec's target, each with the digest of its module as signature.
  Result<ToolOutcome> plan(const v1::Lease& lease);
  // What sampleRecord() says of the kernels of the action's plan.
  Result<ToolOutcome> tune(const v1::Lease& lease);

  std::unique_ptr<v1::WorkerService::Stub> stub_;
  storage::BlobStore& blobs_;
  std::unique_ptr<signing::WorkerIdentity> identity_;
};

}  // namespace kiln::testing_support
