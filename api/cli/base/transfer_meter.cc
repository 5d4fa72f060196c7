#include "api/cli/base/transfer_meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/cli/base/print.h"

namespace kiln::cli {
namespace {

constexpr std::chrono::seconds kQuiet{2};
constexpr std::chrono::milliseconds kEvery{200};
constexpr double kLongest = 100 * 3600;  // beyond it nobody believes a number

std::string leftText(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s left", whole);
  if (whole < 3600) return fmt::format("{} min {} s left", whole / 60, whole % 60);
  return fmt::format("{} h {} min left", whole / 3600, whole % 3600 / 60);
}

}  // namespace

std::string transferText(std::uint64_t done, std::uint64_t total, std::uint64_t moved, double seconds) {
  std::string text = fmt::format("{} of {}", humanBytes(done), humanBytes(total));
  if (moved == 0 || seconds <= 0) return text;
  const double rate = static_cast<double>(moved) / seconds;
  text += fmt::format(", {}/s", humanBytes(static_cast<std::uint64_t>(rate)));
  if (done >= total) return text;
  const double left = static_cast<double>(total - done) / rate;
  return left < kLongest ? text + ", " + leftText(left) : text;
}

TransferMeter::TransferMeter(bool shown, std::string what, std::function<Time()> now)
    : shown_(shown), what_(std::move(what)), now_(std::move(now)), began_(now_()), drawn_(began_) {}

TransferMeter::~TransferMeter() {
  if (isDrawn_) noteText("\x1b[2K");
}

void TransferMeter::at(std::uint64_t done, std::uint64_t total) {
  if (!shown_) return;
  const Time now = now_();
  if (total != total_) {
    total_ = total;
    began_ = now;
    doneBefore_ = done;
  }
  if (now - began_ < kQuiet || (isDrawn_ && now - drawn_ < kEvery)) return;
  const std::chrono::duration<double> taken = now - began_;
  // The cursor goes back, so that whatever else is told is told over it.
  noteText("\x1b[2K" + what_ + " " +
           transferText(done, total, done - std::min(done, doneBefore_), taken.count()) + "\r");
  drawn_ = now;
  isDrawn_ = true;
}

}  // namespace kiln::cli
