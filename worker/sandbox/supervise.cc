#include "worker/sandbox/supervise.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
extern "C" {  // glibc 2.36's header does not say so itself
#include <sys/pidfd.h>
}

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>

#include "manifest/base/printable.h"
#include "worker/sandbox/bounded_log.h"
#include "worker/sandbox/held_files.h"
#include "worker/sandbox/outputs.h"

namespace kiln::sandbox {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kCheckEvery{100};  // how often the output directory is looked at; see nextCheck()

// The number behind `"key": ` in bubblewrap's status, which is a few lines of JSON that bubblewrap itself
// wrote.
std::optional<int> statusNumber(const std::string& text, const std::string& key) {
  const std::size_t at = text.find("\"" + key + "\": ");
  if (at == std::string::npos) return std::nullopt;
  const std::size_t first = at + key.size() + 4;
  const std::size_t last = text.find_first_not_of("0123456789", first);
  // A number at the very end may be cut short.
  if (last == std::string::npos || last == first || last - first > 9) return std::nullopt;
  return std::stoi(text.substr(first, last - first));
}

class Supervisor {
 public:
  explicit Supervisor(const Supervision& watch)
      : watch_(watch), out_(watch.limits->logBytes), err_(watch.limits->logBytes, watch.onErrorLine) {}

  Result<RunResult> run() {
    bwrap_ = UniqueFd(pidfd_open(watch_.bwrap, 0));
    if (!bwrap_) {
      const int error = errno;
      kill(watch_.bwrap, SIGKILL);
      waitpid(watch_.bwrap, nullptr, 0);
      return fail(errnoError(error, "sandbox: pidfd_open"));
    }
    while (true) {
      // In this order: what bubblewrap wrote before it went is read before deciding whether pid 1 is known.
      const bool over = gone(bwrap_);
      readAll();
      if (over && (!init_ || gone(init_))) break;
      step();
    }
    siginfo_t info{};
    while (waitid(P_PIDFD, static_cast<id_t>(bwrap_.get()), &info, WEXITED) != 0 && errno == EINTR) {
    }
    return verdict(info);
  }

 private:
  static bool gone(const UniqueFd& process) {
    pollfd poll{process.get(), POLLIN, 0};
    return ::poll(&poll, 1, 0) == 1;
  }

