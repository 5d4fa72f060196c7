// A plain HTTP client for tests, over libcurl.
#pragma once

#include <curl/curl.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace kiln::testing_support {

struct HttpReply {
  long status = 0;
  std::string body;
  std::map<std::string, std::string> headers;  // names in lower case
};

// Paths of PEM files; "" for none.
struct HttpTls {
  std::string authority, certificate, key;
};

inline HttpReply httpGet(const std::string& url, const std::vector<std::string>& headers,
                         const char* method = "GET", const HttpTls& tls = {},
                         const std::string* body = nullptr) {
  HttpReply reply;
  CURL* curl = curl_easy_init();
  curl_slist* list = nullptr;
  for (const auto& header : headers) list = curl_slist_append(list, header.c_str());
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  if (!tls.authority.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, tls.authority.c_str());
  if (!tls.certificate.empty()) curl_easy_setopt(curl, CURLOPT_SSLCERT, tls.certificate.c_str());
  if (!tls.key.empty()) curl_easy_setopt(curl, CURLOPT_SSLKEY, tls.key.c_str());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, 30L);
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
  if (std::string(method) == "HEAD")
    curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  else
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
  if (body) {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->data());
  }
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &reply);
  const auto onBody = +[](char* data, size_t size, size_t count, void* to) {
    static_cast<HttpReply*>(to)->body.append(data, size * count);
    return size * count;
  };
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, onBody);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &reply);
  const auto onHeader = +[](char* data, size_t size, size_t count, void* to) {
    const std::string line(data, size * count);
    if (const auto colon = line.find(':'); colon != std::string::npos) {
      std::string name = line.substr(0, colon), value = line.substr(colon + 1);
      std::transform(name.begin(), name.end(), name.begin(), ::tolower);
      value.erase(0, value.find_first_not_of(' '));
      value.erase(value.find_last_not_of("\r\n ") + 1);
      static_cast<HttpReply*>(to)->headers[name] = value;
    }
    return size * count;
  };
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, onHeader);
  curl_easy_perform(curl);
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &reply.status);
  curl_slist_free_all(list);
  curl_easy_cleanup(curl);
  return reply;
}

}  // namespace kiln::testing_support
