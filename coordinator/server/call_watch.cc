#include "coordinator/server/call_watch.h"

#include <grpc/grpc.h>

#include <optional>
#include <string_view>
#include <vector>

#include "coordinator/farm/log.h"
#include "google/bytestream/bytestream.pb.h"
#include "manifest/base/mutex.h"

namespace kiln::server {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerRpcInfo;

// One call, from before its handler runs until gRPC has done with it.
class CallWatch::Call final : public grpc::experimental::Interceptor {
 public:
  Call(CallWatch& watch, ServerRpcInfo& info)
      : watch_(watch), context_(*info.server_context()), method_(info.method()), began_(watch.clock_.now()) {
    const MutexLock lock(watch_.mutex_);
    watch_.calls_[&context_] = this;
  }
  ~Call() override {
    {
      const MutexLock lock(watch_.mutex_);
      watch_.calls_.erase(&context_);
    }
    if (call_) grpc_call_unref(call_);
    if (!answered_) tellEnd(GRPC_STATUS_CANCELLED);
  }

  // gRPC asks before each batch of operations and after it.
  void Intercept(InterceptorBatchMethods* batch) override {
    const auto has = [batch](InterceptionHookPoints point) {
      return batch->QueryInterceptionHookPoint(point);
    };
    // Nobody waits in either.
    if (has(InterceptionHookPoints::PRE_SEND_CANCEL) || has(InterceptionHookPoints::POST_RECV_CLOSE))
      return batch->Proceed();
    const bool received = has(InterceptionHookPoints::POST_RECV_MESSAGE);
    const bool sends = has(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA) ||
                       has(InterceptionHookPoints::PRE_SEND_MESSAGE) ||
                       has(InterceptionHookPoints::PRE_SEND_STATUS);
    if (has(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) tool_ = callingTool(method_, context_);
    if (has(InterceptionHookPoints::PRE_SEND_STATUS)) tellEnd(batch->GetSendStatus().error_code());
    std::uint64_t bytes = 0;
    if (has(InterceptionHookPoints::PRE_SEND_MESSAGE)) bytes = batch->GetSerializedSendMessage()->Length();
    if (received) bytes = bytesOf(batch->GetRecvMessage());
    {
      const MutexLock lock(watch_.mutex_);
      // There is none yet as this is made, but with the first batch.
      if (grpc_call* call = context_.c_call(); call && !call_) grpc_call_ref(call_ = call);
      // Neither the start of a read nor the end of a message that was serialized above has a point of its
      // own.
      const bool begins =
          sends || !(received || has(InterceptionHookPoints::POST_RECV_INITIAL_METADATA) || sending_);
      sending_ = sends;
      moved_ += bytes;
      settle(watch_.clock_.now());
      if (begins) since_ = watch_.clock_.now();
    }
    batch->Proceed();
  }

  // Whoever found the call among those of a watch, and holds that one's mutex, says so with this.
  void assertLocked() const KILN_ASSERTS(watch_.mutex_) {}
  bool isOverdue(TimePoint now, const CallLimits& limits) const KILN_REQUIRES(watch_.mutex_) {
    const Duration gained = std::chrono::seconds(moved_ / limits.bytesPerSecond);
    return call_ && !ended_ && since_ && waited_ + (now - *since_) > limits.patience + gained;
  }
  bool waits() const KILN_REQUIRES(watch_.mutex_) { return since_.has_value(); }
  std::uint64_t moved() const KILN_REQUIRES(watch_.mutex_) { return moved_; }
  // Referenced, for the caller to end.
  grpc_call* end() KILN_REQUIRES(watch_.mutex_) {
    ended_ = true;
    grpc_call_ref(call_);
    return call_;
  }
  std::string describe() const { return std::string(method_) + " of " + context_.peer(); }
  void keep(access::CallLimiter::Permit permit) KILN_REQUIRES(watch_.mutex_) {
    permit_.emplace(std::move(permit));
  }

 private:
  void settle(TimePoint now) KILN_REQUIRES(watch_.mutex_) {
    if (since_) waited_ += now - *since_;
    since_.reset();
  }
  // One batch of a call comes after another.
  void tellEnd(int code) {
    answered_ = true;
    watch_.ended_({method_, code, watch_.clock_.now() - began_, tool_});
  }
  // Only uploads come in many messages; of what is one alone it does not matter.
  std::uint64_t bytesOf(const void* message) const {
    if (!message || std::string_view(method_) != "/google.bytestream.ByteStream/Write") return 0;
    return static_cast<const google::bytestream::WriteRequest*>(message)->data().size();
  }

  CallWatch& watch_;
  grpc::ServerContextBase& context_;
  const char* const method_;
  const TimePoint began_;
  bool answered_ = false;
  std::optional<CallingTool> tool_;
  grpc_call* call_ KILN_GUARDED_BY(watch_.mutex_) = nullptr;
  std::optional<access::CallLimiter::Permit> permit_ KILN_GUARDED_BY(watch_.mutex_);
  std::optional<TimePoint> since_ KILN_GUARDED_BY(watch_.mutex_);  // of a batch that is under way
  Duration waited_ KILN_GUARDED_BY(watch_.mutex_) = {};            // in those before
  std::uint64_t moved_ KILN_GUARDED_BY(watch_.mutex_) = 0;         // bytes
  bool sending_ KILN_GUARDED_BY(watch_.mutex_) = false;            // a send is under way
  bool ended_ KILN_GUARDED_BY(watch_.mutex_) = false;
};

class CallWatch::Factory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit Factory(CallWatch& watch) : watch_(watch) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    if (std::string_view(info->method()).starts_with("/grpc.health.")) return nullptr;
    return new Call(watch_, *info);  // gRPC's own from here on
  }

