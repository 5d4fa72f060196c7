#include "signing/follow/http.h"

#include <curl/curl.h>

#include <memory>

namespace kiln::signing {
namespace {

struct Body {
  std::string text;
  std::size_t limit = 0;
  bool tooLong = false;
};

std::size_t take(char* data, std::size_t size, std::size_t count, void* to) {
  Body& body = *static_cast<Body*>(to);
  if (size * count > body.limit - body.text.size()) {
    body.tooLong = true;
    return 0;  // ends the transfer
  }
  body.text.append(data, size * count);
  return size * count;
}

Result<HttpAnswer> perform(const std::string& url, const std::string* post, std::size_t limit) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), curl_easy_cleanup);
  if (ready != CURLE_OK || !curl) return fail(Code::kInternal, "libcurl does not start");
  Body body{{}, limit};
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_PROXY, "");
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT, 10L);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &body);
  if (post) {
    curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(post->size()));
    curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, post->c_str());
  }
  const CURLcode done = curl_easy_perform(curl.get());
  if (body.tooLong) return fail(Code::kResourceExhausted, url + ": the answer is too long");
  if (done != CURLE_OK) return fail(Code::kUnavailable, url + ": " + curl_easy_strerror(done));
  HttpAnswer answer;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &answer.status);
  answer.body = std::move(body.text);
  return answer;
}

}  // namespace

Result<HttpAnswer> httpGet(const std::string& url, std::size_t limit) {
  return perform(url, nullptr, limit);
}

Result<HttpAnswer> httpPost(const std::string& url, const std::string& body, std::size_t limit) {
  return perform(url, &body, limit);
}

}  // namespace kiln::signing
