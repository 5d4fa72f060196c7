// The client against a server whose answers are written here.
#include "storage/s3/client.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/support/fake_s3.h"

namespace kiln::s3 {
namespace {

using testing_support::FakeS3;
using testing_support::httpAnswer;
using testing_support::HttpListener;
using testing_support::HttpSeen;

class S3Client : public testing::Test {
 protected:
  // The answers, one after the other; the last for all that come later.
  Client client(std::vector<std::string> answers, const std::string& more = "") {
    answers_ = std::move(answers);
    ClientOptions options;
    options.location =
        Location::parse("s3://bucket/p?endpoint=" + listener_.url() + (more.empty() ? "" : "&" + more))
            .value();
    options.credentials =
        std::shared_ptr<CredentialSource>(fixedCredentials({"ID", "secret", "token"}).value());
    options.retry.wait = [this](Duration pause) { pauses_.push_back(pause); };
    options.retry.draw = [] { return 1.0; };
    options.timeouts.stall = std::chrono::milliseconds(1500);
    return Client(options);
  }
  Code codeOf(const std::string& answer) {
    Client client = this->client({answer});
    const Status status = client.put("k", Body::of(asBytes("x")), digestOf("x"), Existing::kRefuse);
    if (!status) last_ = status.error().message;
    return status ? Code{} : status.error().code;
  }
  static Status keep(std::string& out, Bytes bytes) {
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }
  Status get(Client& client, std::uint64_t size, std::uint64_t offset, std::uint64_t length) {
    got_.clear();
    return client.get("k", size, offset, length, [this](Bytes bytes) { return keep(got_, bytes); });
  }
  std::string answer(const HttpSeen& seen) {
    const MutexLock lock(mutex_);
    seen_.push_back(seen);
    return answers_.at(std::min(seen_.size(), answers_.size()) - 1);
  }

