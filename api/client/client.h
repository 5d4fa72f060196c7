// The client library: a farm's services as typed calls. Deadlines on every call, errors as Result with the
// server's canonical code. Names of messages are those of api/proto. A client may have a retry policy: calls
// then ride out a farm that cannot be reached, restarts or says kUnavailable. Those that are "called once"
// wait until the farm can be reached, and for nothing after that. Of several coordinators the next one is
// asked at once where one fails, whatever the policy; a wait begins where none answers.
#pragma once

#include <grpcpp/channel.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/client/retry_policy.h"
#include "api/client/watched_job.h"
#include "kiln/v1/artifact.pb.h"
#include "kiln/v1/job.pb.h"
#include "kiln/v1/maintenance.pb.h"
#include "kiln/v1/worker.pb.h"
#include "manifest/base/result.h"
#include "storage/blob/upload.h"
#include "storage/remote/channel.h"
#include "storage/remote/endpoints.h"

namespace kiln::client {

struct ClientOptions {
  std::string endpoint;  // "unix:/path/to/socket" or "host:port", or several with commas between
  std::string instance = "default";
  storage::ClientCredentials credentials = {};  // what a "host:port" wants
  std::chrono::milliseconds deadline{30'000};   // of one unary call
  std::chrono::milliseconds retryTimeout{0};    // how long a wait for the farm may last; see RetryPolicy
  RetryPolicy::Listener waiting = {};
  // Told, by the thread that calls, that the coordinator `from` has failed and that `to` has answered.
  std::function<void(const std::string& from, const std::string& to)> movedOn = {};
};

// A W3C trace that a submission is part of.
struct SubmissionTrace {
  std::string caller;  // traceparent of whoever submits; goes with the call
  std::string job;     // what comes back: that of the submission if the farm traces the job; else ""
};

struct Submission {
  v1::Job job;
  // Of the farm's access file, the one that let the caller in; "" for who needs none, as over a Unix socket.
  // Printable, and no proof of anything.
  std::string grant;
};

// Thread safe. Connects on first use.
class Client {
 public:
  // kInvalidArgument for an endpoint that is of no form, or beyond this machine and without credentials.
  static Result<std::unique_ptr<Client>> open(ClientOptions options);
  ~Client();

  const std::string& instance() const { return options_.instance; }
  const std::string& endpoint() const { return options_.endpoint; }

  // Whether the farm answers, its database does, and the instance is there (kNotFound): one cheap call.
  Status ping();
  // The same of each coordinator, asked once, in the order of the list.
  std::vector<std::pair<std::string, Status>> pingEach();

  // Fills in the instance. On missing blobs: kFailedPrecondition with details {"missing": [...]}. The
  // request's idempotency key makes a repeated call find the job that the first one made.
  Result<Submission> submit(v1::SubmitJobRequest request, SubmissionTrace* trace = nullptr);
  Result<v1::Job> job(const std::string& id);
  // What one builder left of the job's compile for `target` ("" for its only one). kNotFound if nothing.
  Result<v1::BuilderOutputs> outputs(const std::string& job, const std::string& worker,
                                     const std::string& target = "");
  // What the job's tools said, of one worker, target or attempt (from 1) alone where they are named.
  Result<v1::JobLogs> logs(const std::string& job, const std::string& worker = "",
                           const std::string& target = "", int attempt = 0);
  Result<v1::Job> cancel(const std::string& id);
  Result<std::vector<v1::Job>> jobs(int limit, const std::string& before = "");
  // Calls `onChange` with the job now and after each change until it has ended; returns the last state.
  // An error from `onChange` ends the watch with that error. A farm that breaks off again and again is waited
  // for as long as one that is away, unless it has news each time.
  Result<v1::Job> watch(const std::string& id, const std::function<Status(const v1::Job&)>& onChange);

  Result<v1::Artifact> artifact(const std::string& digest);
  // The newest of the instance, at most `limit`.
  // Newest first; from after the artifact `before` if it is given.
  Result<std::vector<v1::Artifact>> artifacts(int limit, const std::string& before = {});
  Result<std::vector<v1::Toolchain>> toolchains();
  Result<v1::Toolchain> toolchain(const std::string& name);
  Result<v1::Toolchain> addToolchain(const std::string& label, const Digest& toolchainDigest,
                                     const std::optional<Digest>& lock, bool makeDefault);
  Result<std::vector<v1::ListWorkersResponse::Worker>> workers();
  // What waits and what runs, in this instance.
  Result<v1::Queue> queue();
  // The same of all instances; kPermissionDenied for who is not an admin in all of them.
  Result<v1::ListQueuesResponse> queues();

