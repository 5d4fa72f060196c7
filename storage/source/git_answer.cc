#include "storage/source/git_answer.h"

#include <charconv>

namespace kiln::source {
namespace {

// libgit2's words (transports/http.c, httpclient.c, smart_pkt.c, smart_protocol.c).
constexpr std::string_view kRefusals[] = {
    "remote error:", "redirect", "malformed URL"};  // where a redirect leads; our own are well-formed
constexpr std::string_view kNotGit[] = {
    "content-type",        "http parser",       "bad packet length", "error parsing",
    "header completion",   "header name",       "header value",      "incomplete pack data",
    "empty packet",        "invalid packet",    "negotiate failure", "overly large progress",
    "remote sent invalid", "unexpected data",   "unexpected header", "unexpected pack",
    "unexpected pkt",      "unexpectedly large"};
constexpr std::string_view kStatus = "unexpected http status code: ";

bool hasAny(std::string_view message, const auto& words) {
  for (const std::string_view word : words)
    if (message.find(word) != message.npos) return true;
  return false;
}

std::optional<Code> statusCode(std::string_view digits) {
  int status = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), status);
  switch (status) {
    case 401:
    case 403:
      return Code::kPermissionDenied;
    case 404:
    case 410:
      return Code::kNotFound;
    case 408:
    case 425:
    case 429:
      return {};
    default:
      if (status >= 500) return {};
      return Code::kDataLoss;
  }
}

}  // namespace

std::optional<Code> answerCode(std::string_view message) {
  if (const std::size_t at = message.find(kStatus); at != message.npos)
    return statusCode(message.substr(at + kStatus.size()));
  if (hasAny(message, kRefusals)) return Code::kUnimplemented;
  if (hasAny(message, kNotGit)) return Code::kDataLoss;
  return {};
}

}  // namespace kiln::source
