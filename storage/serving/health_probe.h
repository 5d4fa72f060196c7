// Asks for a backend's health on a thread of its own, so that neither clients nor a slow database can keep
// the question from being answered in time.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <functional>
#include <vector>

#include "manifest/base/result.h"

namespace kiln::serving {

// For the I/O thread of `io` alone, which must outlive it; join() is called before that thread ends.
class HealthProbe {
 public:
  using Callback = std::function<void(const Status&)>;

  HealthProbe(boost::asio::io_context& io, std::function<Status()> health, std::chrono::milliseconds limit);

  // Calls `callback` on the I/O thread: with what a look that ends from now on finds, or with
  // kDeadlineExceeded after the limit. Those who ask meanwhile share a look.
  void ask(Callback callback);
  // On any other thread: waits for a look that is under way.
  void join() { thread_.join(); }

 private:
  void tell(const Status& status);

  boost::asio::io_context& io_;
  const std::function<Status()> health_;
  const std::chrono::milliseconds limit_;
  boost::asio::steady_timer timer_;
  std::vector<Callback> waiting_;
  bool looking_ = false;
  boost::asio::thread_pool thread_{1};
};

}  // namespace kiln::serving