 private:
  CallWatch& watch_;
};

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> CallWatch::interceptors() {
  return std::make_unique<Factory>(*this);
}

Status CallWatch::keep(const grpc::ServerContextBase& context, access::CallLimiter::Permit permit) {
  const MutexLock lock(mutex_);
  const auto found = calls_.find(&context);
  if (found == calls_.end()) return fail(Code::kInternal, "a call that nobody watches");
  found->second->assertLocked();
  found->second->keep(std::move(permit));
  return {};
}

std::size_t CallWatch::endOverdue() {
  std::vector<std::pair<grpc_call*, std::string>> overdue;
  {
    const TimePoint now = clock_.now();
    const MutexLock lock(mutex_);
    for (const auto& [context, call] : calls_) {
      call->assertLocked();
      if (call->isOverdue(now, limits_)) overdue.emplace_back(call->end(), call->describe());
    }
  }
  for (const auto& [call, what] : overdue) {
    service::logWarning("call ended", {{"call", what}, {"error", "its peer kept it waiting for too long"}});
    grpc_call_cancel_with_status(call, GRPC_STATUS_DEADLINE_EXCEEDED,
                                 "the call waited for its client for too long; try again", nullptr);
    grpc_call_unref(call);
  }
  return overdue.size();
}

std::size_t CallWatch::inProgress() {
  const MutexLock lock(mutex_);
  return calls_.size();
}

std::size_t CallWatch::waiting() {
  const MutexLock lock(mutex_);
  std::size_t waiting = 0;
  for (const auto& [context, call] : calls_) {
    call->assertLocked();
    if (call->waits()) ++waiting;
  }
  return waiting;
}

std::uint64_t CallWatch::moved() {
  const MutexLock lock(mutex_);
  std::uint64_t bytes = 0;
  for (const auto& [context, call] : calls_) {
    call->assertLocked();
    bytes += call->moved();
  }
  return bytes;
}

void CallWatch::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    Mutex mutex;
    Condition wake;
    const MutexLock lock(mutex);
    while (!stop.stop_requested()) {
      wake.waitFor(mutex, std::chrono::seconds(1), stop);
      endOverdue();
    }
  });
}

}  // namespace kiln::server
