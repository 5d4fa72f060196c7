// kiln.v1.WorkerService.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <boost/asio/thread_pool.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/drivers/completion.h"
#include "coordinator/drivers/job_driver.h"
#include "coordinator/farm/leasing.h"
#include "coordinator/farm/observers.h"
#include "coordinator/farm/signatory.h"
#include "coordinator/farm/stores.h"
#include "coordinator/recall/recall_source.h"
#include "coordinator/rpc/contacts.h"
#include "coordinator/rpc/known_certificates.h"
#include "kiln/v1/worker.grpc.pb.h"
#include "manifest/base/mutex.h"

namespace kiln::service {

// A worker is who its certificate says, operator and key included, and calls from one address at a time; what
// it reports is checked by Completion. A call that waits for work holds memory and no thread. Thread safe.
class WorkerService final : public v1::WorkerService::CallbackService {
 public:
  WorkerService(const Stores& stores, const Signatory& signatory, const Leasing& leasing,
                const Observers& observers, const RecallSource& recalls, JobDriver& driver)
      : stores_(stores),
        leasing_(leasing),
        metrics_(observers.metrics),
        tracing_(observers.tracing),
        recalls_(recalls),
        driver_(driver),
        certificates_(leasing.workerAuthority),
        contacts_(stores, leasing.queue.settings().lease),
        completion_({stores, signatory, recalls}, leasing, observers) {}

  grpc::ServerUnaryReactor* Synchronize(grpc::CallbackServerContext* context,
                                        const v1::SynchronizeRequest* request,
                                        v1::SynchronizeResponse* response) override;
  // The same for a worker that serves only `instances`; nullopt: every instance.
  grpc::ServerUnaryReactor* synchronize(grpc::CallbackServerContext& context,
                                        const v1::SynchronizeRequest& request,
                                        v1::SynchronizeResponse& response,
                                        std::optional<std::vector<std::string>> instances);

 private:
  static constexpr int kMaxSlots = 256;

  struct Caller;
  class Call;  // synchronize_call.h

  Result<Caller> identify(const v1::WorkerDescription& description);
  // As Contacts::remember().
  Status remember(const Caller& caller, bool draining);
  // Of what has finished.
  Status takeResults(const Caller& caller, const v1::SynchronizeRequest& request,
                     v1::SynchronizeResponse& response);
  // Of what is running: extends those of the worker's `leases` that want it, and has it forget what it has
  // none for.
  Status takeProgress(const Caller& caller, const v1::SynchronizeRequest& request,
                      const std::vector<index::RunRecord>& leases, v1::SynchronizeResponse& response);
  // Whether it may have new leases: not where it was recalled.
  bool mayLease(const Caller& caller);
  // From now on `call` is the one that waits for this worker. The one before, which it has given up.
  std::shared_ptr<Call> replaceWaiting(const Caller& caller, const std::shared_ptr<Call>& call);
  // When a worker that runs something is to call again.
  std::chrono::milliseconds busyContact();
  // Leases new runs while the worker has free slots.
  Result<std::vector<index::RunRecord>> fill(const Caller& caller, int slots);

  const Stores& stores_;
  const Leasing& leasing_;
  Metrics& metrics_;
  const Tracing& tracing_;
  const RecallSource& recalls_;
  JobDriver& driver_;
  KnownCertificates certificates_;
  Contacts contacts_;
  Completion completion_;
  Mutex mutex_;
  // By operator and name: the call that waits for each.
  std::map<std::pair<std::string, std::string>, std::weak_ptr<Call>> waiting_ KILN_GUARDED_BY(mutex_);
  // Likewise: why they get no leases, as it was logged.
  std::map<std::pair<std::string, std::string>, std::string> withheld_ KILN_GUARDED_BY(mutex_);
  // Where calls are worked on; the last, so that these end first. Results are rehashed on threads of their
  // own: that may take minutes, in which everybody else is served.
  static constexpr std::size_t kThreads = 16, kResultThreads = 16;
  boost::asio::thread_pool threads_{kThreads}, resultThreads_{kResultThreads};
};

}  // namespace kiln::service
