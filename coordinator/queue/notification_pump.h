// Carries PostgreSQL's notifications (channels kiln_job and kiln_queue) into a ChangeFeed, on a thread of its
// own.
#pragma once

#include <thread>

#include "coordinator/queue/change_feed.h"
#include "storage/postgres/connection.h"

namespace kiln::queue {

class NotificationPump {
 public:
  NotificationPump(postgres::ConnectionOptions options, ChangeFeed& feed);
  // Returns soon after the feed was closed, which must have happened.
  ~NotificationPump();

 private:
  void run();

  const postgres::ConnectionOptions options_;
  ChangeFeed& feed_;
  std::thread thread_;
};

// "instance id" as the schema's triggers write it; the id holds no space.
index::JobKey parseJobPayload(const std::string& payload);

}  // namespace kiln::queue
