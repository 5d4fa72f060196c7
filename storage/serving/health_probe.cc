#include "storage/serving/health_probe.h"

#include <boost/asio/post.hpp>

namespace kiln::serving {
namespace asio = boost::asio;

HealthProbe::HealthProbe(asio::io_context& io, std::function<Status()> health,
                         std::chrono::milliseconds limit)
    : io_(io), health_(std::move(health)), limit_(limit), timer_(io) {}

void HealthProbe::ask(Callback callback) {
  waiting_.push_back(std::move(callback));
  if (waiting_.size() == 1) {
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

void HealthProbe::tell(const Status& status) {
  timer_.cancel();
  const auto waiting = std::exchange(waiting_, {});
  for (const Callback& callback : waiting) callback(status);
}

}  // namespace kiln::serving