  // Waits for whatever comes first and deals with it.
  void step() {
    std::array<pollfd, 6> polls = {{{bwrap_.get(), POLLIN, 0},
                                    {gone(bwrap_) && init_ ? init_.get() : -1, POLLIN, 0},
                                    {open_[0] ? watch_.out : -1, POLLIN, 0},
                                    {open_[1] ? watch_.err : -1, POLLIN, 0},
                                    {open_[2] ? watch_.status : -1, POLLIN, 0},
                                    {watch_.cancel && !ended_ ? watch_.cancel->fd() : -1, POLLIN, 0}}};
    if (gone(bwrap_)) polls[0].fd = -1;
    const auto now = Steady::now();
    auto wake = ended_ ? now + std::chrono::seconds(1) : std::min(deadline_, nextCheck_);
    const auto wait = std::chrono::ceil<milliseconds>(wake - now).count();
    ::poll(polls.data(), polls.size(), static_cast<int>(std::clamp<long long>(wait, 0, 60'000)));
    readAll();
    if (ended_) return terminate();
    if (watch_.cancel && (polls[5].revents & POLLIN)) return end(Termination::kCancelled, "cancelled");
    if (Steady::now() >= deadline_) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(watch_.timeLimit).count();
      return end(Termination::kTimedOut, "still running after " + std::to_string(seconds) + " s");
    }
    if (Steady::now() >= nextCheck_) checkOutput();
  }

  void checkOutput() {
    const auto begin = Steady::now();
    if (!watch_.outputDirectory.empty()) {
      struct stat output{};
      const bool there = stat(watch_.outputDirectory.c_str(), &output) == 0;
      const auto unseen = there ? unlinkedBytes(watch_.bwrap, output.st_dev) : 0;
      if (auto use = checkOutputUse(watch_.outputDirectory, *watch_.limits, unseen, watch_.before); !use) {
        return end(Termination::kOutputLimit, use.error().message);
      }
    }
    // At most a tenth of the time goes into looking.
    nextCheck_ = Steady::now() + std::max<Steady::duration>(kCheckEvery, 9 * (Steady::now() - begin));
  }

  void end(Termination termination, std::string why) {
    ended_ = termination;
    why_ = std::move(why);
    terminate();
  }

  // Killing pid 1 ends its whole namespace, and bubblewrap with it. Before pid 1 is known, if bubblewrap
  // hangs, or is pid 1 itself, bubblewrap is killed and takes everything along.
  void terminate() {
    if (init_) pidfd_send_signal(init_.get(), SIGKILL, nullptr, 0);
    if (!init_ || ++kills_ > 3) pidfd_send_signal(bwrap_.get(), SIGKILL, nullptr, 0);
  }

  void readAll() {
    open_[0] = open_[0] && readSome(watch_.out, [&](std::string_view bytes) { out_.append(bytes); });
    open_[1] = open_[1] && readSome(watch_.err, [&](std::string_view bytes) { err_.append(bytes); });
    open_[2] = open_[2] && readSome(watch_.status, [&](std::string_view bytes) {
                 if (status_.size() < 65536) status_.append(bytes);
               });
    if (init_ || watch_.ownPids) return;
    if (const auto pid = statusNumber(status_, "child-pid")) init_ = UniqueFd(pidfd_open(*pid, 0));
  }

  // False at the end of the stream. Reads at most 1 MiB at a time, so that a flood cannot hold up the
  // deadline.
  template <class Take>
  bool readSome(int fd, const Take& take) {
    for (int i = 0; i < 16; ++i) {
      const ssize_t got = read(fd, buffer_.data(), buffer_.size());
      if (got < 0) return errno == EAGAIN || errno == EINTR;
      if (got == 0) return false;
      take(std::string_view(buffer_.data(), static_cast<std::size_t>(got)));
    }
    return true;
  }

  Result<RunResult> verdict(const siginfo_t& info) {
    // What was written before the end is still in the pipes, and no writer is left.
    while (open_[0] || open_[1] || open_[2]) {
      const auto before = out_.total() + err_.total() + status_.size();
      readAll();
      if (out_.total() + err_.total() + status_.size() == before) break;
    }
    RunResult result;
    result.out = out_.text();
    result.err = err_.text();
    result.wallTime = std::chrono::duration_cast<Duration>(Steady::now() - begin_);
    if (ended_) {
      result.termination = *ended_;
      result.why = why_;
      return result;
    }
    const auto exit = statusNumber(status_, "exit-code");
    if (!exit) {
      std::string words = result.err;
      while (words.ends_with('\n')) words.pop_back();
      words = printable(words, 1000);
      if (words.empty()) words = "bubblewrap ended with status " + std::to_string(info.si_status);
      return fail(Code::kFailedPrecondition, "the sandbox could not be set up: " + words);
    }
    result.exitCode = *exit;
    return result;
  }

  const Supervision& watch_;
  BoundedLog out_, err_;
  std::string status_, why_;
  UniqueFd bwrap_, init_;
  std::array<bool, 3> open_ = {true, true, true};
  std::array<char, 65536> buffer_{};
  std::optional<Termination> ended_;
  int kills_ = 0;
  const Steady::time_point begin_ = Steady::now();
  const Steady::time_point deadline_ = begin_ + watch_.timeLimit;
  Steady::time_point nextCheck_ = begin_ + kCheckEvery;
};

}  // namespace

Result<RunResult> supervise(const Supervision& watch) {
  return Supervisor(watch).run();
}

}  // namespace kiln::sandbox
