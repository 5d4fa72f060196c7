// The coordinators of a farm, each with its channel: a call goes to one of them, and to the next where it
// fails.
#pragma once

#include <grpcpp/channel.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "manifest/base/mutex.h"
#include "manifest/base/result.h"
#include "manifest/base/steady_clock.h"
#include "storage/remote/channel.h"
#include "storage/remote/endpoint_choice.h"

namespace kiln::storage {

// One of them. Its channel checks a certificate against this endpoint's own host.
struct Endpoint {
  std::size_t place = 0;  // in the list
  std::string name;       // "unix:/path" or "host:port", as it was given
  std::shared_ptr<grpc::Channel> channel;
};

// "A,B,C" as its members. kInvalidArgument for an empty one, one that stands there twice, and more than 16.
Result<std::vector<std::string>> splitEndpoints(const std::string& list);

// Whether an error is of one coordinator that is away, or of its time: another may do better.
bool isAway(const Error& error);

// Thread safe. All of them must serve the same farm: what one has acknowledged, the others know.
class Endpoints {
 public:
  // `list` as splitEndpoints(), each as channelCredentials(); errors as of both. `first` (modulo their
  // number) says which comes first, so that many clients spread.
  static Result<std::shared_ptr<Endpoints>> open(const std::string& list, const ClientCredentials& files,
                                                 std::size_t first = 0);
  // Of one alone, whose name is known to whoever made its channel.
  explicit Endpoints(std::shared_ptr<grpc::Channel> channel);

  const std::vector<Endpoint>& all() const { return all_; }
  // "A, B and C".
  std::string names() const;
  // The one that a call goes to now.
  const Endpoint& current();
  // What came of a call that went to it.
  void answered(const Endpoint& one);
  void failed(const Endpoint& one);
  // Waits so long before the next call, while the current endpoint connects: gRPC goes on with a handshake
  // only while somebody waits for its channel, so that who merely sleeps between calls may never connect.
  void pause(std::chrono::nanoseconds time);

  // Calls `attempt` (const Endpoint& -> Status or Result<T>) with the current endpoint, and at once with
  // others while it fails for being away, each once at most. What it does must be fit to be done twice.
  template <class Attempt>
  auto operator()(Attempt attempt) -> decltype(attempt(std::declval<const Endpoint&>())) {
    std::vector<bool> tried(all_.size());
    for (;;) {
      const Endpoint& one = *next(tried);
      auto result = attempt(one);
      if (result || !isAway(result.error())) {
        answered(one);
        return result;
      }
      failed(one);
      tried[one.place] = true;
      if (!next(tried)) return result;
    }
  }

 private:
  explicit Endpoints(std::vector<Endpoint> all, std::size_t first);
  const Endpoint* next(const std::vector<bool>& tried);

  const SteadyClock clock_;
  const std::vector<Endpoint> all_;
  Mutex mutex_;
  EndpointChoice choice_ KILN_GUARDED_BY(mutex_);
};

}  // namespace kiln::storage
