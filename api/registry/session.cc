#include "api/registry/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "manifest/artifact/oci.h"
#include "manifest/artifact/oci_layout.h"
#include "manifest/json/json.h"
#include "storage/s3/answer_body.h"

namespace kiln::registry {
namespace {

constexpr int kPatience = 4;  // a registry hashes a whole blob before it answers
constexpr std::size_t kMaxCode = 40, kMaxAddress = 4000;

bool isPlain(std::string_view text) {
  return !text.empty() && text.size() < kMaxAddress &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f && c != '"' && c != '\\'; });
}

std::string percentEncoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

// A parameter of a challenge, `name="value"`; "" where there is none.
std::string parameter(const std::string& challenge, const std::string& name) {
  const std::string begin = name + "=\"";
  auto at = challenge.find(begin);
  while (at != challenge.npos && at > 0 && challenge[at - 1] != ' ' && challenge[at - 1] != ',')
    at = challenge.find(begin, at + 1);
  if (at == challenge.npos) return {};
  const auto from = at + begin.size();
  const auto end = challenge.find('"', from);
  return end == challenge.npos ? std::string() : challenge.substr(from, end - from);
}

bool isScheme(const std::string& challenge, std::string_view name) {
  return challenge.size() > name.size() &&
         std::ranges::equal(challenge.substr(0, name.size()), name, {},
                            [](char c) { return static_cast<char>(c | 0x20); });
}

