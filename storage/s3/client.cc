#include "storage/s3/client.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "manifest/base/printable.h"
#include "storage/s3/answer_body.h"
#include "storage/s3/presign.h"
#include "storage/s3/quoting.h"

namespace kiln::s3 {
namespace {

constexpr std::size_t kMaxUploadId = 1024, kMaxEtag = 256;
constexpr std::uint64_t kProgressBytes = 1 << 20;  // as much of a body is worth new attempts

template <std::size_t N>
bool isOneOf(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// The bytes did not come through, and the server says so.
constexpr std::array<std::string_view, 6> kDamaged{
    "BadDigest",      "InvalidDigest",        "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch",
    "IncompleteBody", "ContentSHA256Mismatch"};
constexpr std::array<std::string_view, 3> kFull{"QuotaExceeded", "XMinioStorageFull", "InsufficientStorage"};
constexpr std::array<std::string_view, 4> kLater{"InternalError", "SlowDown", "ServiceUnavailable",
                                                 "RequestTimeout"};

Code codeOf(long status, std::string_view code) {
  if (isOneOf(kDamaged, code)) return Code::kDataLoss;
  if (isOneOf(kFull, code) || status == 507) return Code::kResourceExhausted;
  if (code == "NoSuchBucket" || (status >= 300 && status < 400)) return Code::kFailedPrecondition;
  switch (status) {
    case 401:
      return Code::kUnauthenticated;
    case 403:
      return Code::kPermissionDenied;
    case 404:
      return Code::kNotFound;
    case 405:
    case 501:
      return Code::kUnimplemented;
    case 412:
      return Code::kAlreadyExists;
    case 416:
      return Code::kOutOfRange;
    case 408:
    case 409:
    case 429:
      return Code::kUnavailable;
    default:
      break;
  }
  if (isOneOf(kLater, code) || status >= 500) return Code::kUnavailable;
  return status >= 400 ? Code::kInvalidArgument : Code::kInternal;
}

bool isWorthAnotherTry(long status, std::string_view code) {
  if (isOneOf(kFull, code) || status == 501) return false;
  return isOneOf(kDamaged, code) || isOneOf(kLater, code) || code == "ConditionalRequestConflict" ||
         status == 408 || status == 429 || status >= 500;
}

struct Verdict {
  Error error;
  bool again = false;
};

Verdict verdictOf(const std::string& what, const Answer& answer) {
  const std::string code = elementText(answer.body, "Code").value_or("");
  const std::string message = elementText(answer.body, "Message").value_or("");
  std::string text = fmt::format("{}: the server answered {}", what, answer.status);
  if (!code.empty()) text += " " + printable(code, 64);
  if (!message.empty()) text += ": " + printable(message);
  if (answer.status >= 300 && answer.status < 400)
    text += "; the bucket is elsewhere: give its region= and endpoint= in the store's URL";
  if (code == "RequestTimeTooSkewed") text += "; set this machine's clock";
  if (!answer.requestId.empty()) text += " (request " + printable(answer.requestId, 64) + ")";
  return {{codeOf(answer.status, code), std::move(text), {}}, isWorthAnotherTry(answer.status, code)};
}

std::string checksumOf(const Digest& digest) {
  return toBase64(digest.hash);
}

// What was sent was hashed by the server, where it says so.
Status checkChecksum(const Answer& answer, const Digest& digest, const std::string& what) {
  if (!answer.checksum.empty() && answer.checksum != checksumOf(digest))
    return fail(Code::kDataLoss, what + ": the server has bytes of another checksum");
  return {};
}

// Whether an answer is the stretch of the object that was asked for.
Status checkStretch(const Answer& answer, std::uint64_t size, std::uint64_t first, std::uint64_t count,
                    const std::string& what) {
  const auto other = [&](const std::string& told) {
    return fail(Code::kDataLoss,
                fmt::format("{}: not an object of {} bytes: the server says {}", what, size, told));
  };
  if (answer.status == 206) {
    const std::string expected = fmt::format("bytes {}-{}/{}", first, first + count - 1, size);
    if (answer.contentRange != expected) return other(inQuotes(answer.contentRange));
  } else if (first != 0 || count != size) {
    return fail(Code::kFailedPrecondition, what + ": the server serves no ranges");
  }
  if (answer.contentLength.value_or(count) != count) return other(fmt::format("{}", *answer.contentLength));
  return {};
}

}  // namespace

Client::Client(ClientOptions options)
    : options_(std::move(options)), transport_(options_.location, options_.credentials, options_.timeouts) {}

Request Client::request(const std::string& method, const std::string& key, const std::string& query) const {
  Request out;
  out.method = method;
  out.url = options_.location.urlOf(key) + (query.empty() ? "" : "?" + query);
  return out;
}

std::map<std::string, std::string> Client::encryption() const {
  const Location& location = options_.location;
  std::map<std::string, std::string> out;
  if (!location.encryption.empty()) out["x-amz-server-side-encryption"] = location.encryption;
  if (!location.kmsKey.empty()) out["x-amz-server-side-encryption-aws-kms-key-id"] = location.kmsKey;
  return out;
}

void Client::encrypt(Request& request) const {
  for (const auto& [name, value] : encryption()) request.headers.push_back(name + ": " + value);
}

Result<Answer> Client::perform(const Request& request, const std::string& what, int* made) {
  Attempts attempts(options_.retry);
  while (true) {
    auto answer = transport_.exchange(request);
    if (made) *made = attempts.made();
    Verdict verdict;
    if (!answer) {
      verdict = {answer.error().error.in(what), answer.error().kind == Failure::Kind::kConnection};
      if (answer.error().kind == Failure::Kind::kRefused) return fail(std::move(answer.error().error));
    } else {
      const bool good = answer->status >= 200 && answer->status < 300 && !isErrorBody(answer->body);
      if (good) return std::move(*answer);
      verdict = verdictOf(what, *answer);
    }
    if (!verdict.again || !attempts.again()) return fail(std::move(verdict.error));
  }
}

Request Client::putRequest(const std::string& key, const Body& body, const Digest& digest) const {
  Request put = request("PUT", key);
  put.body = body;
  put.bodyHash = digest.hash;
  put.headers.push_back("x-amz-checksum-sha256: " + checksumOf(digest));
  encrypt(put);
  return put;
}

Status Client::put(const std::string& key, const Body& body, const Digest& digest, Existing existing) {
  const std::string what = "S3 PUT " + options_.location.text() + key;
  Request put = putRequest(key, body, digest);
  if (existing == Existing::kRefuse) put.headers.push_back("If-None-Match: *");
  KILN_ASSIGN(const Answer answer, perform(put, what));
  return checkChecksum(answer, digest, what);
}

Result<std::string> Client::replace(const std::string& key, const Body& body, const Digest& digest,
                                    const std::string& etag) {
  const std::string what = "S3 PUT " + options_.location.text() + key;
  Request put = putRequest(key, body, digest);
  put.headers.push_back(etag.empty() ? "If-None-Match: *" : "If-Match: " + etag);
  KILN_ASSIGN(Answer answer, perform(put, what));
  KILN_TRY(checkChecksum(answer, digest, what));
  if (answer.etag.empty()) return fail(Code::kInternal, what + ": the server names no version");
  return std::move(answer.etag);
}

Result<Fetched> Client::fetch(const std::string& key, std::size_t limit) {
  const std::string what = "S3 GET " + options_.location.text() + key;
  Attempts attempts(options_.retry);
  while (true) {
    Fetched out;
    Request get = request("GET", key);
    get.sink = [&](Bytes bytes) -> Status {
      if (bytes.size() > limit - out.bytes.size())
        return fail(Code::kResourceExhausted, fmt::format("{}: more than {} bytes", what, limit));
      out.bytes.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return {};
    };
    auto answer = transport_.exchange(get);
    Verdict verdict;
    if (!answer) {
      if (answer.error().kind == Failure::Kind::kRefused) return fail(std::move(answer.error().error));
      verdict = {answer.error().error.in(what), answer.error().kind == Failure::Kind::kConnection};
    } else if (answer->status == 200 &&
               answer->contentLength.value_or(out.bytes.size()) == out.bytes.size()) {
      out.etag = std::move(answer->etag);
      out.modified = answer->modified;
      return out;
    } else {
      verdict = verdictOf(what, *answer);
    }
    if (!verdict.again || !attempts.again()) return fail(std::move(verdict.error));
  }
}

Result<ObjectInfo> Client::head(const std::string& key) {
  const std::string what = "S3 HEAD " + options_.location.text() + key;
  Request head = request("HEAD", key);
  head.headers.push_back("x-amz-checksum-mode: ENABLED");
  KILN_ASSIGN(const Answer answer, perform(head, what));
  if (!answer.contentLength) return fail(Code::kInternal, what + ": the server tells no length");
  // "…-N" is of the checksums of N parts.
  const bool whole = answer.checksum.find('-') == std::string::npos;
  return ObjectInfo{*answer.contentLength, answer.etag, whole ? answer.checksum : ""};
}

Status Client::copy(const std::string& from, const std::string& etag, const std::string& to) {
  Request copy = request("PUT", to);
  const Location& location = options_.location;
  copy.headers.push_back("x-amz-copy-source: /" + location.bucket + "/" + location.prefix + from);
  copy.headers.push_back("x-amz-copy-source-if-match: " + etag);
  copy.headers.push_back("x-amz-checksum-algorithm: SHA256");
  copy.body = Body{};
  copy.bodyHash = digestOf("").hash;
  copy.patience = 8;
  encrypt(copy);
  KILN_TRY(perform(copy, "S3 copy to " + location.text() + to));
  return {};
}

Result<std::string> Client::presign(const std::string& method, const std::string& key,
                                    const std::map<std::string, std::string>& headers, TimePoint now) const {
  KILN_ASSIGN(const Credentials credentials, options_.credentials->get());
  return s3::presign({method, options_.location.urlOf(key), options_.location.region, headers, now},
                     credentials);
}

Status Client::get(const std::string& key, std::uint64_t size, std::uint64_t offset, std::uint64_t length,
                   const storage::ByteSink& sink) {
  const std::string what = "S3 GET " + options_.location.text() + key;
  Attempts attempts(options_.retry);
  std::uint64_t done = 0;
  while (true) {
    const std::uint64_t first = offset + done, count = length - done, before = done;
    Request get = request("GET", key);
    if (count != size) get.headers.push_back(fmt::format("Range: bytes={}-{}", first, first + count - 1));
    get.accept = [&](const Answer& answer) { return checkStretch(answer, size, first, count, what); };
    get.sink = [&](Bytes bytes) -> Status {
      if (bytes.size() > length - done)
        return fail(Code::kDataLoss, what + ": more bytes than the server announced");
      KILN_TRY(sink(bytes));
      done += bytes.size();
      return {};
    };
    auto answer = transport_.exchange(get);
    if (done == length) return {};
    Verdict verdict{{Code::kUnavailable, what + ": fewer bytes than the server announced", {}}, true};
    if (!answer) {
      if (answer.error().kind == Failure::Kind::kRefused) return fail(std::move(answer.error().error));
      verdict = {answer.error().error.in(what), answer.error().kind == Failure::Kind::kConnection};
    } else if (answer->status != 200 && answer->status != 206) {
      verdict = verdictOf(what, *answer);
    }
    if (done - before >= kProgressBytes) attempts.progressed();
    if (!verdict.again || !attempts.again()) return fail(std::move(verdict.error));
  }
}

Status Client::remove(const std::string& key) {
  auto answer = perform(request("DELETE", key), "S3 DELETE " + options_.location.text() + key);
  if (!answer && answer.error().code != Code::kNotFound) return fail(answer.error());
  return {};
}

Result<std::string> Client::startParts(const std::string& key) {
  const std::string what = "S3 multipart upload of " + options_.location.text() + key;
  Request start = request("POST", key, "uploads=");
  start.headers.push_back("x-amz-checksum-algorithm: SHA256");
  start.body = Body{};
  start.bodyHash = digestOf("").hash;
  encrypt(start);
  KILN_ASSIGN(const Answer answer, perform(start, what));
  const auto upload = elementText(answer.body, "UploadId");
  if (!upload || upload->empty() || upload->size() > kMaxUploadId)
    return fail(Code::kInternal, what + ": the server names no upload");
  return *upload;
}

Result<Part> Client::putPart(const std::string& key, const std::string& upload, std::size_t number,
                             const Body& body, const Digest& digest) {
  const std::string what = fmt::format("S3 PUT {}{}, part {}", options_.location.text(), key, number);
  Request put = request("PUT", key, fmt::format("partNumber={}&uploadId={}", number, percentEncoded(upload)));
  put.body = body;
  put.bodyHash = digest.hash;
  put.headers.push_back("x-amz-checksum-sha256: " + checksumOf(digest));
  KILN_ASSIGN(const Answer answer, perform(put, what));
  KILN_TRY(checkChecksum(answer, digest, what));
  if (answer.etag.empty() || answer.etag.size() > kMaxEtag)
    return fail(Code::kInternal, what + ": the server names no part");
  return Part{answer.etag, digest};
}

Status Client::completeParts(const std::string& key, const std::string& upload, std::span<const Part> parts,
                             Existing existing) {
  std::string xml = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (std::size_t i = 0; i < parts.size(); ++i)
    xml += fmt::format(
        "<Part><ChecksumSHA256>{}</ChecksumSHA256><ETag>{}</ETag><PartNumber>{}</PartNumber></Part>",
        checksumOf(parts[i].digest), escaped(parts[i].etag), i + 1);
  xml += "</CompleteMultipartUpload>";
  Request complete = request("POST", key, "uploadId=" + percentEncoded(upload));
  complete.body = Body::of(asBytes(xml));
  complete.bodyHash = digestOf(xml).hash;
  complete.bodyType = "application/xml";
  complete.patience = 8;
  if (existing == Existing::kRefuse) complete.headers.push_back("If-None-Match: *");
  int made = 0;
  auto answer = perform(complete, "S3 multipart upload of " + options_.location.text() + key, &made);
  if (answer) return {};
  if (made > 1 && answer.error().code == Code::kNotFound)
    return fail(Code::kAlreadyExists, answer.error().message + "; an earlier attempt may have completed it");
  return fail(answer.error());
}

Status Client::abortParts(const std::string& key, const std::string& upload) {
  auto answer = perform(request("DELETE", key, "uploadId=" + percentEncoded(upload)),
                        "S3 multipart upload of " + options_.location.text() + key);
  if (!answer && answer.error().code != Code::kNotFound) return fail(answer.error());
  return {};
}

}  // namespace kiln::s3
