#include "storage/s3/credentials.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "manifest/base/file.h"
#include "manifest/base/mutex.h"
#include "manifest/base/printable.h"
#include "storage/s3/role_credentials.h"

namespace kiln::s3 {
namespace {

constexpr std::size_t kMaxFile = 1 << 20, kMaxKey = 4096, kMaxToken = 16384;

bool isPlain(std::string_view text, std::size_t limit) {
  return text.size() <= limit && std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

Status check(const Credentials& credentials, const std::string& from) {
  const auto& [id, secret, token] = credentials;
  if (id.empty() || secret.empty())
    return fail(Code::kUnauthenticated, from + ": has no access key with its secret");
  if (!isPlain(id, kMaxKey) || !isPlain(secret, kMaxKey) || !isPlain(token, kMaxToken))
    return fail(Code::kInvalidArgument, from + ": a key has characters that no key has");
  return {};
}

class Fixed final : public CredentialSource {
 public:
  explicit Fixed(Credentials credentials) : credentials_(std::move(credentials)) {}
  Result<Credentials> get() override { return credentials_; }

 private:
  const Credentials credentials_;
};

std::string_view trimmed(std::string_view text) {
  const auto isSpace = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && isSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && isSpace(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<Credentials> profileOf(std::string_view file, std::string_view profile) {
  std::optional<Credentials> out;
  bool inside = false;
  while (!file.empty()) {
    const std::string_view line = file.substr(0, file.find('\n'));
    file.remove_prefix(std::min(file.size(), line.size() + 1));
    const std::string_view text = trimmed(line);
    if (text.starts_with('[') && text.ends_with(']')) {
      inside = trimmed(text.substr(1, text.size() - 2)) == profile;
      if (inside && !out) out.emplace();
    }
    const auto equals = text.find('=');
    if (!inside || text.starts_with('#') || text.starts_with(';') || equals == text.npos) continue;
    const std::string_view name = trimmed(text.substr(0, equals));
    const std::string value(trimmed(text.substr(equals + 1)));
    if (name == "aws_access_key_id") out->accessKeyId = value;
    if (name == "aws_secret_access_key") out->secretAccessKey = value;
    if (name == "aws_session_token") out->sessionToken = value;
  }
  return out;
}

class File final : public CredentialSource {
 public:
  File(std::string path, std::string profile) : path_(std::move(path)), profile_(std::move(profile)) {}

  Result<Credentials> get() override {
    const MutexLock lock(mutex_);
    struct stat now{};
    if (::stat(path_.c_str(), &now) != 0)
      return fail(Code::kUnauthenticated, path_ + ": " + errnoError(errno, "credentials").message);
    if (known_ && now.st_ino == read_.st_ino && now.st_size == read_.st_size &&
        now.st_mtim.tv_sec == read_.st_mtim.tv_sec && now.st_mtim.tv_nsec == read_.st_mtim.tv_nsec)
      return *known_;
    known_.reset();
    KILN_ASSIGN(const std::string text, readRegular(path_, kMaxFile));
    const auto found = profileOf(text, profile_);
    if (!found) return fail(Code::kUnauthenticated, path_ + ": has no profile " + inQuotes(profile_));
    KILN_TRY(check(*found, path_ + ", profile " + inQuotes(profile_)));
    read_ = now;
    known_ = *found;
    return *found;
  }

 private:
  const std::string path_, profile_;
  Mutex mutex_;
  std::optional<Credentials> known_ KILN_GUARDED_BY(mutex_);
  struct stat read_ KILN_GUARDED_BY(mutex_) {};
};

}  // namespace

Environment processEnvironment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (!value) return std::nullopt;
    return value;
  };
}

Result<std::unique_ptr<CredentialSource>> fixedCredentials(const Credentials& credentials) {
  KILN_TRY(check(credentials, "credentials"));
  return std::make_unique<Fixed>(credentials);
}

std::unique_ptr<CredentialSource> fileCredentials(std::string path, std::string profile) {
  return std::make_unique<File>(std::move(path), std::move(profile));
}

Result<std::unique_ptr<CredentialSource>> defaultCredentials(const std::string& profile,
                                                             const Environment& environment) {
  if (const auto id = environment("AWS_ACCESS_KEY_ID"); id && profile.empty()) {
    const Credentials given{*id, environment("AWS_SECRET_ACCESS_KEY").value_or(""),
                            environment("AWS_SESSION_TOKEN").value_or("")};
    KILN_TRY(check(given, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"));
    return fixedCredentials(given);
  }
  std::string path = environment("AWS_SHARED_CREDENTIALS_FILE").value_or("");
  if (const auto home = environment("HOME"); path.empty() && home) path = *home + "/.aws/credentials";
  struct stat file{};
  if (!path.empty() && ::stat(path.c_str(), &file) == 0) {
    auto source =
        fileCredentials(path, profile.empty() ? environment("AWS_PROFILE").value_or("default") : profile);
    KILN_TRY(source->get());
    return source;
  }
  static const SystemClock clock;
  KILN_ASSIGN(auto role, roleCredentials(environment, clock));
  if (role) return role;
  const std::string none =
      "no credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write " +
      (path.empty() ? std::string("a shared credentials file") : path);
  auto machine = machineCredentials(environment, clock);
  if (!machine) return fail(Code::kUnauthenticated, none);
  if (const auto keys = machine->get(); !keys) return fail(keys.error().in(none));
  return machine;
}

}  // namespace kiln::s3
