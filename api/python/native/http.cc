// The HTTP of signing/follow/http.h by Python's own http.client and ssl (kiln/_http.py), in the place of
// libcurl: the package brings no TLS library for it. An object file's definitions come before those of an
// archive, so that http.cc of signing/follow, and libcurl, are not linked.
#include "signing/follow/http.h"

#include <chrono>

#include "api/python/native/errors.h"
#include "api/python/native/python.h"
#include "signing/keys/files.h"

namespace kiln::signing {
namespace {

using python::Ref;

constexpr std::size_t kMaxCredential = 1 << 20, kMaxRefusal = 64 << 10;
constexpr std::chrono::seconds kWhole{10};

// Secrets that others may read are refused, as `kiln` does; the token's text is handed on.
Result<std::string> tokenOf(const HttpCredentials& credentials) {
  if (!credentials.key.empty()) KILN_TRY(readSecretFile(credentials.key, kMaxCredential));
  if (credentials.token.empty()) return std::string();
  KILN_ASSIGN(std::string token, readSecretFile(credentials.token, kMaxCredential));
  while (token.ends_with('\n') || token.ends_with('\r')) token.pop_back();
  return token;
}

// An answer as it comes. Used with the GIL held.
class Answer {
 public:
  static Result<Answer> open(const std::string& url, const HttpCredentials& credentials,
                             const std::string& token) {
    const Ref module(PyImport_ImportModule("kiln._http"));
    Answer answer;
    if (module)
      answer.object_ =
          Ref(PyObject_CallMethod(module.get(), "open_url", "sssss", url.c_str(), credentials.ca.c_str(),
                                  credentials.certificate.c_str(), credentials.key.c_str(), token.c_str()));
    if (!answer.object_) return fail(python::takeException().in(url));
    const Ref status(PyObject_GetAttrString(answer.object_.get(), "status"));
    answer.status_ = status ? PyLong_AsLong(status.get()) : 0;
    return answer;
  }
  long status() const { return status_; }
  // The next bytes, which live until the next call; none at the end.
  Result<Bytes> read(const std::string& url) {
    chunk_ = Ref(PyObject_CallMethod(object_.get(), "read", "i", 1 << 18));
    char* data = nullptr;
    Py_ssize_t size = 0;
    if (!chunk_ || PyBytes_AsStringAndSize(chunk_.get(), &data, &size) != 0)
      return fail(python::takeException().in(url));
    return Bytes(reinterpret_cast<const std::uint8_t*>(data), static_cast<std::size_t>(size));
  }

 private:
  Ref object_, chunk_;
  long status_ = 0;
};

// `sink` is called without the GIL.
Result<HttpAnswer> perform(const std::string& url, const HttpCredentials& credentials, std::size_t limit,
                           const std::function<Status(Bytes)>* sink, const std::stop_token& stop = {}) {
  const bool secure = url.starts_with("https:") && !credentials.ca.empty();
  const HttpCredentials shown = secure ? credentials : HttpCredentials{};
  KILN_ASSIGN(const std::string token, tokenOf(shown));
  const auto end = std::chrono::steady_clock::now() + kWhole;
  const python::WithGil held;
  KILN_ASSIGN(Answer answer, Answer::open(url, shown, token));
  HttpAnswer out{.status = answer.status(), .body = {}};
  while (true) {
    if (stop.stop_requested())
      return fail(Code::kUnavailable, url + ": stopped before the whole answer came");
    KILN_ASSIGN(const Bytes bytes, answer.read(url));
    if (bytes.empty()) return out;
    if (sink != nullptr && out.status == 200) {
      const python::WithoutGil others;
      KILN_TRY((*sink)(bytes));
      continue;
    }
    if (bytes.size() > limit - out.body.size())
      return fail(Code::kResourceExhausted, url + ": the answer is too long");
    out.body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (std::chrono::steady_clock::now() > end)
      return fail(Code::kUnavailable, url + ": no whole answer within 10 s");
  }
}

}  // namespace

Result<HttpAnswer> httpGet(const std::string& url, std::size_t limit, const HttpCredentials& credentials,
                           const std::stop_token& stop) {
  return perform(url, credentials, limit, nullptr, stop);
}

Result<HttpAnswer> httpStream(const std::string& url, const std::function<Status(Bytes)>& sink,
                              const HttpCredentials& credentials) {
  return perform(url, credentials, kMaxRefusal, &sink);
}

}  // namespace kiln::signing
