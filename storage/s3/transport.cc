#include "storage/s3/transport.h"

#include <curl/curl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "manifest/base/printable.h"
#include "storage/s3/answer_body.h"

namespace kiln::s3 {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kMaxIdle = 32;
constexpr std::size_t kMaxHeaderBytes = 64 << 10;
constexpr std::size_t kMaxHeaderValue = 4096;
constexpr std::uint64_t kWithoutAsking = 1 << 20;
constexpr long kReceiveBuffer = 256 << 10, kSendBuffer = 512 << 10;

// What libcurl's callbacks share during one exchange.
struct Flow {
  const Request& request;
  const Timeouts& timeouts;
  CURL* curl;
  Answer answer{};
  std::optional<Failure> failure{};
  std::uint64_t sent = 0, headerBytes = 0;
  bool accepted = false, headersEnded = false;
  // The window that is watched for a stall.
  Steady::time_point since = Steady::now();
  Steady::duration inSink{};
  std::uint64_t movedBefore = 0;

  void fail(Failure::Kind kind, Error error) {
    if (!failure) failure = Failure{kind, std::move(error)};
  }
};

std::size_t sendBody(char* to, std::size_t size, std::size_t count, void* context) {
  Flow& flow = *static_cast<Flow*>(context);
  const Body& body = *flow.request.body;
  const std::size_t wanted = std::min<std::uint64_t>(size * count, body.size - flow.sent);
  if (wanted == 0) return 0;
  if (body.file < 0) {
    std::memcpy(to, body.bytes.data() + flow.sent, wanted);
    flow.sent += wanted;
    return wanted;
  }
  ssize_t got = -1;
  do {
    got = ::pread(body.file, to, wanted, static_cast<off_t>(flow.sent));
  } while (got < 0 && errno == EINTR);
  if (got <= 0) {
    flow.fail(Failure::Kind::kLocal, got < 0
                                         ? errnoError(errno, "bytes on their way to S3")
                                         : Error{Code::kDataLoss, "bytes on their way to S3 are gone", {}});
    return CURL_READFUNC_ABORT;
  }
  flow.sent += static_cast<std::uint64_t>(got);
  return static_cast<std::size_t>(got);
}

int seekBody(void* context, curl_off_t offset, int origin) {
  Flow& flow = *static_cast<Flow*>(context);
  if (origin != SEEK_SET || offset < 0) return CURL_SEEKFUNC_FAIL;
  flow.sent = static_cast<std::uint64_t>(offset);
  return CURL_SEEKFUNC_OK;
}

bool isNamed(std::string_view line, std::string_view name) {
  return line.size() > name.size() && line[name.size()] == ':' &&
         std::ranges::equal(line.substr(0, name.size()), name, [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + ('a' - 'A')) : a) == b;
         });
}

