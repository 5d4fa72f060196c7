#include "storage/postgres/listener.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "storage/postgres/error.h"

namespace kiln::postgres {

Listener::Listener(Connection connection, std::vector<std::string> channels)
    : connection_(std::move(connection)), channels_(std::move(channels)) {}

Result<Listener> Listener::open(ConnectionOptions options, std::vector<std::string> channels) {
  auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  for (const std::string& channel : channels)
    if (channel.empty() || !std::all_of(channel.begin(), channel.end(), plain))
      return fail(Code::kInvalidArgument, "channel name '" + channel + "'");
  KILN_ASSIGN(Connection connection, Connection::open(std::move(options)));
  Listener listener(std::move(connection), std::move(channels));
  KILN_TRY(listener.subscribe());
  return listener;
}

Status Listener::subscribe() {
  for (const std::string& channel : channels_) KILN_TRY(connection_.executeScript("LISTEN " + channel));
  return {};
}

std::vector<Notification> Listener::take() {
  std::vector<Notification> out;
  while (PGnotify* notify = PQnotifies(connection_.session_)) {
    out.push_back({notify->relname, notify->extra});
    PQfreemem(notify);
  }
  return out;
}

Result<std::vector<Notification>> Listener::wait(std::chrono::milliseconds timeout) {
  if (lost_) {
    KILN_TRY(connection_.ensureOpen());
    KILN_TRY(subscribe());
    lost_ = false;
    return take();
  }
  auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    if (auto got = take(); !got.empty()) return got;
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd waiting{connection_.fd(), POLLIN, 0};
    int ready = ::poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (ready < 0 && errno != EINTR) return fail(errnoError(errno, "poll"));
    if (ready == 0) return std::vector<Notification>{};
    if (ready > 0 &&
        (PQconsumeInput(connection_.session_) != 1 || PQstatus(connection_.session_) != CONNECTION_OK)) {
      lost_ = true;
      connection_.disconnect();
      return fail(Code::kUnavailable,
                  "PostgreSQL at " + connection_.address() + " ended the session; is it running?");
    }
  }
}

}  // namespace kiln::postgres
