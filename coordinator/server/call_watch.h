// The calls in progress of a gRPC server. A blocking call holds a thread, and gRPC gives none a time limit:
// here each gets one for what its peer makes it wait.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_interceptor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <thread>

#include "coordinator/access/call_limiter.h"
#include "coordinator/server/tool_calls.h"
#include "manifest/base/clock.h"
#include "manifest/base/mutex.h"

namespace kiln::server {

struct CallLimits {
  // How long a call may wait for its peer, in all: to send a message, or to take one. What moves meanwhile
  // gains time, so a slow line is served and one byte now and then is not enough.
  Duration patience = std::chrono::minutes(2);
  std::uint64_t bytesPerSecond = 16 << 10;
};

// Thread safe. Must outlive the server that it watches. Time in which the call works, or waits for the farm,
// is not counted: a watch of a job may be quiet for hours.
class CallWatch {
 public:
  // Told of each call whose answer has its status; of one that was given up before, with CANCELLED. On gRPC's
  // threads.
  using Ended = std::function<void(const EndedCall&)>;

  // `clock` must outlive it.
  explicit CallWatch(
      const Clock& clock, CallLimits limits = {}, Ended ended = [](const EndedCall&) {})
      : clock_(clock), limits_(limits), ended_(std::move(ended)) {}
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

  // For grpc::ServerBuilder: tells of all calls but those for gRPC's own health.
  std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> interceptors();

  // Ends what is overdue, once a second until this is destroyed.
  void start();
  // Does so now; how many those are. Their peers are told DEADLINE_EXCEEDED.
  std::size_t endOverdue();
  // Calls that wait for their peers now.
  std::size_t waiting();
  // Calls in progress.
  std::size_t inProgress();
  // Bytes that the calls in progress have moved.
  std::uint64_t moved();

  // Keeps `permit` until the last byte of the call's answer has been taken, which is after its handler
  // returned. kInternal for a call that is not watched.
  Status keep(const grpc::ServerContextBase& context, access::CallLimiter::Permit permit);

 private:
  class Call;
  class Factory;

  const Clock& clock_;
  const CallLimits limits_;
  const Ended ended_;
  Mutex mutex_;
  std::map<const grpc::ServerContextBase*, Call*> calls_ KILN_GUARDED_BY(mutex_);
  std::jthread thread_;  // the last, so that it ends first
};

}  // namespace kiln::server
