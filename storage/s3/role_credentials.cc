#include "storage/s3/role_credentials.h"

#include <fmt/format.h>

#include <functional>

#include "manifest/base/file.h"
#include "manifest/base/mutex.h"
#include "manifest/base/printable.h"
#include "manifest/json/json.h"
#include "manifest/json/reader.h"
#include "storage/s3/answer_body.h"
#include "storage/s3/quoting.h"
#include "storage/s3/transport.h"

namespace kiln::s3 {
namespace {

constexpr auto kBefore = std::chrono::minutes(5);
constexpr std::size_t kMaxToken = 32 << 10;

struct Expiring {
  Credentials keys;
  TimePoint until;
};

using Ask = std::function<Result<Expiring>(Transport&)>;

class Role final : public CredentialSource {
 public:
  Role(std::string name, const Clock& clock, Ask ask)
      : name_(std::move(name)),
        clock_(clock),
        transport_({}, nullptr, {.connect = std::chrono::seconds(2), .stall = std::chrono::seconds(5)}),
        ask_(std::move(ask)) {}

  Result<Credentials> get() override {
    const MutexLock lock(mutex_);
    const TimePoint now = clock_.now();
    if (known_ && now < known_->until - kBefore) return known_->keys;
    auto asked = ask_(transport_);
    if (asked) {
      known_ = std::move(*asked);
      return known_->keys;
    }
    if (known_ && now < known_->until) return known_->keys;
    return fail(Code::kUnauthenticated, name_ + ": " + asked.error().message);
  }

 private:
  const std::string name_;
  const Clock& clock_;
  Transport transport_;
  const Ask ask_;
  Mutex mutex_;
  std::optional<Expiring> known_ KILN_GUARDED_BY(mutex_);
};

Result<std::string> bodyOf(Transport& transport, const Request& request) {
  auto answer = transport.exchange(request);
  if (!answer) return fail(answer.error().error);
  if (answer->status != 200)
    return fail(Code::kUnauthenticated,
                fmt::format("it answered {} {}", answer->status,
                            printable(elementText(answer->body, "Code").value_or(""), 64)));
  return std::move(answer->body);
}

// Secrets go into headers: nothing but what may stand there.
Result<Expiring> checked(Expiring given) {
  for (const std::string* text :
       {&given.keys.accessKeyId, &given.keys.secretAccessKey, &given.keys.sessionToken})
    for (const char c : *text)
      if (c <= ' ' || c >= 0x7f) return fail(Code::kInvalidArgument, "keys with characters that no key has");
  if (given.keys.accessKeyId.empty() || given.keys.secretAccessKey.empty())
    return fail(Code::kInvalidArgument, "an answer without keys");
  return given;
}

Result<TimePoint> timeOf(std::string text) {
  // "2026-11-20T06:00:00Z", or with a fraction of a second.
  if (const auto dot = text.find('.'); dot != text.npos) text = text.substr(0, dot) + "Z";
  return parseRfc3339(text);
}

// What containers and machines are told.
Result<Expiring> readJson(const std::string& text) {
  KILN_ASSIGN(const Json json, parseJson(text));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, ""));
  Expiring out;
  KILN_ASSIGN(out.keys.accessKeyId, reader.string("AccessKeyId"));
  KILN_ASSIGN(out.keys.secretAccessKey, reader.string("SecretAccessKey"));
  KILN_ASSIGN(out.keys.sessionToken, reader.string("Token"));
  KILN_ASSIGN(const std::string until, reader.string("Expiration"));
  KILN_ASSIGN(out.until, timeOf(until));
  return checked(std::move(out));
}

Result<Expiring> readXml(const std::string& text) {
  const auto element = [&](const char* name) { return elementText(text, name).value_or(""); };
  Expiring out{{element("AccessKeyId"), element("SecretAccessKey"), element("SessionToken")}, {}};
  KILN_ASSIGN(out.until, timeOf(element("Expiration")));
  return checked(std::move(out));
}

