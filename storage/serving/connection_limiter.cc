#include "storage/serving/connection_limiter.h"

#include <arpa/inet.h>

#include <algorithm>
#include <tuple>

namespace kiln::serving {

std::string sourceOf(const std::string& address) {
  in6_addr six{};
  if (::inet_pton(AF_INET6, address.substr(0, address.find('%')).c_str(), &six) != 1) return address;
  char text[INET6_ADDRSTRLEN] = "";
  if (IN6_IS_ADDR_V4MAPPED(&six)) return ::inet_ntop(AF_INET, &six.s6_addr[12], text, sizeof text);
  std::fill(six.s6_addr + 8, six.s6_addr + 16, std::uint8_t{0});
  return std::string(::inet_ntop(AF_INET6, &six, text, sizeof text)) + "/64";
}

std::optional<ConnectionLimiter::Entry> ConnectionLimiter::enter(const std::string& source, Time now) {
  const auto known = sources_.find(source);
  const std::size_t own = known == sources_.end() ? 0 : known->second.connections;
  std::optional<Id> evicted;
  const bool tooManyOwn = own >= limits_.perAddress, tooManyAnonymous = anonymous_ >= limits_.anonymous;
  if (tooManyOwn || tooManyAnonymous || peers_.size() >= limits_.connections) {
    evicted = evictable(tooManyOwn ? &source : nullptr, tooManyAnonymous);
    if (!evicted) return std::nullopt;
    leave(*evicted);
  }
  const Id id = ++last_;
  peers_[id] = {.source = source, .since = now, .writing = {}};
  ++sources_[source].connections;
  ++anonymous_;
  return Entry{id, evicted};
}

// Evicts among those who wait: first who showed no certificate, then whose address has most, then who waits
// longest.
std::optional<ConnectionLimiter::Id> ConnectionLimiter::evictable(const std::string* source,
                                                                  bool anonymousOnly) const {
  const auto rank = [&](Id id, const Peer& peer) {
    return std::tuple(peer.certified, -static_cast<std::ptrdiff_t>(sources_.at(peer.source).connections),
                      peer.since, id);
  };
  std::optional<decltype(rank(0, Peer()))> best;
  for (const auto& [id, peer] : peers_) {
    if (peer.state != State::kWaits || (source && peer.source != *source) ||
        (anonymousOnly && peer.certified))
      continue;
    if (const auto its = rank(id, peer); !best || its < *best) best = its;
  }
  if (!best) return std::nullopt;
  return std::get<Id>(*best);
}

void ConnectionLimiter::leave(Id id) {
  const auto at = peers_.find(id);
  if (at == peers_.end()) return;
  endAnswer(at->second);
  if (!at->second.certified) --anonymous_;
  const auto source = sources_.find(at->second.source);
  if (--source->second.connections == 0) sources_.erase(source);
  peers_.erase(at);
  std::erase(queue_, id);
}

void ConnectionLimiter::certify(Id id) {
  const auto at = peers_.find(id);
  if (at == peers_.end() || at->second.certified) return;
  at->second.certified = true;
  --anonymous_;
}

void ConnectionLimiter::endAnswer(Peer& peer) {
  if (peer.state != State::kAnswered) return;
  --answers_;
  --sources_.at(peer.source).answers;
  peer.writing.reset();
}

void ConnectionLimiter::wait(Id id, Time now) {
  const auto at = peers_.find(id);
  if (at == peers_.end()) return;
  endAnswer(at->second);
  if (at->second.state == State::kQueued) std::erase(queue_, id);
  at->second.state = State::kWaits;
  at->second.since = now;
}

void ConnectionLimiter::request(Id id) {
  const auto at = peers_.find(id);
  if (at == peers_.end() || at->second.state != State::kWaits) return;
  at->second.state = State::kQueued;
  queue_.push_back(id);
}

std::optional<ConnectionLimiter::Id> ConnectionLimiter::next() {
  if (answers_ >= limits_.answers) return std::nullopt;
  for (auto at = queue_.begin(); at != queue_.end(); ++at) {
    Peer& peer = peers_.at(*at);
    Source& source = sources_.at(peer.source);
    if (source.answers >= limits_.answersPerAddress) continue;
    const Id id = *at;
    queue_.erase(at);
    peer.state = State::kAnswered;
    ++source.answers;
    ++answers_;
    return id;
  }
  return std::nullopt;
}

void ConnectionLimiter::write(Id id, Time now) {
  if (const auto at = peers_.find(id); at != peers_.end()) at->second.writing = now;
}

void ConnectionLimiter::written(Id id) {
  if (const auto at = peers_.find(id); at != peers_.end()) at->second.writing.reset();
}

std::vector<ConnectionLimiter::Id> ConnectionLimiter::stalled(Time now) {
  std::vector<Id> out;
  if (queue_.empty()) return out;
  for (const auto& [id, peer] : peers_)
    if (peer.writing && now - *peer.writing > limits_.stall) out.push_back(id);
  for (const Id id : out) leave(id);
  return out;
}

}  // namespace kiln::serving
