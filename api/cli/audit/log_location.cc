#include "api/cli/audit/log_location.h"

#include <filesystem>

#include "manifest/base/presence.h"

namespace kiln::cli {
namespace {

// A log with a retry policy, whose outages say whose they are.
class NamedLog final : public signing::LogSource {
 public:
  NamedLog(std::string where, signing::HttpCredentials credentials, client::RetryPolicy retryPolicy)
      : where_(std::move(where)),
        retryPolicy_(std::move(retryPolicy)),
        base_(signing::openLogSource(where_, std::move(credentials))) {}

  const std::string& where() const override { return base_->where(); }
  Result<std::string> read(const signing::TilePath& path) override {
    return retryPolicy_(
        [&] { return base_->read(path).map_error([&](Error error) { return told(std::move(error)); }); });
  }
  Result<std::string> checkpoint() override {
    return retryPolicy_(
        [&] { return base_->checkpoint().map_error([&](Error error) { return told(std::move(error)); }); });
  }

 private:
  Error told(Error error) const {
    if (error.code == Code::kUnavailable || error.code == Code::kDeadlineExceeded)
      error.message = "the log at " + where_ + " does not answer: " + error.message +
                      "; is its farm running? --log names another URL or directory of the log" +
                      (where_.starts_with("https:") ? ", --tls-ca the authorities of its certificate" : "");
    const bool refused = error.code == Code::kPermissionDenied || error.code == Code::kUnauthenticated;
    if (refused && where_.starts_with("https:"))
      error.message += "; --tls-cert with --tls-key, or --token-file, says who asks";
    return error;
  }

  const std::string where_;
  const client::RetryPolicy retryPolicy_;
  const std::unique_ptr<signing::LogSource> base_;
};

// Of what is no URL: what lies in the directory is the log's word, that there is one is the caller's.
Status checkPlace(const std::string& where) {
  std::error_code error;
  if (where.find("://") != std::string::npos || std::filesystem::is_directory(where, error)) return {};
  const Status present = checkPresent(where);
  if (!present && present.error().code != Code::kNotFound) return present;
  const bool there = present.has_value();
  return fail(there ? Code::kInvalidArgument : Code::kNotFound,
              where + (there ? ": is no directory" : ": there is no such directory") +
                  "; --log names the URL or the directory of a log");
}

}  // namespace

void addLogOption(CLI::App& command, Context& context) {
  command.add_option("--log", context.log,
                     "URL or directory of the log (default: that of the farm, $KILN_HTTP/log)");
}

signing::HttpCredentials logCredentials(const Context& context) {
  return {context.tls.ca, context.tls.certificate, context.tls.key, context.tls.token};
}

Result<std::unique_ptr<signing::LogSource>> openLog(const Context& context) {
  const std::string& named = context.log;
  if (named.empty() && context.http.empty())
    return fail(Code::kInvalidArgument,
                "name the log with --log URL or --log DIR, or its farm with --context NAME or a kiln.env");
  const std::string where = named.empty() ? context.http + "/log" : named;
  KILN_TRY(checkPlace(where));
  KILN_ASSIGN(client::RetryPolicy retryPolicy, context.retryPolicy("the log"));
  return std::make_unique<NamedLog>(where, logCredentials(context), std::move(retryPolicy));
}

}  // namespace kiln::cli