Result<std::string> readToken(const std::string& path) {
  KILN_ASSIGN(std::string token, readRegular(path, kMaxToken));
  while (token.ends_with('\n') || token.ends_with('\r')) token.pop_back();
  return token;
}

Result<std::unique_ptr<CredentialSource>> webIdentity(const std::string& file, const Environment& environment,
                                                      const Clock& clock) {
  const auto role = environment("AWS_ROLE_ARN");
  if (!role) return fail(Code::kInvalidArgument, "AWS_WEB_IDENTITY_TOKEN_FILE wants AWS_ROLE_ARN as well");
  const auto region = environment("AWS_REGION");
  const std::string endpoint =
      environment("AWS_ENDPOINT_URL_STS")
          .value_or(region ? "https://sts." + *region + ".amazonaws.com" : "https://sts.amazonaws.com");
  const std::string form =
      "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=" + percentEncoded(*role) +
      "&RoleSessionName=" + percentEncoded(environment("AWS_ROLE_SESSION_NAME").value_or("kiln")) +
      "&WebIdentityToken=";
  return std::make_unique<Role>("keys for " + *role + " from " + endpoint, clock,
                                [=](Transport& transport) -> Result<Expiring> {
                                  KILN_ASSIGN(const std::string token, readToken(file));
                                  const std::string body = form + percentEncoded(token);
                                  Request request;
                                  request.method = "POST";
                                  request.url = endpoint + "/";
                                  request.body = Body::of(asBytes(body));
                                  request.bodyType = "application/x-www-form-urlencoded";
                                  KILN_ASSIGN(const std::string answer, bodyOf(transport, request));
                                  return readXml(answer);
                                });
}

std::unique_ptr<CredentialSource> container(const std::string& url, const Environment& environment,
                                            const Clock& clock) {
  const auto token = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  const auto file = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  return std::make_unique<Role>("this container's keys", clock,
                                [=](Transport& transport) -> Result<Expiring> {
                                  Request request;
                                  request.method = "GET";
                                  request.url = url;
                                  std::string said = token.value_or("");
                                  if (file) {
                                    KILN_ASSIGN(said, readToken(*file));
                                  }
                                  if (!said.empty()) request.headers.push_back("Authorization: " + said);
                                  KILN_ASSIGN(const std::string answer, bodyOf(transport, request));
                                  return readJson(answer);
                                });
}

}  // namespace

Result<std::unique_ptr<CredentialSource>> roleCredentials(const Environment& environment,
                                                          const Clock& clock) {
  if (const auto file = environment("AWS_WEB_IDENTITY_TOKEN_FILE"))
    return webIdentity(*file, environment, clock);
  if (const auto path = environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"))
    return container("http://169.254.170.2" + *path, environment, clock);
  if (const auto url = environment("AWS_CONTAINER_CREDENTIALS_FULL_URI"))
    return container(*url, environment, clock);
  return nullptr;
}

std::unique_ptr<CredentialSource> machineCredentials(const Environment& environment, const Clock& clock) {
  if (environment("AWS_EC2_METADATA_DISABLED").value_or("") == "true") return nullptr;
  const std::string service =
      environment("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or("http://169.254.169.254");
  return std::make_unique<Role>(
      "this machine's role", clock, [service](Transport& transport) -> Result<Expiring> {
        Request token;
        token.method = "PUT";
        token.url = service + "/latest/api/token";
        token.headers = {"X-aws-ec2-metadata-token-ttl-seconds: 300"};
        token.body = Body{};
        KILN_ASSIGN(const std::string session, bodyOf(transport, token));
        if (session.find_first_of("\r\n") != session.npos)
          return fail(Code::kInvalidArgument, "a token that cannot stand in a header");
        Request get;
        get.method = "GET";
        get.url = service + "/latest/meta-data/iam/security-credentials/";
        get.headers = {"X-aws-ec2-metadata-token: " + session};
        KILN_ASSIGN(const std::string role, bodyOf(transport, get));
        get.url += percentEncoded(role.substr(0, role.find('\n')));
        KILN_ASSIGN(const std::string keys, bodyOf(transport, get));
        return readJson(keys);
      });
}

}  // namespace kiln::s3