// The code of the first error, where it has a code's form. The rest of an answer may repeat what was sent.
std::string codeOf(const std::string& body) {
  const auto json = parseJson(body, {.bytes = s3::kMaxAnswerBody, .depth = 16});
  if (!json || !json->is_object()) return {};
  const auto errors = json->find("errors");
  if (errors == json->end() || !errors->is_array() || errors->empty() || !errors->front().is_object())
    return {};
  const auto code = errors->front().find("code");
  if (code == errors->front().end() || !code->is_string()) return {};
  const auto text = code->get<std::string>();
  const bool plain = std::ranges::all_of(text, [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
  return plain && text.size() <= kMaxCode ? text : std::string();
}

Code meaningOf(long status) {
  switch (status) {
    case 401:
      return Code::kUnauthenticated;
    case 403:
      return Code::kPermissionDenied;
    case 404:
      return Code::kNotFound;
    case 413:
      return Code::kResourceExhausted;
    case 429:
      return Code::kUnavailable;
    default:
      return status >= 500 ? Code::kUnavailable : Code::kFailedPrecondition;
  }
}

s3::Location locationOf(const SessionOptions& options) {
  s3::Location out;
  out.ca = options.ca;
  return out;
}

}  // namespace

Session::Session(const Reference& reference, SessionOptions options, std::string origin)
    : reference_(reference),
      options_(std::move(options)),
      origin_(std::move(origin)),
      transport_(std::make_unique<s3::Transport>(locationOf(options_), nullptr, s3::Timeouts{})) {
  if (!options_.credentials.bearer.empty()) authorization_ = "Bearer " + options_.credentials.bearer;
}

Result<Session> Session::open(const Reference& reference, SessionOptions options) {
  const bool plain = options.plainHttp || (reference.isLocal() && options.ca.empty());
  if (plain && !reference.isLocal() && options.credentials.given())
    return fail(Code::kInvalidArgument, reference.host +
                                            ": credentials do not go to another machine over plain "
                                            "http; leave out --plain-http");
  std::string origin = (plain ? "http://" : "https://") + reference.host;
  return Session(reference, std::move(options), std::move(origin));
}

std::string Session::url(const std::string& rest) const {
  return origin_ + "/v2/" + reference_.repository + "/" + rest;
}

tl::unexpected<Error> Session::refused(const char* what, const s3::Answer& answer) const {
  const std::string code = codeOf(answer.body);
  std::string text = fmt::format("{}: the registry answered {}{} to {}", reference_.place(), answer.status,
                                 code.empty() ? "" : " " + code, what);
  if (answer.status == 401 || answer.status == 403) {
    text += options_.credentials.given() ? "; the credentials do not allow it"
                                         : "; there are no credentials for it";
    if (!options_.credentials.without.empty()) text += ": " + options_.credentials.without;
  }
  return fail(meaningOf(answer.status), std::move(text));
}

Result<s3::Answer> Session::once(s3::Request request, const std::string& authorization) {
  if (!authorization.empty()) request.headers.push_back("Authorization: " + authorization);
  auto answer = transport_->exchange(request);
  if (!answer) return fail(answer.error().error.in(reference_.host));
  return std::move(*answer);
}

Result<s3::Answer> Session::exchange(s3::Request request) {
  KILN_ASSIGN(s3::Answer answer, once(request, authorization_));
  if (answer.status != 401 || answer.challenge.empty()) return answer;
  // A token has run out, or none was asked for yet; once more with another one.
  KILN_TRY(authenticate(answer.challenge));
  return once(std::move(request), authorization_);
}

Status Session::authenticate(const std::string& challenge) {
  if (!options_.credentials.bearer.empty()) return {};
  if (isScheme(challenge, "bearer")) {
    KILN_ASSIGN(const std::string token, fetchToken(challenge));
    authorization_ = "Bearer " + token;
  } else if (isScheme(challenge, "basic") && !options_.credentials.basic.empty()) {
    authorization_ = "Basic " + options_.credentials.basic;
  }
  return {};
}

// What is sent along goes to an https address, or to the registry's own.
Result<std::string> Session::fetchToken(const std::string& challenge) {
  const std::string realm = parameter(challenge, "realm"), service = parameter(challenge, "service");
  const bool own = realm.starts_with(origin_ + "/");
  if (!isPlain(realm) || realm.find('@') != realm.npos || (!own && !realm.starts_with("https://")))
    return fail(Code::kFailedPrecondition,
                reference_.host + ": the registry sends for tokens where it is neither https nor its own");
  s3::Request request;
  request.method = "GET";
  request.url = realm + (realm.find('?') == realm.npos ? '?' : '&') +
                "scope=" + percentEncoded("repository:" + reference_.repository + ":pull,push");
  if (!service.empty()) request.url += "&service=" + percentEncoded(service);
  std::string text;
  request.sink = [&](Bytes bytes) -> Status {
    if (text.size() + bytes.size() > s3::kMaxAnswerBody)
      return fail(Code::kResourceExhausted, "the answer with a token is too long");
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  };
  const std::string& basic = options_.credentials.basic;
  KILN_ASSIGN(const s3::Answer answer, once(std::move(request), basic.empty() ? "" : "Basic " + basic));
  if (answer.status != 200) return refused("a request for a token", answer);
  const auto json = parseJson(text, {.bytes = s3::kMaxAnswerBody, .depth = 16});
  for (const char* name : {"token", "access_token"})
    if (json && json->is_object())
      if (const auto found = json->find(name); found != json->end() && found->is_string())
        if (auto token = found->get<std::string>();
            !token.empty() && std::ranges::all_of(token, [](char c) { return c > ' ' && c < 0x7f; }))
          return token;
  return fail(Code::kFailedPrecondition, reference_.host + ": the registry's answer holds no token");
}

// Another host would get the credentials and the bytes.
Result<std::string> Session::uploadAddress(const std::string& location) const {
  if (isPlain(location) && location.starts_with('/')) return origin_ + location;
  if (isPlain(location) && location.starts_with(origin_ + "/")) return location;
  return fail(Code::kFailedPrecondition,
              reference_.host + ": the registry wants the bytes sent elsewhere than to " + origin_);
}

Result<PutAnswer> Session::putBlob(const Digest& digest, const s3::Body& body) {
  s3::Request look;
  look.method = "HEAD";
  look.url = url("blobs/" + digest.text());
  KILN_ASSIGN(const s3::Answer there, exchange(look));
  // A redirection says where to get it, so it is there.
  if (there.status == 200 || there.status == 302 || there.status == 307) return PutAnswer{};
  if (there.status != 404) return refused("the question for a blob", there);
  s3::Request begin;
  begin.method = "POST";
  begin.url = url("blobs/uploads/");
  begin.body = s3::Body::of({});
  KILN_ASSIGN(const s3::Answer begun, exchange(begin));
  if (begun.status != 202) return refused("an upload", begun);
  KILN_ASSIGN(const std::string address, uploadAddress(begun.location));
  s3::Request send;
  send.method = "PUT";
  send.url =
      address + (address.find('?') == address.npos ? '?' : '&') + "digest=" + percentEncoded(digest.text());
  send.body = body;
  send.patience = kPatience;
  KILN_ASSIGN(const s3::Answer sent, exchange(std::move(send)));
  if (sent.status != 201) return refused("a blob", sent);
  return PutAnswer{true, false};
}

Result<PutAnswer> Session::putManifest(const std::string& name, const std::string& mediaType,
                                       std::string_view text) {
  s3::Request send;
  send.method = "PUT";
  send.url = url("manifests/" + name);
  send.body = s3::Body::of(asBytes(text));
  send.bodyType = mediaType;
  send.patience = kPatience;
  KILN_ASSIGN(const s3::Answer sent, exchange(std::move(send)));
  if (sent.status != 201) return refused("a manifest", sent);
  return PutAnswer{true, !sent.subject.empty()};
}

Result<std::optional<std::string>> Session::getIndex(const std::string& tag) {
  s3::Request get;
  get.method = "GET";
  get.url = url("manifests/" + tag);
  get.headers.push_back(std::string("Accept: ") + kOciIndexMediaType);
  std::string text;
  get.sink = [&](Bytes bytes) -> Status {
    if (text.size() + bytes.size() > kMaxLayoutIndexBytes)
      return fail(Code::kResourceExhausted, "the index of what refers to the artifact is over 4 MiB");
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  };
  KILN_ASSIGN(const s3::Answer answer, exchange(std::move(get)));
  if (answer.status == 404) return std::nullopt;
  if (answer.status != 200) return refused("the question for an index", answer);
  return text;
}

}  // namespace kiln::registry
