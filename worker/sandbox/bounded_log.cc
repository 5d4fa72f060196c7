#include "worker/sandbox/bounded_log.h"

#include <algorithm>
#include <utility>

namespace kiln::sandbox {

constexpr std::size_t kMaxLine = 4096;

BoundedLog::BoundedLog(std::uint64_t limit, std::function<void(std::string_view)> onLine)
    : half_(static_cast<std::size_t>(limit / 2)), onLine_(std::move(onLine)) {}

void BoundedLog::append(std::string_view bytes) {
  total_ += bytes.size();
  if (onLine_) split(bytes);
  const std::size_t first = std::min(bytes.size(), half_ - head_.size());
  head_.append(bytes.substr(0, first));
  tail_.append(bytes.substr(first));
  // Trimmed only when twice too long, so that each byte is moved at most once or twice.
  if (tail_.size() > 2 * half_) tail_.erase(0, tail_.size() - half_);
}

std::string BoundedLog::text() const {
  const std::string_view tail =
      std::string_view(tail_).substr(tail_.size() > half_ ? tail_.size() - half_ : 0);
  const std::uint64_t missing = total_ - head_.size() - tail.size();
  if (missing == 0) return head_ + std::string(tail);
  return head_ + "\n[" + std::to_string(missing) + " bytes left out]\n" + std::string(tail);
}

void BoundedLog::split(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (line_.size() + piece.size() > kMaxLine) skipping_ = true;
    if (!skipping_) line_.append(piece);
    if (end == std::string_view::npos) return;
    if (!skipping_) onLine_(line_);
    line_.clear();
    skipping_ = false;
    bytes.remove_prefix(end + 1);
  }
}

}  // namespace kiln::sandbox