void readHeader(std::string_view line, Answer& answer) {
  const std::pair<std::string_view, std::string*> texts[] = {{"etag", &answer.etag},
                                                             {"content-range", &answer.contentRange},
                                                             {"x-amz-checksum-sha256", &answer.checksum},
                                                             {"x-amz-request-id", &answer.requestId},
                                                             {"location", &answer.location},
                                                             {"www-authenticate", &answer.challenge},
                                                             {"oci-subject", &answer.subject}};
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r' || line.back() == ' '))
    line.remove_suffix(1);
  const auto valueOf = [&](std::string_view name) {
    std::string_view value = line.substr(name.size() + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    return value.substr(0, kMaxHeaderValue);
  };
  for (const auto& [name, member] : texts)
    if (isNamed(line, name)) *member = valueOf(name);
  if (isNamed(line, "last-modified")) {
    const time_t seconds = curl_getdate(std::string(valueOf("last-modified")).c_str(), nullptr);
    if (seconds > 0) answer.modified = TimePoint(std::chrono::seconds(seconds));
  }
  if (isNamed(line, "content-length")) {
    const std::string_view text = valueOf("content-length");
    std::uint64_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    if (error == std::errc{} && end == text.data() + text.size()) answer.contentLength = length;
  }
}

std::size_t takeHeader(char* data, std::size_t size, std::size_t count, void* context) {
  Flow& flow = *static_cast<Flow*>(context);
  const std::string_view line(data, size * count);
  flow.headerBytes += line.size();
  if (flow.headerBytes > kMaxHeaderBytes) {
    flow.fail(Failure::Kind::kConnection, {Code::kUnavailable, "more than 64 KiB of headers", {}});
    return 0;
  }
  // Another status line begins: what came with "100 Continue" is not of the answer.
  if (line.starts_with("HTTP/")) flow.answer = {};
  flow.headersEnded = line == "\r\n" || line == "\n";
  readHeader(line, flow.answer);
  return line.size();
}

// Whether the sink wants it.
bool pass(Flow& flow, Bytes bytes) {
  const auto begun = Steady::now();
  Status passed;
  if (!flow.accepted) {
    flow.answer.status = 200;
    curl_easy_getinfo(flow.curl, CURLINFO_RESPONSE_CODE, &flow.answer.status);
    if (flow.request.accept) passed = flow.request.accept(flow.answer);
    flow.accepted = true;
  }
  if (passed) passed = flow.request.sink(bytes);
  flow.inSink += Steady::now() - begun;
  if (!passed) flow.fail(Failure::Kind::kRefused, passed.error());
  return passed.has_value();
}

std::size_t takeBody(char* data, std::size_t size, std::size_t count, void* context) {
  Flow& flow = *static_cast<Flow*>(context);
  const std::size_t bytes = size * count;
  long status = 0;
  curl_easy_getinfo(flow.curl, CURLINFO_RESPONSE_CODE, &status);
  if (flow.request.sink && (status == 200 || status == 206))
    return pass(flow, {reinterpret_cast<const std::uint8_t*>(data), bytes}) ? bytes : 0;
  // Of what is longer the beginning has to do, and the connection is not used again.
  const std::size_t room = kMaxAnswerBody - flow.answer.body.size();
  flow.answer.body.append(data, std::min(bytes, room));
  return bytes <= room ? bytes : 0;
}

// Called about once a second, too while nothing moves.
int watch(void* context, curl_off_t, curl_off_t downloaded, curl_off_t, curl_off_t uploaded) {
  Flow& flow = *static_cast<Flow*>(context);
  const auto now = Steady::now();
  const auto moved = static_cast<std::uint64_t>(downloaded + uploaded);
  if (moved - flow.movedBefore >= flow.timeouts.stallBytes) {
    flow.movedBefore = moved;
    flow.since = now;
    flow.inSink = {};
  }
  if (now - flow.since - flow.inSink <= flow.timeouts.stall * flow.request.patience) return 0;
  flow.fail(Failure::Kind::kConnection, {Code::kUnavailable, "the server has stalled", {}});
  return 1;
}

using Lines = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

void append(Lines& lines, const std::string& line) {
  lines.reset(curl_slist_append(lines.release(), line.c_str()));
}

// libcurl has uploads wait for "100 Continue"; small ones go without, as the forms that they are to it.
void setBody(CURL* curl, Flow& flow) {
  const Body& body = *flow.request.body;
  const auto set = [&](auto option, auto value) { curl_easy_setopt(curl, option, value); };
  if (body.file < 0 && body.size <= kWithoutAsking) {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size));
    set(CURLOPT_POSTFIELDS, body.size == 0 ? "" : reinterpret_cast<const char*>(body.bytes.data()));
    return;
  }
  set(CURLOPT_UPLOAD, 1L);
  set(CURLOPT_UPLOAD_BUFFERSIZE, kSendBuffer);
  set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(body.size));
  set(CURLOPT_READFUNCTION, sendBody);
  set(CURLOPT_READDATA, &flow);
  set(CURLOPT_SEEKFUNCTION, seekBody);
  set(CURLOPT_SEEKDATA, &flow);
  set(CURLOPT_EXPECT_100_TIMEOUT_MS, 200L);
}

Failure failureOf(CURLcode code, const char* detail) {
  const std::string what = *detail ? printable(detail) : curl_easy_strerror(code);
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return {Failure::Kind::kLocal, {Code::kFailedPrecondition, "the server's certificate: " + what, {}}};
    case CURLE_OUT_OF_MEMORY:
    case CURLE_URL_MALFORMAT:
    case CURLE_NOT_BUILT_IN:
      return {Failure::Kind::kLocal, {Code::kInternal, "libcurl: " + what, {}}};
    default:
      return {Failure::Kind::kConnection, {Code::kUnavailable, what, {}}};
  }
}

}  // namespace

struct Transport::Handle {
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl{curl_easy_init(), curl_easy_cleanup};
};

