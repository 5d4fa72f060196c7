#include "storage/tracing/trace_context.h"

#include <algorithm>
#include <random>

#include "manifest/base/digest.h"

namespace kiln::tracing {
namespace {

constexpr std::size_t kLength = 2 + 1 + 32 + 1 + 16 + 1 + 2;
constexpr std::uint8_t kSampledFlag = 1;

// Small letters alone, as the specification wants them; -1 for what is no digit.
int digitOf(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  return -1;
}

template <std::size_t N>
bool readHex(std::string_view text, std::array<std::uint8_t, N>& out) {
  for (std::size_t i = 0; i < N; ++i) {
    const int high = digitOf(text[2 * i]), low = digitOf(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return true;
}

template <std::size_t N>
std::string writeHex(const std::array<std::uint8_t, N>& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

template <class Id>
bool isZero(const Id& id) {
  return std::ranges::all_of(id, [](std::uint8_t byte) { return byte == 0; });
}

template <class Id>
Id randomId() {
  std::random_device random;
  Id id{};
  while (isZero(id))
    for (std::uint8_t& byte : id) byte = static_cast<std::uint8_t>(random());
  return id;
}

}  // namespace

std::optional<SpanContext> parseTraceparent(std::string_view text) {
  if (text.size() < kLength || text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  std::array<std::uint8_t, 1> version{}, flags{};
  SpanContext context;
  if (!readHex(text.substr(0, 2), version) || !readHex(text.substr(3, 32), context.trace) ||
      !readHex(text.substr(36, 16), context.span) || !readHex(text.substr(53, 2), flags))
    return std::nullopt;
  if (version[0] == 0xff || isZero(context.trace) || isZero(context.span)) return std::nullopt;
  // A later version may add fields behind a dash.
  if (text.size() > kLength && (version[0] == 0 || text[kLength] != '-')) return std::nullopt;
  context.sampled = (flags[0] & kSampledFlag) != 0;
  return context;
}

std::string traceparent(const SpanContext& context) {
  return "00-" + hexOf(context.trace) + "-" + hexOf(context.span) + (context.sampled ? "-01" : "-00");
}

std::string hexOf(const TraceId& id) {
  return writeHex(id);
}
std::string hexOf(const SpanId& id) {
  return writeHex(id);
}

std::string traceOf(std::string_view traceparent) {
  const auto context = parseTraceparent(traceparent);
  return context && context->sampled ? hexOf(context->trace) : "";
}

TraceId newTraceId() {
  return randomId<TraceId>();
}
SpanId newSpanId() {
  return randomId<SpanId>();
}

SpanId spanIdOf(std::string_view name) {
  const Digest digest = digestOf(name);
  SpanId id{};
  std::copy_n(digest.hash.begin(), id.size(), id.begin());
  return id;
}

bool isSampled(std::string_view name, double share) {
  if (share <= 0) return false;
  const Digest digest = digestOf(name);
  double place = 0;  // in [0, 1)
  for (std::size_t i = 6; i-- > 0;) place = (place + digest.hash[i]) / 256;
  return place < share;
}

}  // namespace kiln::tracing
