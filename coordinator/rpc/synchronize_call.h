// One call of WorkerService.Synchronize, from its begin to its answer. Of worker_service.cc alone.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/rpc/worker_service.h"

namespace kiln::service {

// Who calls.
struct WorkerService::Caller {
  signing::Certificate certificate;
  v1::WorkerDescription description;  // name and operator as in the certificate
  queue::Claim claim;
  std::string peerAddress;

  const queue::Identity& identity() const { return claim.worker; }
};

// It looks for work, and where there is none for a worker that has nothing to do, it waits for news without a
// thread, and looks again. What it does runs on its strand, one thing after the other; news, the end of its
// time and of its caller only post. It lives as long as gRPC, or something that was posted, still knows of
// it.
class WorkerService::Call final : public std::enable_shared_from_this<Call> {
 public:
  // What gRPC keeps until the answer is given.
  struct Exchange {
    grpc::CallbackServerContext& context;
    const v1::SynchronizeRequest& request;
    v1::SynchronizeResponse& response;
  };

  // What gRPC is to be given as its handler's result.
  static grpc::ServerUnaryReactor* begin(WorkerService& service, const Exchange& exchange,
                                         std::optional<std::vector<std::string>> instances);

 private:
  class Reactor;
  using Strand = boost::asio::strand<boost::asio::thread_pool::executor_type>;

  Call(WorkerService& service, const Exchange& exchange, std::optional<std::vector<std::string>> instances);

  using Step = void (Call::*)();
  // On the strand, later.
  void post(Step step);
  // Answers what ran out of memory, and lives on.
  void run(Step step);
  // Who calls, and what it has finished; not on the strand, which nothing else needs before this is over.
  void takeResults();
  // Looks for work, and answers or waits.
  void look();
  void wait();
  // Ends the wait, if it still waits: there is news, the caller is gone, or the coordinator stops.
  void wake();
  void timeIsOver();
  void answer();
  void finish(const grpc::Status& status);

  WorkerService& service_;
  const Exchange exchange_;
  Reactor* reactor_ = nullptr;  // gRPC's own; null once the answer is given, and then the exchange is gone
  std::optional<std::vector<std::string>> instances_;
  std::chrono::steady_clock::time_point until_;
  int slots_ = 0;
  std::optional<Caller> caller_;
  std::vector<index::RunRecord> runs_;
  std::optional<queue::ChangeFeed::WorkWatch> watch_;
  Strand strand_;
  boost::asio::steady_timer timer_;
  bool waiting_ = false;
};

}  // namespace kiln::service
