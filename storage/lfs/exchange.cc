#include "storage/lfs/exchange.h"

#include <curl/curl.h>
#include <fmt/core.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "manifest/base/printable.h"
#include "storage/lfs/server_url.h"
#include "storage/source/host_policy.h"

namespace kiln::lfs {
namespace {

constexpr long kConnectSeconds = 15;
constexpr long kSlowBytesPerSecond = 1 << 10, kSlowSeconds = 30;

using Lines = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

// What libcurl's callbacks share.
struct Flow {
  CURL* curl;
  const Sink& sink;
  Status taken = {};
  bool internal = false;  // a connection to an address that only a host by name may have
};

std::size_t take(char* data, std::size_t size, std::size_t count, void* context) {
  Flow& flow = *static_cast<Flow*>(context);
  long status = 0;
  curl_easy_getinfo(flow.curl, CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) return 0;  // nothing of it is read
  flow.taken = flow.sink({reinterpret_cast<const std::uint8_t*>(data), size * count});
  return flow.taken ? size * count : 0;
}

// The name was looked up before, and may have got another address since.
curl_socket_t openPublic(void* context, curlsocktype, curl_sockaddr* address) {
  char text[NI_MAXHOST];
  const int named =
      ::getnameinfo(&address->addr, address->addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  if (named != 0 || !source::isPublicAddress(text)) {
    static_cast<Flow*>(context)->internal = true;
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

Error byStatus(long status, const std::string& host) {
  const auto error = [&](Code code, std::string_view what) {
    return Error{code, fmt::format("{} {} (HTTP {})", host, what, status), {}};
  };
  if (status >= 300 && status < 400)
    return error(Code::kUnimplemented, "redirects in a way that is not followed");
  switch (status) {
    case 401:
      return error(Code::kUnauthenticated,
                   "asks for credentials; the fetcher has none for it, or other ones");
    case 403:
      return error(Code::kPermissionDenied, "refuses");
    case 404:
    case 410:
      return error(Code::kNotFound, "has nothing there: no Git LFS, no such repository or object");
    case 408:
    case 425:
    case 429:
      return error(Code::kUnavailable, "wants to be asked later");
    default:
      return status >= 500 ? error(Code::kUnavailable, "is in trouble")
                           : error(Code::kDataLoss, "gives no answer of Git LFS");
  }
}

Error byCurl(CURLcode code, const Flow& flow, const std::string& host,
             std::chrono::steady_clock::time_point deadline) {
  if (flow.internal)
    return {
        Code::kPermissionDenied,
        fmt::format("host '{}' has an internal address; it can be fetched from only if it is named on the "
                    "farm's allow-list",
                    host),
        {}};
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return {Code::kPermissionDenied, host + " has a TLS certificate that is not trusted here", {}};
    case CURLE_OPERATION_TIMEDOUT:
      if (std::chrono::steady_clock::now() >= deadline)
        return {Code::kDeadlineExceeded, host + ": not fetched within the time that a source has", {}};
      break;
    case CURLE_OUT_OF_MEMORY:
      return {Code::kResourceExhausted, "fetching needs more memory than it may take", {}};
    default:
      break;
  }
  return {Code::kUnavailable, fmt::format("{}: {}", host, curl_easy_strerror(code)), {}};
}

// Where the answer leads; "" for one that leads nowhere. Only 307 and 308 have a POST repeated.
std::string redirectOf(CURL* curl, long status, const Request& request) {
  const bool repeats = status == 307 || status == 308;
  if (!repeats && (request.post || (status != 301 && status != 302 && status != 303))) return "";
  // CURLINFO_REDIRECT_URL would hold the token that was sent along.
  curl_header* location = nullptr;
  const bool leads = curl_easy_header(curl, "Location", 0, CURLH_HEADER, -1, &location) == CURLHE_OK;
  return leads ? resolved(request.url, location->value) : "";
}

Status check(const Request& request, const source::GitFetchOptions& options) {
  if (request.place.scheme != "https" && !options.allowHttp)
    return fail(Code::kPermissionDenied, fmt::format("{} is to be fetched from over plain http, and git "
                                                     "sources are over https or ssh",
                                                     request.place.host));
  return checkHost(request.place, options.allowedHosts);
}

void setRequest(CURL* curl, const Request& request, const source::GitFetchOptions& options) {
  const auto set = [&](auto option, auto value) { curl_easy_setopt(curl, option, value); };
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, options.allowHttp ? "http,https" : "https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PROXY, options.proxy.c_str());
  set(CURLOPT_NOSIGNAL, 1L);
  if (::access(options.caFile.c_str(), R_OK) == 0) {
    set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // not other authorities, too
    set(CURLOPT_CAINFO, options.caFile.c_str());
  }
  if (request.post) {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.post->size()));
    set(CURLOPT_POSTFIELDS, request.post->c_str());
  }
  if (request.withCredentials && !options.credentials.token.empty()) {
    set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
    set(CURLOPT_USERNAME, options.credentials.user.c_str());
    set(CURLOPT_PASSWORD, options.credentials.token.c_str());
  }
}

void setLimits(CURL* curl, std::chrono::milliseconds left) {
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(left.count()));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, kSlowBytesPerSecond);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, kSlowSeconds);
}

}  // namespace

Result<std::string> exchange(const Request& request, const source::GitFetchOptions& options,
                             std::chrono::steady_clock::time_point deadline, const Sink& sink) {
  KILN_TRY(check(request, options));
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  if (left.count() <= 0)
    return fail(Code::kDeadlineExceeded, "not fetched within the time that a source has");
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), curl_easy_cleanup);
  if (ready != CURLE_OK || !curl) return fail(Code::kInternal, "libcurl does not start");
  Flow flow{curl.get(), sink};
  setRequest(curl.get(), request, options);
  setLimits(curl.get(), left);
  Lines lines(nullptr, curl_slist_free_all);
  for (const std::string& header : request.headers)
    lines.reset(curl_slist_append(lines.release(), header.c_str()));
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, lines.get());
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &flow);
  if (options.proxy.empty() && !isNamed(request.place, options.allowedHosts)) {
    curl_easy_setopt(curl.get(), CURLOPT_OPENSOCKETFUNCTION, openPublic);
    curl_easy_setopt(curl.get(), CURLOPT_OPENSOCKETDATA, &flow);
  }
  const CURLcode done = curl_easy_perform(curl.get());
  if (!flow.taken) return fail(flow.taken.error());
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  const std::string& host = request.place.host;
  if (done != CURLE_OK && (done != CURLE_WRITE_ERROR || status == 200))
    return fail(byCurl(done, flow, host, deadline));
  if (std::string next = redirectOf(curl.get(), status, request); !next.empty()) return next;
  if (status != 200) return fail(byStatus(status, host));
  return std::string();
}

}  // namespace kiln::lfs
