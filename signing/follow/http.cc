#include "signing/follow/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "manifest/base/printable.h"
#include "signing/keys/files.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxCredential = 1 << 20;
constexpr std::size_t kMaxRefusal = 64 << 10;
constexpr long kSlowBytesPerSecond = 1 << 10, kSlowSeconds = 30;

using Sink = std::function<Status(Bytes)>;

struct Body {
  std::string text;
  std::size_t limit = 0;
  bool tooLong = false;
  const Sink* sink = nullptr;  // of an answer with 200
  CURL* curl = nullptr;
  Status taken = {};  // what the sink said
};

bool goesToSink(const Body& body) {
  long status = 0;
  if (body.sink) curl_easy_getinfo(body.curl, CURLINFO_RESPONSE_CODE, &status);
  return status == 200;
}

std::size_t take(char* data, std::size_t size, std::size_t count, void* to) {
  Body& body = *static_cast<Body*>(to);
  if (goesToSink(body)) {
    body.taken = (*body.sink)(Bytes(reinterpret_cast<const std::uint8_t*>(data), size * count));
    return body.taken ? size * count : 0;  // 0 ends the transfer
  }
  if (size * count > body.limit - body.text.size()) {
    body.tooLong = true;
    return 0;  // ends the transfer
  }
  body.text.append(data, size * count);
  return size * count;
}

// The caller's fault, whatever it is that the caller reads: never evidence about a log.
tl::unexpected<Error> unusable(std::string what) {
  return fail(Error{Code::kInvalidArgument, std::move(what), R"({"exitCode":2})"});
}

Status setPem(CURL* curl, CURLoption option, const std::string& path, bool secret) {
  if (path.empty()) return {};
  KILN_ASSIGN(std::string text,
              secret ? readSecretFile(path, kMaxCredential) : readTextFile(path, kMaxCredential));
  if (text.find(secret ? "PRIVATE KEY" : "CERTIFICATE") == text.npos)
    return unusable(path + ": holds no " + (secret ? "private key" : "certificate") + " in PEM");
  curl_blob blob{text.data(), text.size(), CURL_BLOB_COPY};
  curl_easy_setopt(curl, option, &blob);
  return {};
}

Status setToken(CURL* curl, const std::string& path) {
  if (path.empty()) return {};
  KILN_ASSIGN(std::string token, readSecretFile(path, kMaxCredential));
  while (token.ends_with('\n') || token.ends_with('\r')) token.pop_back();
  const bool plain = std::ranges::all_of(token, [](char c) { return c > ' ' && c < 0x7f; });
  if (token.empty() || !plain) return unusable(path + ": must hold a token, in one line");
  curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
  curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, token.c_str());
  return {};
}

Status setCredentials(CURL* curl, const HttpCredentials& credentials) {
  if (credentials.ca.empty()) return {};
  curl_easy_setopt(curl, CURLOPT_CAPATH, nullptr);  // not the system's authorities, too
  KILN_TRY(setPem(curl, CURLOPT_CAINFO_BLOB, credentials.ca, false));
  KILN_TRY(setPem(curl, CURLOPT_SSLCERT_BLOB, credentials.certificate, false));
  KILN_TRY(setPem(curl, CURLOPT_SSLKEY_BLOB, credentials.key, true));
  return setToken(curl, credentials.token);
}

tl::unexpected<Error> failed(const std::string& url, CURLcode code, const char* detail,
                             const HttpCredentials& credentials) {
  if (!url.starts_with("https:") || *detail == 0)
    return fail(Code::kUnavailable, url + ": " + curl_easy_strerror(code));
  const bool given = !credentials.ca.empty();
  if (given && code == CURLE_SSL_CACERT_BADFILE) return unusable(credentials.ca + ": " + printable(detail));
  if (given && code == CURLE_SSL_CERTPROBLEM)
    return unusable(credentials.certificate + " with " + credentials.key + ": " + printable(detail));
  return fail(Code::kUnavailable, url + ": " + printable(detail));
}

// libcurl asks about once a second, also while nothing comes.
int mustEnd(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0;
}

void setStop(CURL* curl, const std::stop_token& stop) {
  if (!stop.stop_possible()) return;
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, mustEnd);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &stop);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
}

// A whole answer within ten seconds, or, into a sink, one that goes on.
void setPatience(CURL* curl, bool streaming) {
  curl_easy_setopt(curl, streaming ? CURLOPT_CONNECTTIMEOUT : CURLOPT_TIMEOUT, 10L);
  if (!streaming) return;
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, kSlowBytesPerSecond);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, kSlowSeconds);
}

Result<HttpAnswer> perform(const std::string& url, const std::string* post, Body body,
                           const HttpCredentials& credentials, const std::stop_token& stop = {}) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), curl_easy_cleanup);
  if (ready != CURLE_OK || !curl) return fail(Code::kInternal, "libcurl does not start");
  body.curl = curl.get();
  char detail[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, detail);
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_PROXY, "");
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  setPatience(curl.get(), body.sink != nullptr);
  setStop(curl.get(), stop);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &body);
  if (url.starts_with("https:")) KILN_TRY(setCredentials(curl.get(), credentials));
  if (post) {
    curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(post->size()));
    curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, post->c_str());
  }
  const CURLcode done = curl_easy_perform(curl.get());
  if (!body.taken) return fail(body.taken.error());
  if (body.tooLong) return fail(Code::kResourceExhausted, url + ": the answer is too long");
  if (done != CURLE_OK) return failed(url, done, detail, credentials);
  HttpAnswer answer;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &answer.status);
  answer.body = std::move(body.text);
  return answer;
}

}  // namespace

Result<HttpAnswer> httpGet(const std::string& url, std::size_t limit, const HttpCredentials& credentials,
                           const std::stop_token& stop) {
  return perform(url, nullptr, {.limit = limit}, credentials, stop);
}

Result<HttpAnswer> httpPost(const std::string& url, const std::string& body, std::size_t limit) {
  return perform(url, &body, {.limit = limit}, {});
}

Result<HttpAnswer> httpStream(const std::string& url, const std::function<Status(Bytes)>& sink,
                              const HttpCredentials& credentials) {
  return perform(url, nullptr, {.limit = kMaxRefusal, .sink = &sink}, credentials);
}

}  // namespace kiln::signing
