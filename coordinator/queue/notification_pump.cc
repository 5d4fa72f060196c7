#include "coordinator/queue/notification_pump.h"

#include "storage/postgres/listener.h"

namespace kiln::queue {
namespace {

constexpr std::chrono::milliseconds kTimeout{250};  // also how soon it sees that the feed was closed
constexpr std::chrono::milliseconds kRetry{250};

void publish(ChangeFeed& feed, const std::vector<postgres::Notification>& notifications) {
  for (const postgres::Notification& one : notifications) {
    if (one.channel == "kiln_job") feed.publishJob(parseJobPayload(one.payload));
    if (one.channel != "kiln_queue") continue;
    if (const auto work = parseWork(one.payload))
      feed.publishWork(*work);
    else
      feed.publishAll();
  }
}

}  // namespace

index::JobKey parseJobPayload(const std::string& payload) {
  std::size_t space = payload.rfind(' ');
  if (space == std::string::npos) return {};
  return {payload.substr(0, space), payload.substr(space + 1)};
}

NotificationPump::NotificationPump(postgres::ConnectionOptions options, ChangeFeed& feed)
    : options_(std::move(options)), feed_(feed), thread_([this] { run(); }) {}

NotificationPump::~NotificationPump() {
  thread_.join();
}

void NotificationPump::run() {
  std::optional<postgres::Listener> listener;
  while (!feed_.closed()) {
    if (!listener) {
      auto opened = postgres::Listener::open(options_, {"kiln_job", "kiln_queue"});
      if (!opened) {
        feed_.waitUntilClosed(kRetry);
        continue;
      }
      listener.emplace(std::move(*opened));
      feed_.publishAll();
    }
    auto got = listener->wait(kTimeout);
    if (got) {
      publish(feed_, *got);
    } else {
      listener.reset();
      feed_.waitUntilClosed(kRetry);
    }
  }
}

}  // namespace kiln::queue
