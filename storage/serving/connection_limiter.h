// Limits the connections of a server, and chooses whose request is answered next. Pure: no sockets, no clock
// of its own.
//
// A connection waits for its client (a handshake, a request), is queued with a request, or is answered. Where
// there are too many, in all, of one address, or without a proven certificate, a new one evicts one that
// waits: nobody keeps a connection by doing nothing. What is answered at once is limited in all and by
// address, the rest is queued in order. Whoever lets an answer stall while others are queued has to go.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kiln::serving {

struct ConnectionLimits {
  std::size_t connections = 256;
  std::size_t perAddress = 128;
  std::size_t anonymous = 192;  // without a client's certificate
  std::size_t answers = 128;
  std::size_t answersPerAddress = 96;
  std::chrono::milliseconds stall{2000};  // how long one write may hang while requests are queued
};

// The clients that count as one: an IPv4 address, an IPv6 prefix of 64 bits. `address` is numeric; what is
// not stands for itself.
std::string sourceOf(const std::string& address);

// Not thread safe. Ids are never used again; what is asked of one that has left does nothing.
class ConnectionLimiter {
 public:
  using Id = std::uint64_t;
  using Time = std::chrono::steady_clock::time_point;

  explicit ConnectionLimiter(ConnectionLimits limits) : limits_(limits) {}

  struct Entry {
    Id id;
    std::optional<Id> evicted;  // has left: close it
  };
  // A connection from `source`, waiting. Nothing if there are as many as may be and none of them waits.
  std::optional<Entry> enter(const std::string& source, Time now);
  void leave(Id id);
  // It showed a certificate that holds.
  void certify(Id id);
  // It waits for its client: its answer, if there was one, is finished.
  void wait(Id id, Time now);
  // It has a request; next() says when that may be answered.
  void request(Id id);
  // The next one to be answered, if any may.
  std::optional<Id> next();
  // A write of its answer begins, or has ended.
  void write(Id id, Time now);
  void written(Id id);
  // Who must go now, so that those who are queued come to be answered. They have left.
  std::vector<Id> stalled(Time now);

  std::size_t size() const { return peers_.size(); }
  bool queued() const { return !queue_.empty(); }

 private:
  enum class State { kWaits, kQueued, kAnswered };
  struct Peer {
    std::string source;
    bool certified = false;
    State state = State::kWaits;
    Time since{};                 // kWaits
    std::optional<Time> writing;  // kAnswered: since when
  };
  struct Source {
    std::size_t connections = 0, answers = 0;
  };

  std::optional<Id> evictable(const std::string* source, bool anonymousOnly) const;
  void endAnswer(Peer& peer);

  const ConnectionLimits limits_;
  Id last_ = 0;
  std::map<Id, Peer> peers_;
  std::map<std::string, Source> sources_;
  std::deque<Id> queue_;
  std::size_t anonymous_ = 0, answers_ = 0;
};

}  // namespace kiln::serving
