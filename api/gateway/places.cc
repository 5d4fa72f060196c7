#include "api/gateway/places.h"

#include <arpa/inet.h>

#include <algorithm>
#include <tuple>

namespace kiln::gateway {

std::string sourceOf(const std::string& address) {
  in6_addr six{};
  if (::inet_pton(AF_INET6, address.substr(0, address.find('%')).c_str(), &six) != 1) return address;
  char text[INET6_ADDRSTRLEN] = "";
  if (IN6_IS_ADDR_V4MAPPED(&six)) return ::inet_ntop(AF_INET, &six.s6_addr[12], text, sizeof text);
  std::fill(six.s6_addr + 8, six.s6_addr + 16, std::uint8_t{0});
  return std::string(::inet_ntop(AF_INET6, &six, text, sizeof text)) + "/64";
}

std::optional<Places::Entry> Places::enter(const std::string& source, Time now) {
  const auto known = sources_.find(source);
  const std::size_t own = known == sources_.end() ? 0 : known->second.connections;
  std::optional<Id> evicted;
  const bool tooManyOwn = own >= limits_.perAddress, tooManyAnonymous = anonymous_ >= limits_.anonymous;
  if (tooManyOwn || tooManyAnonymous || guests_.size() >= limits_.connections) {
    evicted = evictable(tooManyOwn ? &source : nullptr, tooManyAnonymous);
    if (!evicted) return std::nullopt;
    leave(*evicted);
  }
  const Id id = ++last_;
  guests_[id] = {.source = source, .since = now, .writing = {}};
  ++sources_[source].connections;
  ++anonymous_;
  return Entry{id, evicted};
}

// Of those who wait: first who showed no certificate, then whose address has most, then who waits longest.
std::optional<Places::Id> Places::evictable(const std::string* source, bool anonymousOnly) const {
  const auto rank = [&](Id id, const Guest& guest) {
    return std::tuple(guest.certified, -static_cast<std::ptrdiff_t>(sources_.at(guest.source).connections),
                      guest.since, id);
  };
  std::optional<decltype(rank(0, Guest()))> best;
  for (const auto& [id, guest] : guests_) {
    if (guest.state != State::kWaits || (source && guest.source != *source) ||
        (anonymousOnly && guest.certified))
      continue;
    if (const auto its = rank(id, guest); !best || its < *best) best = its;
  }
  if (!best) return std::nullopt;
  return std::get<Id>(*best);
}

void Places::leave(Id id) {
  const auto at = guests_.find(id);
  if (at == guests_.end()) return;
  endAnswer(at->second);
  if (!at->second.certified) --anonymous_;
  const auto source = sources_.find(at->second.source);
  if (--source->second.connections == 0) sources_.erase(source);
  guests_.erase(at);
  std::erase(queue_, id);
}

void Places::certify(Id id) {
  const auto at = guests_.find(id);
  if (at == guests_.end() || at->second.certified) return;
  at->second.certified = true;
  --anonymous_;
}

void Places::endAnswer(Guest& guest) {
  if (guest.state != State::kAnswered) return;
  --answers_;
  --sources_.at(guest.source).answers;
  guest.writing.reset();
}

void Places::wait(Id id, Time now) {
  const auto at = guests_.find(id);
  if (at == guests_.end()) return;
  endAnswer(at->second);
  if (at->second.state == State::kQueued) std::erase(queue_, id);
  at->second.state = State::kWaits;
  at->second.since = now;
}

void Places::request(Id id) {
  const auto at = guests_.find(id);
  if (at == guests_.end() || at->second.state != State::kWaits) return;
  at->second.state = State::kQueued;
  queue_.push_back(id);
}

std::optional<Places::Id> Places::next() {
  if (answers_ >= limits_.answers) return std::nullopt;
  for (auto at = queue_.begin(); at != queue_.end(); ++at) {
    Guest& guest = guests_.at(*at);
    Source& source = sources_.at(guest.source);
    if (source.answers >= limits_.answersPerAddress) continue;
    const Id id = *at;
    queue_.erase(at);
    guest.state = State::kAnswered;
    ++source.answers;
    ++answers_;
    return id;
  }
  return std::nullopt;
}

void Places::write(Id id, Time now) {
  if (const auto at = guests_.find(id); at != guests_.end()) at->second.writing = now;
}

void Places::written(Id id) {
  if (const auto at = guests_.find(id); at != guests_.end()) at->second.writing.reset();
}

std::vector<Places::Id> Places::stalled(Time now) {
  std::vector<Id> out;
  if (queue_.empty()) return out;
  for (const auto& [id, guest] : guests_)
    if (guest.writing && now - *guest.writing > limits_.stall) out.push_back(id);
  for (const Id id : out) leave(id);
  return out;
}

}  // namespace kiln::gateway