  // Collects garbage; waits for as long as that takes. Zero stands for the farm's own grace period.
  Result<v1::CollectGarbageResponse> collectGarbage(std::chrono::seconds grace, bool dryRun);
  // Called once, whatever comes.
  Result<v1::Artifact> addTombstone(const std::string& artifact, const std::string& reason);

  // Hands a third party's signed statement to the farm; the digest of the bundle as the farm keeps it. Called
  // once, whatever comes.
  Result<Digest> addAttestation(const Digest& artifact, const std::string& bundle);

  // The newest recalls.json on the farm; "" if there is none. Nothing of it is believed.
  Result<std::string> recalls();
  // The newest checkpoint of the farm's log, for whoever issues recalls; "" if it tells none. Nothing of it
  // is believed.
  Result<std::string> logCheckpoint();
  // Puts a newer one in force there; the file as it is in force, with the proofs of the log. Called once,
  // whatever comes.
  Result<std::string> publishRecalls(const std::string& document);

  // storage::uploadMissing() to the farm's CAS; what had arrived before a wait is not sent again, and is not
  // part of what `observer` hears then.
  Result<storage::UploadProgress> upload(std::span<const storage::UploadItem> items,
                                         const storage::UploadObserver& observer = {});
  // The farm's CAS over the same channel; its reads are retried. Lives as long as the client.
  storage::BlobStore& blobs() { return *blobs_; }
  // For the services that have a client of their own: the coordinators, and how they are called. `attempt`
  // (const storage::Endpoint& -> Result<T>, its errors as of rpcError()) must be fit to be done twice.
  const storage::Endpoints& endpoints() const { return *endpoints_; }
  template <class Attempt>
  auto retried(Attempt attempt) const {
    return retryPolicy_([&] { return anywhere(attempt); });
  }
  // An error of blobs(), saying where the farm was looked for and how to start it if it was not reached at
  // all, and who may have answered for it.
  Error explain(Error error) const;
  // Of what the farm has sent and nobody can read: it does not verify, and is no fault of the caller's words.
  Error unreadable(const Error& error) const;

 private:
  struct Stubs;
  Client(ClientOptions options, std::shared_ptr<storage::Endpoints> endpoints);
  // One round of the coordinators.
  template <class Attempt>
  auto anywhere(Attempt& attempt) const {
    Round round{*this};
    return (*endpoints_)([&](const storage::Endpoint& at) {
      auto result = attempt(at);
      if (result || !storage::isAway(result.error()))
        round.answered(at);
      else
        round.failed(at, result.error());
      return result;
    });
  }
  // What its coordinators have said so far.
  class Round {
   public:
    explicit Round(const Client& client) : client_(client) {}
    void answered(const storage::Endpoint& at);
    // Makes `error` that of the round as far as it has come.
    void failed(const storage::Endpoint& at, Error& error);

   private:
    const Client& client_;
    const storage::Endpoint* first_ = nullptr;  // to fail
    std::optional<Error> said_;                 // by one that could be reached
  };

  template <class Response, class Stub, class Request>
  using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);
  template <class Response, class Stub, class Request>
  Result<Response> call(Stub Stubs::* service, Method<Response, Stub, Request> method, const Request& request,
                        std::optional<std::chrono::milliseconds> deadline = {});
  template <class Response, class Stub, class Request>
  Result<Response> attempt(const storage::Endpoint& at, Stub Stubs::* service,
                           Method<Response, Stub, Request> method, const Request& request,
                           std::optional<std::chrono::milliseconds> deadline = {});
  template <class Response, class Stub, class Request>
  Result<Response> callOnce(Stub Stubs::* service, Method<Response, Stub, Request> method,
                            const Request& request);
  Result<const storage::Endpoint*> connect();
  Status connectTo(const storage::Endpoint& at);
  Status pingAt(const storage::Endpoint& at);
  Status watchAt(const storage::Endpoint& at, const v1::GetJobRequest& request, WatchedJob& watched);
  Error brokenOff(const storage::Endpoint& at) const;

  const ClientOptions options_;
  const RetryPolicy retryPolicy_;
  const std::shared_ptr<storage::Endpoints> endpoints_;
  std::vector<std::unique_ptr<Stubs>> stubs_;        // by the place of their endpoint
  std::unique_ptr<storage::BlobStore> coordinator_;  // as it answers
  std::unique_ptr<storage::BlobStore> remote_;       // past it where the farm's store can be reached
  std::unique_ptr<storage::BlobStore> blobs_;        // reads are retried
};

}  // namespace kiln::client
