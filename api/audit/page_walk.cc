#include "api/audit/page_walk.h"

#include <bit>

#include "manifest/base/printable.h"

namespace kiln::audit {
namespace {

constexpr std::size_t kMaxPages = 1 << 20;

}  // namespace

tl::unexpected<Error> PageWalk::nowhere(const std::string& why) const {
  return fail(Code::kDataLoss, "the farm's list of " + what_ + " " + why +
                                   ": it is broken or lies, and its operator must look at it");
}

Status PageWalk::takeInOrder(const std::string& key) {
  if (key <= last_) return nowhere("is not in order at " + inQuotes(key));
  last_ = key;
  return {};
}

Status PageWalk::check(const std::string& next, int entries) {
  if (next.empty()) return {};
  ++pages_;
  empty_ = entries == 0 ? empty_ + 1 : 0;
  if (next == known_) return nowhere("leads in a circle");
  if (empty_ > emptyPages_)
    return nowhere("goes on after " + std::to_string(empty_) + " pages without an entry");
  if (pages_ > kMaxPages) return nowhere("goes on after " + std::to_string(kMaxPages) + " pages");
  if (std::has_single_bit(pages_)) known_ = next;
  return {};
}

}  // namespace kiln::audit
