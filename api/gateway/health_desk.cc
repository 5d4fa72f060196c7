#include "api/gateway/health_desk.h"

#include <boost/asio/post.hpp>

namespace kiln::gateway {
namespace asio = boost::asio;

HealthDesk::HealthDesk(asio::io_context& io, std::function<Status()> health, std::chrono::milliseconds limit)
    : io_(io), health_(std::move(health)), limit_(limit), timer_(io) {}

void HealthDesk::ask(Told told) {
  asking_.push_back(std::move(told));
  if (asking_.size() == 1) {
    timer_.expires_after(limit_);
    timer_.async_wait([this](boost::system::error_code error) {
      if (!error) tell(fail(Code::kDeadlineExceeded, "no answer in time"));
    });
  }
  if (looking_) return;
  looking_ = true;
  asio::post(thread_, [this] {
    asio::post(io_, [this, status = health_()] {
      looking_ = false;
      tell(status);
    });
  });
}

void HealthDesk::tell(const Status& status) {
  timer_.cancel();
  const auto asking = std::exchange(asking_, {});
  for (const Told& told : asking) told(status);
}

}  // namespace kiln::gateway