Transport::Transport(const Location& location, std::shared_ptr<CredentialSource> credentials,
                     const Timeouts& timeouts)
    : location_(location), credentials_(std::move(credentials)), timeouts_(timeouts) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(ready);
}

Transport::~Transport() = default;

std::unique_ptr<Transport::Handle> Transport::take() {
  const MutexLock lock(mutex_);
  if (idle_.empty()) return std::make_unique<Handle>();
  std::unique_ptr<Handle> out = std::move(idle_.back());
  idle_.pop_back();
  return out;
}

void Transport::giveBack(std::unique_ptr<Handle> handle) {
  const MutexLock lock(mutex_);
  if (idle_.size() < kMaxIdle) idle_.push_back(std::move(handle));
}

tl::expected<Answer, Failure> Transport::exchange(const Request& request) {
  const auto local = [](Error error) {
    return tl::make_unexpected(Failure{Failure::Kind::kLocal, std::move(error)});
  };
  auto credentials = credentials_ ? credentials_->get() : Result<Credentials>();
  if (!credentials) return local(credentials.error());
  std::unique_ptr<Handle> handle = take();
  CURL* const curl = handle->curl.get();
  if (!curl) return local({Code::kInternal, "libcurl does not start", {}});
  curl_easy_reset(curl);  // keeps its connections
  Flow flow{request, timeouts_, curl};
  char detail[CURL_ERROR_SIZE] = "";
  const auto set = [&](auto option, auto value) { curl_easy_setopt(curl, option, value); };
  set(CURLOPT_ERRORBUFFER, detail);
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(timeouts_.connect.count()));
  set(CURLOPT_BUFFERSIZE, kReceiveBuffer);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, watch);
  set(CURLOPT_XFERINFODATA, &flow);
  set(CURLOPT_HEADERFUNCTION, takeHeader);
  set(CURLOPT_HEADERDATA, &flow);
  set(CURLOPT_WRITEFUNCTION, takeBody);
  set(CURLOPT_WRITEDATA, &flow);
  if (!location_.ca.empty()) {
    set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // not the system's authorities, too
    set(CURLOPT_CAINFO, location_.ca.c_str());
  }
  const std::string signature = "aws:amz:" + location_.region + ":s3";
  if (credentials_) {
    set(CURLOPT_AWS_SIGV4, signature.c_str());
    set(CURLOPT_USERNAME, credentials->accessKeyId.c_str());
    set(CURLOPT_PASSWORD, credentials->secretAccessKey.c_str());
  }
  Lines lines(nullptr, curl_slist_free_all);
  for (const std::string& header : request.headers) append(lines, header);
  if (!credentials->sessionToken.empty()) append(lines, "x-amz-security-token: " + credentials->sessionToken);
  const Digest empty = digestOf("");
  if (credentials_)
    append(lines,
           "x-amz-content-sha256: " + toHex(request.body ? Bytes(request.bodyHash) : Bytes(empty.hash)));
  if (request.method == "HEAD") set(CURLOPT_NOBODY, 1L);
  if (request.body) {
    append(lines, "Content-Type: " + request.bodyType);
    setBody(curl, flow);
  }
  if (request.method != "HEAD") set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  set(CURLOPT_HTTPHEADER, lines.get());

  const CURLcode done = curl_easy_perform(curl);
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &flow.answer.status);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, static_cast<curl_slist*>(nullptr));
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, static_cast<char*>(nullptr));
  if (flow.failure) return tl::make_unexpected(std::move(*flow.failure));
  const bool tooLong = done == CURLE_WRITE_ERROR && flow.answer.status >= 300;
  if (done != CURLE_OK && !tooLong) return tl::make_unexpected(failureOf(done, detail));
  // libcurl takes a connection that ends within the headers for a whole answer.
  if (!flow.headersEnded)
    return tl::make_unexpected(
        Failure{Failure::Kind::kConnection, {Code::kUnavailable, "cut within the headers", {}}});
  if (!tooLong) giveBack(std::move(handle));
  // An answer that came without a byte has not been shown to accept().
  if (request.sink && request.accept && !flow.accepted &&
      (flow.answer.status == 200 || flow.answer.status == 206))
    if (Status accepted = request.accept(flow.answer); !accepted)
      return tl::make_unexpected(Failure{Failure::Kind::kRefused, accepted.error()});
  return std::move(flow.answer);
}

}  // namespace kiln::s3
