#include "storage/direct/http_mover.h"

#include <fmt/core.h>

#include <algorithm>

#include "manifest/base/printable.h"
#include "storage/s3/answer_body.h"

namespace kiln::storage {
namespace {

constexpr std::uint64_t kProgressBytes = 1 << 20;  // as much is worth new attempts
constexpr std::size_t kMaxUrl = 16 << 10, kMaxHeaders = 16, kMaxHeader = 1024;

bool isVisible(std::string_view text, bool withSpaces) {
  return std::ranges::all_of(text, [&](char c) { return (c > ' ' && c < 0x7f) || (withSpaces && c == ' '); });
}

// Of a header only what belongs to the store: no cookies, no credentials.
Status check(const BlobRoute& route) {
  const bool http = route.url.starts_with("http://") || route.url.starts_with("https://");
  if (!http || route.url.size() > kMaxUrl || !isVisible(route.url, false) ||
      route.headers.size() > kMaxHeaders)
    return fail(Code::kInvalidArgument, "the farm named a way to its store that is no URL of one");
  for (const std::string& header : route.headers)
    if (!header.starts_with("x-amz-") || header.size() > kMaxHeader || !isVisible(header, true))
      return fail(Code::kInvalidArgument, "the farm wants a header sent that is none of a store");
  return {};
}

std::string hostOf(const std::string& url) {
  const auto begin = url.find("://") + 3;
  return url.substr(begin, url.find_first_of("/?", begin) - begin);
}

// Nothing of the URL but the host: it is a secret.
struct Verdict {
  Error error;
  bool again = false;
};
Verdict verdictOf(const std::string& what, const tl::expected<s3::Answer, s3::Failure>& answer) {
  if (!answer) return {answer.error().error.in(what), answer.error().kind == s3::Failure::Kind::kConnection};
  const long status = answer->status;
  const std::string code = s3::elementText(answer->body, "Code").value_or("");
  return {{Code::kUnavailable, fmt::format("{}: it answered {} {}", what, status, printable(code, 64)), {}},
          status >= 500 || status == 429 || status == 408};
}

Status checkRest(const s3::Answer& answer, std::uint64_t size, std::uint64_t first, const std::string& what) {
  const std::string range = fmt::format("bytes {}-{}/{}", first, size - 1, size);
  if (answer.status == 206 ? answer.contentRange != range : first != 0)
    return fail(Code::kUnavailable, what + ": it serves another stretch than was asked for");
  if (answer.contentLength.value_or(size - first) != size - first)
    return fail(Code::kUnavailable, what + ": it has another number of bytes");
  return {};
}

}  // namespace

HttpMover::HttpMover(const s3::Timeouts& timeouts, s3::RetryPolicy retry)
    : transport_({}, nullptr, timeouts), retry_(std::move(retry)) {}

Status HttpMover::get(const BlobRoute& route, std::uint64_t size, std::uint64_t& done, const ByteSink& sink) {
  KILN_TRY(check(route));
  const std::string what = "the farm's store at " + printable(hostOf(route.url));
  s3::Attempts attempts(retry_);
  while (true) {
    const std::uint64_t first = done;
    s3::Request get;
    get.method = "GET";
    get.url = route.url;
    get.headers = route.headers;
    if (first != 0) get.headers.push_back(fmt::format("Range: bytes={}-{}", first, size - 1));
    get.accept = [&](const s3::Answer& answer) { return checkRest(answer, size, first, what); };
    get.sink = [&](Bytes bytes) -> Status {
      if (bytes.size() > size - done)
        return fail(Code::kUnavailable, what + ": more bytes than the blob has");
      KILN_TRY(sink(bytes));
      done += bytes.size();
      return {};
    };
    const auto answer = transport_.exchange(get);
    if (done == size) return {};
    if (!answer && answer.error().kind == s3::Failure::Kind::kRefused) return fail(answer.error().error);
    const bool short_ = answer && (answer->status == 200 || answer->status == 206);
    Verdict verdict = short_
                          ? Verdict{{Code::kUnavailable, what + ": fewer bytes than the blob has", {}}, true}
                          : verdictOf(what, answer);
    if (done - first >= kProgressBytes) attempts.progressed();
    if (!verdict.again || !attempts.again()) return fail(std::move(verdict.error));
  }
}

Status HttpMover::put(const BlobRoute& route, const s3::Body& body) {
  KILN_TRY(check(route));
  const std::string what = "the farm's store at " + printable(hostOf(route.url));
  s3::Request put;
  put.method = "PUT";
  put.url = route.url;
  put.headers = route.headers;
  put.body = body;
  s3::Attempts attempts(retry_);
  while (true) {
    const auto answer = transport_.exchange(put);
    if (answer && answer->status >= 200 && answer->status < 300 && !s3::isErrorBody(answer->body)) return {};
    Verdict verdict = verdictOf(what, answer);
    if (!verdict.again || !attempts.again()) return fail(std::move(verdict.error));
  }
}

}  // namespace kiln::storage
