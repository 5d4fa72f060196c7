#include "storage/tracing/otlp_http.h"

#include <curl/curl.h>

namespace kiln::tracing {
namespace {

std::size_t dropBody(char*, std::size_t size, std::size_t count, void*) {
  return size * count;
}

// One connection, kept between batches.
class Connection {
 public:
  Connection(const std::string& url, std::chrono::milliseconds timeout)
      : curl_(curl_easy_init()), headers_(curl_slist_append(nullptr, "Content-Type: application/json")) {
    if (!curl_ || !headers_) return;
    const std::string base = url.substr(0, url.find_last_not_of('/') + 1);
    curl_easy_setopt(curl_.get(), CURLOPT_URL, (base + "/v1/traces").c_str());
    curl_easy_setopt(curl_.get(), CURLOPT_HTTPHEADER, headers_.get());
    curl_easy_setopt(curl_.get(), CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl_.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count()));
    curl_easy_setopt(curl_.get(), CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl_.get(), CURLOPT_WRITEFUNCTION, dropBody);
  }

  Status post(const std::string& request) {
    if (!curl_ || !headers_) return fail(Code::kUnavailable, "there is no memory for a connection");
    curl_easy_setopt(curl_.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.size()));
    curl_easy_setopt(curl_.get(), CURLOPT_POSTFIELDS, request.data());
    if (const CURLcode code = curl_easy_perform(curl_.get()); code != CURLE_OK)
      return fail(Code::kUnavailable, curl_easy_strerror(code));
    long status = 0;
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status >= 200 && status < 300) return {};
    const bool again = status == 429 || status >= 500;
    return fail(again ? Code::kUnavailable : Code::kFailedPrecondition,
                "the receiver answers " + std::to_string(status));
  }

 private:
  struct Free {
    void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };
  std::unique_ptr<CURL, Free> curl_;
  std::unique_ptr<curl_slist, Free> headers_;
};

}  // namespace

Status checkReceiver(const std::string& url) {
  const auto wrong = [](const char* what) {
    return fail(Code::kInvalidArgument,
                std::string("--traces: ") + what +
                    "; it must be like http://127.0.0.1:4318, where an OTLP receiver is");
  };
  const auto scheme = url.find("://");
  if (scheme == std::string::npos || (url.substr(0, scheme) != "http" && url.substr(0, scheme) != "https"))
    return wrong("is no http:// or https:// URL");
  const std::string rest = url.substr(scheme + 3);
  if (rest.empty() || rest.front() == '/') return wrong("names no host");
  if (rest.find_first_of("@?#") != std::string::npos)
    return wrong("must hold no password, query or fragment");
  for (const char letter : url)
    if (letter <= 0x20 || letter >= 0x7f) return wrong("holds what is no URL");
  return {};
}

Post postTo(const std::string& url, std::chrono::milliseconds timeout) {
  const auto connection = std::make_shared<Connection>(url, timeout);
  return [connection](const std::string& request) { return connection->post(request); };
}

}  // namespace kiln::tracing
