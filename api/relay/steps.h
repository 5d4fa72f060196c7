// One asynchronous step after another, each waited for, on an io_context that one thread has to itself. The
// time of a step is its stream's, so that no step waits for ever.
#pragma once

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/core/error.hpp>

namespace kiln::relay {

// Not thread safe; `context` outlives it. Another thread may stop the context: then the step under way ends
// with operation_aborted, and none is begun any more.
class Steps {
 public:
  explicit Steps(boost::asio::io_context& context) : context_(context) {}

  boost::asio::io_context& context() { return context_; }

  // What `start` begins with the completion handler that it is given.
  template <class Start>
  boost::beast::error_code await(Start start) {
    if (stopped_) return boost::asio::error::operation_aborted;
    boost::beast::error_code result;
    stopped_ = true;
    start([&](boost::beast::error_code error, auto&&...) {
      result = error;
      stopped_ = false;
    });
    context_.restart();
    context_.run();
    return stopped_ ? boost::asio::error::operation_aborted : result;
  }

 private:
  boost::asio::io_context& context_;
  bool stopped_ = false;
};

}  // namespace kiln::relay
