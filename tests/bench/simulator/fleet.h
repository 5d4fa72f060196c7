// Many simulated workers on one thread, over few connections.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "signing/keys/certificate.h"
#include "tests/bench/simulator/simulated_worker.h"

namespace kiln::fleet {

// Thread safe.
class Fleet {
 public:
  struct Options {
    int workers = 1;
    int slots = 1;
    std::vector<std::string> endpoints;  // of the coordinators; the workers begin at each in turn
    std::string directory;               // for certificates and keys
    Digest sandboxPolicy;
  };
  // Certificates by `authority`; `mix` must outlive it.
  Fleet(const Options& options, const JobMix& mix, const signing::Authority& authority);
  ~Fleet();

  // Has the workers call, the first ones now and the last ones after `spread`.
  void resume(Duration spread);
  // Has them call no more, and waits until no call is under way. What runs on them goes on.
  void pause();
  // What was seen since this was called last.
  Seen take();
  // When each action was leased first, by the steady clock.
  std::unordered_map<std::string, TimePoint> firstLeases();
  // Watches the workers that now talk to this one of the endpoints; how many those are.
  int watch(std::size_t endpoint);

 private:
  // Runs `ask` on the fleet's thread and waits for what it says.
  template <class F>
  auto ask(F ask) {
    std::packaged_task<std::invoke_result_t<F>()> task(std::move(ask));
    auto answer = task.get_future();
    boost::asio::post(io_, [&task] { task(); });
    return answer.get();
  }

  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  Surroundings around_;
  std::vector<std::unique_ptr<SimulatedWorker::Stub>> stubs_;
  std::vector<std::unique_ptr<SimulatedWorker>> workers_;
  std::size_t endpoints_ = 0;
  std::thread thread_;
};

}  // namespace kiln::fleet
