#include "compiler_core/memory/plan.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace kiln::memory {
namespace {

using Order = std::vector<std::size_t>;

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

bool together(const Buffer& a, const Buffer& b) {
  return a.first <= b.last && b.first <= a.last;
}

// The bytes alive just after each buffer has been born; the largest of these is what no plan can go below.
std::vector<std::uint64_t> aliveAtBirth(const std::vector<Buffer>& buffers) {
  Order births(buffers.size()), deaths(buffers.size());
  std::iota(births.begin(), births.end(), 0);
  deaths = births;
  std::ranges::sort(births, {}, [&](std::size_t i) { return buffers[i].first; });
  std::ranges::sort(deaths, {}, [&](std::size_t i) { return buffers[i].last; });
  std::vector<std::uint64_t> alive(buffers.size());
  std::uint64_t now = 0;
  std::size_t dead = 0;
  for (std::size_t i = 0; i < births.size();) {
    const std::uint32_t time = buffers[births[i]].first;
    for (; buffers[deaths[dead]].last < time; ++dead) now -= aligned(buffers[deaths[dead]].bytes);
    const std::size_t begin = i;
    for (; i < births.size() && buffers[births[i]].first == time; ++i)
      now += aligned(buffers[births[i]].bytes);
    for (std::size_t j = begin; j < i; ++j) alive[births[j]] = now;
  }
  return alive;
}

// Orders in which buffers are placed. Each is total (equals in program order), so any sort gives the same.
template <class Key>
Order descending(std::size_t count, Key key) {
  Order order(count);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const auto left = key(a), right = key(b);
    return left != right ? left > right : a < b;
  });
  return order;
}

void place(const std::vector<Buffer>& buffers, const Order& order, Plan& result) {
  result.offsets.assign(buffers.size(), 0);
  result.peak = 0;
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t index : order) {
    const std::uint64_t size = aligned(buffers[index].bytes);
    std::uint64_t offset = 0;
    for (const std::size_t other : placed) {
      if (!together(buffers[index], buffers[other])) continue;
      if (offset + size <= result.offsets[other]) break;
      offset = std::max(offset, result.offsets[other] + aligned(buffers[other].bytes));
    }
    result.offsets[index] = offset;
    result.peak = std::max(result.peak, offset + size);
    const auto at =
        std::ranges::upper_bound(placed, offset, {}, [&](std::size_t i) { return result.offsets[i]; });
    placed.insert(at, index);
  }
}

// How often an order is changed, and the pairs of buffers that this may look at.
constexpr int kMaxPromotions = 32;
constexpr std::uint64_t kMaxPairs = std::uint64_t{1} << 27;

// Where the arena is larger than it must be, the buffer at its end came too late: it moves up to half its
// place in the order, which is then placed again.
void improve(const std::vector<Buffer>& buffers, Order order, Plan& best) {
  Plan now = best;
  std::uint64_t pairs = 0;
  for (int i = 0; i < kMaxPromotions && best.peak > best.lowerBound && pairs < kMaxPairs; ++i) {
    const auto last = std::ranges::find_if(
        order, [&](std::size_t b) { return now.offsets[b] + aligned(buffers[b].bytes) == now.peak; });
    const auto at = std::distance(order.begin(), last);
    if (at == 0) return;
    std::rotate(order.begin() + at / 2, last, last + 1);
    place(buffers, order, now);
    if (now.peak < best.peak) best = now;
    pairs += buffers.size() * buffers.size();
  }
}

}  // namespace

Plan plan(const std::vector<Buffer>& buffers) {
  Plan best;
  for (const Buffer& buffer : buffers) best.total += aligned(buffer.bytes);
  const std::vector<std::uint64_t> alive = aliveAtBirth(buffers);
  for (const std::uint64_t bytes : alive) best.lowerBound = std::max(best.lowerBound, bytes);

  const auto size = [&](std::size_t i) { return buffers[i].bytes; };
  const auto life = [&](std::size_t i) { return std::uint64_t{buffers[i].last} - buffers[i].first; };
  using Orders = std::function<Order()>;
  const std::size_t count = buffers.size();
  const Orders orders[] = {
      [&] { return descending(count, size); },
      [&] { return descending(count, [&](std::size_t i) { return std::pair(alive[i], size(i)); }); },
      [&] { return descending(count, [&](std::size_t i) { return std::pair(life(i), size(i)); }); },
      [&] { return descending(count, [&](std::size_t i) { return ~buffers[i].first; }); },
      [&] { return descending(count, [&](std::size_t i) { return buffers[i].last; }); },
  };
  bool first = true;
  for (const Orders& order : orders) {
    if (!first && best.peak == best.lowerBound) break;  // nothing can be better
    Plan next = best;
    const Order chosen = order();
    place(buffers, chosen, next);
    improve(buffers, chosen, next);
    if (first || next.peak < best.peak) best = std::move(next);
    first = false;
  }
  return best;
}

std::vector<std::uint64_t> aliveOverTime(const std::vector<Buffer>& buffers, std::size_t points) {
  if (buffers.empty() || points == 0) return {};
  const std::uint32_t begin = std::ranges::min(buffers, {}, &Buffer::first).first;
  const std::uint64_t steps = std::uint64_t{std::ranges::max(buffers, {}, &Buffer::last).last} - begin + 1;
  std::vector<std::uint64_t> most(std::min<std::uint64_t>(points, steps));
  const auto pointOf = [&](std::uint32_t step) { return std::uint64_t{step - begin} * most.size() / steps; };
  // Memory only grows at a birth. What is alive just after one stays so until the next, or less of it does.
  const std::vector<std::uint64_t> births = aliveAtBirth(buffers);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    std::uint64_t& point = most[pointOf(buffers[i].first)];
    point = std::max(point, births[i]);
  }
  // A part of the time may also begin with what the one before left alive.
  for (std::size_t p = 1; p < most.size(); ++p) {
    const std::uint64_t start = begin + (steps * p + most.size() - 1) / most.size();
    std::uint64_t left = 0;
    for (const Buffer& buffer : buffers)
      if (buffer.first <= start && start <= buffer.last) left += aligned(buffer.bytes);
    most[p] = std::max(most[p], left);
  }
  return most;
}

}  // namespace kiln::memory
