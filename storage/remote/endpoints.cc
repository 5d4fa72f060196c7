#include "storage/remote/endpoints.h"

#include <grpcpp/create_channel.h>

#include <algorithm>
#include <random>
#include <thread>

#include "manifest/base/printable.h"

namespace kiln::storage {
namespace {

constexpr std::size_t kMost = 16;

}  // namespace

Result<std::vector<std::string>> splitEndpoints(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t from = 0; from <= list.size();) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    std::string name = list.substr(from, comma - from);
    from = comma + 1;
    if (name.empty())
      return fail(Code::kInvalidArgument,
                  inQuotes(list) +
                      " is no list of endpoints: one of them is empty; give "
                      "unix:/path/to/socket or host:port, several with commas between");
    if (std::ranges::find(names, name) != names.end())
      return fail(Code::kInvalidArgument, printable(name) + " stands twice in the list of endpoints");
    names.push_back(std::move(name));
  }
  if (names.size() > kMost)
    return fail(Code::kInvalidArgument, "a list has at most " + std::to_string(kMost) +
                                            " endpoints, this one " + std::to_string(names.size()) +
                                            "; a DNS name may stand for any number of addresses");
  return names;
}

bool isAway(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kDeadlineExceeded;
}

Result<std::shared_ptr<Endpoints>> Endpoints::open(const std::string& list, const ClientCredentials& files,
                                                   std::size_t first) {
  KILN_ASSIGN(const auto names, splitEndpoints(list));
  std::vector<Endpoint> all;
  for (const std::string& name : names) {
    KILN_ASSIGN(const auto credentials, channelCredentials(name, files));
    all.push_back({all.size(), name, grpc::CreateCustomChannel(name, credentials, channelArguments(name))});
  }
  return std::shared_ptr<Endpoints>(new Endpoints(std::move(all), first));
}

Endpoints::Endpoints(std::shared_ptr<grpc::Channel> channel)
    : Endpoints(std::vector<Endpoint>{{0, "", std::move(channel)}}, 0) {}

Endpoints::Endpoints(std::vector<Endpoint> all, std::size_t first)
    : all_(std::move(all)), choice_(all_.size(), first, std::random_device()()) {}

std::string Endpoints::names() const {
  std::string out;
  for (const Endpoint& one : all_)
    out += (one.place == 0 ? "" : one.place + 1 == all_.size() ? " and " : ", ") + one.name;
  return out;
}

const Endpoint* Endpoints::next(const std::vector<bool>& tried) {
  // One alone connects with its next call, and does not back off before.
  if (all_.size() == 1) return tried[0] ? nullptr : &all_[0];
  const MutexLock lock(mutex_);
  // Asking has gRPC connect, so that one that is back is found without a call that waits for it.
  const auto one = choice_.next(clock_.now(), tried, [&](std::size_t which) {
    return all_[which].channel->GetState(true) == GRPC_CHANNEL_READY;
  });
  return one ? &all_[*one] : nullptr;
}

const Endpoint& Endpoints::current() {
  return *next(std::vector<bool>(all_.size()));
}

void Endpoints::pause(std::chrono::nanoseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  const auto limit = std::chrono::duration_cast<std::chrono::system_clock::duration>(time);
  current().channel->WaitForConnected(std::chrono::system_clock::now() + limit);
  std::this_thread::sleep_until(until);
}

void Endpoints::answered(const Endpoint& one) {
  const MutexLock lock(mutex_);
  choice_.answered(one.place);
}

void Endpoints::failed(const Endpoint& one) {
  const MutexLock lock(mutex_);
  choice_.failed(one.place, clock_.now());
}

}  // namespace kiln::storage
