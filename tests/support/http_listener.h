// A small HTTP/1.1 server in this process, whose answers a test writes byte by byte.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "manifest/base/mutex.h"

namespace kiln::testing_support {

struct HttpSeen {
  std::string method, target, body;
  std::map<std::string, std::string> headers;  // names in lower case
};

// Loopback, a port of its own. A connection serves requests until an answer is empty or says
// "Connection: close".
class HttpListener {
 public:
  // The raw answer; "" cuts the connection. Called by several threads.
  using Handler = std::function<std::string(const HttpSeen&)>;
  explicit HttpListener(Handler handler);
  ~HttpListener();

  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  void accept();
  void serve(int socket);

  const Handler handler_;
  int listening_ = -1, port_ = 0;
  Mutex mutex_;
  std::vector<int> open_ KILN_GUARDED_BY(mutex_);
  std::list<std::thread> connections_;
  std::thread acceptor_;
};

// A whole answer with its length.
std::string httpAnswer(int status, const std::string& body = "",
                       const std::vector<std::string>& headers = {});

// A listening socket on loopback and its port.
std::pair<int, int> listenOnLoopback();

}  // namespace kiln::testing_support
