#include "signing/follow/http_log.h"

#include "signing/follow/tile_limits.h"

namespace kiln::signing {
namespace {

// More than any log publishes under this name: what it says is wrong, and waiting does not help.
Error isNoOutage(Error error) {
  if (error.code == Code::kResourceExhausted) error.code = Code::kDataLoss;
  return error;
}

Code codeOf(long status) {
  if (status == 404) return Code::kNotFound;
  if (status == 401) return Code::kUnauthenticated;
  return status == 403 ? Code::kPermissionDenied : Code::kUnavailable;
}

class HttpLog final : public LogSource {
 public:
  HttpLog(std::string url, HttpCredentials credentials)
      : url_(std::move(url)), credentials_(std::move(credentials)) {
    while (url_.ends_with('/')) url_.pop_back();
  }
  const std::string& where() const override { return url_; }
  Result<std::string> read(const TilePath& path) override { return get(path.text(), kMaxTileBytes); }
  Result<std::string> checkpoint() override { return get("checkpoint", kMaxNoteBytes); }

 private:
  Result<std::string> get(const std::string& name, std::size_t limit) {
    const std::string url = url_ + "/" + name;
    KILN_ASSIGN(HttpAnswer answer, httpGet(url, limit, credentials_).map_error(isNoOutage));
    if (answer.status == 200) return std::move(answer.body);
    return fail(codeOf(answer.status), url + ": HTTP status " + std::to_string(answer.status));
  }

  std::string url_;
  const HttpCredentials credentials_;
};

}  // namespace

std::unique_ptr<LogSource> openHttpLog(const std::string& url, HttpCredentials credentials) {
  return std::make_unique<HttpLog>(url, std::move(credentials));
}

}  // namespace kiln::signing
