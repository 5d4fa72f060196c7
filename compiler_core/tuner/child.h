// A process of its own for code that may crash, hang or use up memory, and messages both ways.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "manifest/base/file.h"
#include "manifest/base/result.h"

namespace kiln::tuner {

// One message at a time each way: eight bytes of length and as many bytes. Blocking; kUnavailable: the other
// side is gone. kOutOfRange: a message of more than `most` bytes.
Status sendMessage(int fd, std::string_view message);
Result<std::string> receiveMessage(int fd, std::size_t most);

// Not thread safe. The parent must ignore SIGPIPE.
class Child {
 public:
  using Clock = std::chrono::steady_clock;

  // A copy of this process, which does `work(in, out)` and ends; with it, when its parent does. It must not
  // need other threads of this process, nor what they hold. kResourceExhausted: no process.
  static Result<Child> fork(const std::function<void(int in, int out)>& work);
  // Another program with these arguments, the first its path, which takes messages on standard input and
  // gives them on standard output; with this one's environment and standard error. It ends likewise.
  // kNotFound: there is no such program that can be run. kResourceExhausted as above.
  static Result<Child> start(const std::vector<std::string>& command);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();  // kills it

  // kUnavailable: it has ended, with how in words. kDeadlineExceeded: it has not taken the message, or given
  // one, by then. kCancelled: `shouldStop` said so, which is asked ten times a second. kOutOfRange: more than
  // `most` bytes. After any of these there is nothing to do with it but to end it.
  Status send(std::string_view message, Clock::time_point deadline, const std::function<bool()>& shouldStop);
  Result<std::string> receive(std::size_t most, Clock::time_point deadline,
                              const std::function<bool()>& shouldStop);

 private:
  Child(pid_t pid, UniqueFd to, UniqueFd from) : pid_(pid), to_(std::move(to)), from_(std::move(from)) {}
  Status wait(int fd, short events, Clock::time_point deadline, const std::function<bool()>& shouldStop);
  Status ended();
  void kill();

  pid_t pid_ = -1;
  UniqueFd to_, from_;
};

}  // namespace kiln::tuner
