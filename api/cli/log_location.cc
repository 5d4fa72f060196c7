#include "api/cli/log_location.h"

#include <cstdlib>
#include <filesystem>

namespace kiln::cli {
namespace {

// A log with patience, whose outages say whose they are.
class NamedLog final : public signing::LogSource {
 public:
  NamedLog(std::string where, client::Patience patience)
      : where_(std::move(where)), patience_(std::move(patience)), base_(signing::openLogSource(where_)) {}

  const std::string& where() const override { return base_->where(); }
  Result<std::string> read(const signing::TilePath& path) override {
    return patience_(
        [&] { return base_->read(path).map_error([&](Error error) { return told(std::move(error)); }); });
  }
  Result<std::string> checkpoint() override {
    return patience_(
        [&] { return base_->checkpoint().map_error([&](Error error) { return told(std::move(error)); }); });
  }

 private:
  Error told(Error error) const {
    if (error.code == Code::kUnavailable || error.code == Code::kDeadlineExceeded)
      error.message = "the log at " + where_ + " does not answer: " + error.message +
                      "; is its farm running? --log names another URL or directory of the log";
    return error;
  }

  const std::string where_;
  const client::Patience patience_;
  const std::unique_ptr<signing::LogSource> base_;
};

// Of what is no URL: what lies in the directory is the log's word, that there is one is the caller's.
Status checkPlace(const std::string& where) {
  std::error_code error;
  if (where.find("://") != std::string::npos || std::filesystem::is_directory(where, error)) return {};
  const bool there = std::filesystem::exists(where, error);
  return fail(there ? Code::kInvalidArgument : Code::kNotFound,
              where + (there ? ": is no directory" : ": there is no such directory") +
                  "; --log names the URL or the directory of a log");
}

}  // namespace

Result<std::unique_ptr<signing::LogSource>> openLog(const Context& context, const std::string& named) {
  const char* farm = std::getenv("KILN_HTTP");
  if (named.empty() && (farm == nullptr || *farm == 0))
    return fail(Code::kInvalidArgument,
                "name the log with --log URL or --log DIR, or source a farm's kiln.env");
  const std::string where = named.empty() ? std::string(farm) + "/log" : named;
  KILN_TRY(checkPlace(where));
  KILN_ASSIGN(client::Patience patience, context.patience("the log"));
  return std::make_unique<NamedLog>(where, std::move(patience));
}

}  // namespace kiln::cli