  Mutex mutex_;
  std::vector<std::string> answers_;
  std::vector<HttpSeen> seen_;
  std::vector<Duration> pauses_;
  std::string got_, last_;
  HttpListener listener_{[this](const HttpSeen& seen) { return answer(seen); }};
};

TEST_F(S3Client, APutSaysItsHashLengthAndCondition) {
  Client client = this->client({httpAnswer(200)}, "sse=AES256");
  ASSERT_TRUE(client.put("k/1", Body::of(asBytes("bytes")), digestOf("bytes"), Existing::kRefuse));
  ASSERT_EQ(seen_.size(), 1u);
  HttpSeen& seen = seen_[0];
  EXPECT_EQ(seen.method + " " + seen.target, "PUT /bucket/p/k/1");
  EXPECT_EQ(seen.body, "bytes");
  EXPECT_EQ(seen.headers["content-length"], "5");
  EXPECT_EQ(seen.headers["if-none-match"], "*");
  EXPECT_EQ(seen.headers["x-amz-content-sha256"], digestOf("bytes").hex());
  EXPECT_EQ(seen.headers["x-amz-checksum-sha256"], toBase64(digestOf("bytes").hash));
  EXPECT_EQ(seen.headers["x-amz-server-side-encryption"], "AES256");
  EXPECT_EQ(seen.headers["x-amz-security-token"], "token");
  const std::string& signature = seen.headers["authorization"];
  EXPECT_TRUE(signature.starts_with("AWS4-HMAC-SHA256 Credential=ID/")) << signature;
  EXPECT_NE(signature.find("/us-east-1/s3/aws4_request"), std::string::npos) << signature;
  for (const char* header : {"host", "x-amz-content-sha256", "x-amz-checksum-sha256", "x-amz-date",
                             "x-amz-security-token", "x-amz-server-side-encryption"})
    EXPECT_NE(signature.find(header), std::string::npos) << header << " is not signed: " << signature;
}

TEST_F(S3Client, BacksOffAndTriesAgain) {
  // A connection that was used before and is cut is libcurl's own to replace: this one is a new one.
  const std::string busy = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  Client client =
      this->client({busy, "", FakeS3::error(500, "InternalError"), httpAnswer(429), httpAnswer(200)});
  ASSERT_TRUE(client.put("k", Body::of(asBytes("x")), digestOf("x"), Existing::kRefuse));
  EXPECT_EQ(seen_.size(), 5u);
  EXPECT_EQ(pauses_, (std::vector<Duration>{std::chrono::milliseconds(100), std::chrono::milliseconds(200),
                                            std::chrono::milliseconds(400), std::chrono::milliseconds(800)}));
  for (const HttpSeen& seen : seen_) EXPECT_EQ(seen.body, "x");
}

TEST_F(S3Client, GivesUpAfterSoManyAttempts) {
  EXPECT_EQ(codeOf(FakeS3::error(503, "SlowDown")), Code::kUnavailable);
  EXPECT_EQ(seen_.size(), 6u);
  EXPECT_NE(last_.find("503 SlowDown: told & done"), std::string::npos) << last_;
}

TEST_F(S3Client, MapsWhatTheServerSays) {
  const std::vector<std::tuple<std::string, Code, std::size_t>> cases{
      {FakeS3::error(403, "AccessDenied"), Code::kPermissionDenied, 1},
      {FakeS3::error(403, "SignatureDoesNotMatch"), Code::kPermissionDenied, 1},
      {FakeS3::error(401, "Who"), Code::kUnauthenticated, 1},
      {FakeS3::error(404, "NoSuchKey"), Code::kNotFound, 1},
      {FakeS3::error(404, "NoSuchBucket"), Code::kFailedPrecondition, 1},
      {FakeS3::error(412, "PreconditionFailed"), Code::kAlreadyExists, 1},
      {FakeS3::error(400, "InvalidArgument"), Code::kInvalidArgument, 1},
      {FakeS3::error(400, "BadDigest"), Code::kDataLoss, 6},
      {FakeS3::error(400, "RequestTimeout"), Code::kUnavailable, 6},
      {FakeS3::error(409, "ConditionalRequestConflict"), Code::kUnavailable, 6},
      {FakeS3::error(301, "PermanentRedirect"), Code::kFailedPrecondition, 1},
      {FakeS3::error(501, "NotImplemented"), Code::kUnimplemented, 1},
      {FakeS3::error(507, "XMinioStorageFull"), Code::kResourceExhausted, 1},
      {FakeS3::error(200, "InternalError"), Code::kUnavailable, 6},
      {"no HTTP at all\r\n\r\n", Code::kUnavailable, 6},
      {httpAnswer(200, "", {"x-amz-checksum-sha256: " + toBase64(digestOf("y").hash)}), Code::kDataLoss, 1},
      {"HTTP/1.1 200 OK\r\n" + std::string(70'000, 'a') + ": b\r\n\r\n", Code::kUnavailable, 6},
      {httpAnswer(403, std::string(1 << 20, 'x')), Code::kPermissionDenied, 1},
  };
  for (const auto& [answer, code, requests] : cases) {
    seen_.clear();
    EXPECT_EQ(codeOf(answer), code) << answer.substr(0, 200);
    EXPECT_EQ(seen_.size(), requests) << answer.substr(0, 200);
    EXPECT_LT(last_.size(), 1000u);
  }
}

TEST_F(S3Client, GetsARangeAndGoesOnWhereItWasCut) {
  const std::string text = "0123456789";
  Client client = this->client({"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\n0123",
                                httpAnswer(206, "456789", {"Content-Range: bytes 4-9/10"})});
  const Status status = get(client, 10, 0, 10);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(got_, text);
  EXPECT_FALSE(seen_.at(0).headers.contains("range"));
  EXPECT_EQ(seen_.at(1).headers["range"], "bytes=4-9");
}

TEST_F(S3Client, BelievesNoLengthButTheExpectedOne) {
  const std::vector<std::string> lies{
      httpAnswer(200, "0123456789ab"),
      httpAnswer(200, "0123"),
      httpAnswer(206, "23", {"Content-Range: bytes 2-3/11"}),
      httpAnswer(206, "0123456789", {"Content-Range: bytes 1-10/10"}),
      httpAnswer(206, "0123456789"),
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: "
      "close\r\n\r\nc\r\n0123456789ab\r\n0\r\n\r\n",
  };
  for (const std::string& lie : lies) {
    seen_.clear();
    Client client = this->client({lie});
    const Status status = get(client, 10, 0, 10);
    ASSERT_FALSE(status) << lie;
    EXPECT_EQ(status.error().code, Code::kDataLoss) << lie << status.error().message;
    EXPECT_LE(got_.size(), 10u);
  }
  Client ignores = this->client({httpAnswer(200, "0123456789")});
  seen_.clear();
  EXPECT_EQ(get(ignores, 10, 2, 3).error().code, Code::kFailedPrecondition);
}

TEST_F(S3Client, TheSinksErrorComesBackAsItIs) {
  Client client = this->client({httpAnswer(200, "0123456789")});
  const Status status =
      client.get("k", 10, 0, 10, [](Bytes) -> Status { return fail(Code::kAborted, "enough"); });
  EXPECT_EQ(status.error().code, Code::kAborted);
  EXPECT_EQ(status.error().message, "enough");
  EXPECT_EQ(seen_.size(), 1u);
}

TEST_F(S3Client, AnUploadThatAnEarlierAttemptCompletedMayBeThere) {
  Client client = this->client({"", FakeS3::error(404, "NoSuchUpload")});
  const Part part{"\"e\"", digestOf("x")};
  EXPECT_EQ(client.completeParts("k", "id", std::span(&part, 1), Existing::kRefuse).error().code,
            Code::kAlreadyExists);
  Client other = this->client({FakeS3::error(404, "NoSuchUpload")});
  seen_.clear();
  EXPECT_EQ(other.completeParts("k", "id", std::span(&part, 1), Existing::kRefuse).error().code,
            Code::kNotFound);
  Client late = this->client(
      {FakeS3::error(200, "InternalError"), httpAnswer(200, "<CompleteMultipartUploadResult/>")});
  seen_.clear();
  EXPECT_TRUE(late.completeParts("k", "id", std::span(&part, 1), Existing::kRefuse));
  EXPECT_EQ(seen_.size(), 2u);
}

TEST_F(S3Client, NobodyThereIsUnavailable) {
  ClientOptions options;
  options.location = Location::parse("s3://bucket?endpoint=http://127.0.0.1:1").value();
  options.credentials = std::shared_ptr<CredentialSource>(fixedCredentials({"ID", "secret", ""}).value());
  options.retry.wait = [](Duration) {};
  Client client(options);
  EXPECT_EQ(client.head("k").error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace kiln::s3
