// What calls may hold of the coordinator: threads that other callers need, and time in which nothing comes.
#include "tests/coordinator/server/access_fixture.h"

namespace kiln::server::testing {
namespace {

// Uploads that have begun and send nothing.
class Uploads {
 public:
  ~Uploads() { end(); }
  void begin(const std::shared_ptr<grpc::Channel>& channel, int count) {
    for (int i = 0; i < count; ++i) {
      One& one = *all_.emplace_back(std::make_unique<One>());
      one.stream = google::bytestream::ByteStream::NewStub(channel)->Write(&one.context, &one.response);
    }
  }
  void end() {
    for (const auto& one : all_) one->context.TryCancel();
    for (const auto& one : all_) one->stream->Finish();
    all_.clear();
  }

 private:
  struct One {
    grpc::ClientContext context;
    google::bytestream::WriteResponse response;
    std::unique_ptr<grpc::ClientWriter<google::bytestream::WriteRequest>> stream;
  };
  std::vector<std::unique_ptr<One>> all_;
};

class SharedThreads : public AccessFixture {
 protected:
  SharedThreads() { request_.set_instance(kGranted); }
  grpc::StatusCode list(const std::string& name) {
    return call(as(name), "kiln.v1.JobService/ListJobs", request_.SerializeAsString()).error_code();
  }
  bool becomes(const std::string& name, grpc::StatusCode wanted) {
    for (int i = 0; i < 300; ++i) {
      if (list(name) == wanted) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  }

  v1::ListJobsRequest request_;
  Uploads uploads_;
};

TEST_F(SharedThreads, OneCallerLeavesSomeToOthers) {
  for (int connection = 0; connection < 5; ++connection) uploads_.begin(as("submitter"), 120);
  EXPECT_TRUE(becomes("submitter", grpc::StatusCode::RESOURCE_EXHAUSTED));
  EXPECT_EQ(list("auditor"), grpc::StatusCode::OK);
  uploads_.end();
  EXPECT_TRUE(becomes("submitter", grpc::StatusCode::OK));
}

// However many certificates it has.
TEST_F(SharedThreads, OneTenantLeavesSomeToOthers) {
  for (const char* name : {"submitter", "toolchain-admin", "admin"})
    for (int connection = 0; connection < 3; ++connection) uploads_.begin(as(name), 110);
  EXPECT_TRUE(becomes("auditor", grpc::StatusCode::RESOURCE_EXHAUSTED)) << "which asked for nothing before";
  EXPECT_EQ(list("root"), grpc::StatusCode::OK) << "of every instance";
  uploads_.end();
  EXPECT_TRUE(becomes("auditor", grpc::StatusCode::OK));
}

// A call that waits for its peer ends, whichever side is to send; one that waits for the farm does not.
class IdleCalls : public AccessFixture {
 protected:
  template <class Fact>
  static bool eventually(Fact holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!holds() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return holds();
  }
  bool untilWaiting(std::size_t calls) {
    return eventually([&] { return calls_.waiting() == calls; });
  }
  // What waits is patiently waited for, and then ended.
  void expectEnded(std::size_t calls) {
    ASSERT_TRUE(untilWaiting(calls)) << calls_.waiting();
    steady_.advance(CallLimits{}.patience);
    EXPECT_EQ(calls_.endOverdue(), 0u);
    steady_.advance(CallLimits{}.patience);
    std::size_t ended = 0;  // of what comes to wait again meanwhile, for a moment later
    for (int i = 0; ended < calls && i < 100'000; ++i, std::this_thread::yield())
      ended += calls_.endOverdue();
    EXPECT_EQ(ended, calls);
  }

  std::unique_ptr<google::bytestream::ByteStream::Stub> stub_ =
      google::bytestream::ByteStream::NewStub(as("submitter"));
  grpc::ClientContext context_;
  google::bytestream::WriteResponse written_;
  google::bytestream::WriteRequest message_;
};

TEST_F(IdleCalls, AnUploadWithoutAMessage) {
  const auto stream = stub_->Write(&context_, &written_);
  expectEnded(1);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(IdleCalls, AnUploadThatStops) {
  const auto stream = stub_->Write(&context_, &written_);
  message_.set_resource_name(storage::writeName(kGranted, digestOf(std::string(1 << 20, 'x'))));
  message_.set_data(std::string(1000, 'x'));
  ASSERT_TRUE(stream->Write(message_));
  expectEnded(1);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(IdleCalls, AnUploadThatTrickles) {
  const auto stream = stub_->Write(&context_, &written_);
  message_.set_resource_name(storage::writeName(kGranted, digestOf(std::string(1 << 20, 'x'))));
  message_.set_data("x");
  std::size_t ended = 0;
  for (int i = 0; ended == 0 && i < 1000 && stream->Write(message_); ++i) {
    message_.set_write_offset(i + 1);
    ASSERT_TRUE(untilWaiting(1));
    steady_.advance(CallLimits{}.patience / 4);
    ended = calls_.endOverdue();
  }
  EXPECT_EQ(ended, 1u);
  if (ended == 0) context_.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

// A slow line is no idle one: this takes an hour, in halves of the patience.
TEST_F(IdleCalls, ASlowUploadIsTaken) {
  const std::string bytes(60 << 20, 'x');
  const auto stream = stub_->Write(&context_, &written_);
  message_.set_resource_name(storage::writeName(kGranted, digestOf(bytes)));
  for (std::size_t at = 0; at < bytes.size(); at += 1 << 20) {
    ASSERT_TRUE(eventually([&] { return calls_.moved() == at && calls_.waiting() == 1; })) << at;
    steady_.advance(CallLimits{}.patience / 2);
    ASSERT_EQ(calls_.endOverdue(), 0u) << at;
    message_.set_write_offset(static_cast<std::int64_t>(at));
    message_.set_data(bytes.substr(at, 1 << 20));
    message_.set_finish_write(at + (1 << 20) == bytes.size());
    ASSERT_TRUE(stream->Write(message_)) << at;
  }
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(IdleCalls, ADownloadThatNobodyTakes) {
  const std::string bytes(32 << 20, 'x');
  const Digest blob = storage::putBlob(*blobs_, kGranted, asBytes(bytes)).value();
  google::bytestream::ReadRequest request;
  request.set_resource_name(storage::readName(kGranted, blob));
  const auto stream = stub_->Read(&context_, request);
  ASSERT_TRUE(untilWaiting(1));
  std::size_t ended = 0;  // it goes on until nothing is taken any more
  for (int i = 0; ended == 0 && i < 10'000; ++i) {
    steady_.advance(CallLimits{}.patience);
    ended = calls_.endOverdue();
    std::this_thread::yield();
  }
  EXPECT_EQ(ended, 1u);
  google::bytestream::ReadResponse response;
  while (stream->Read(&response)) {
  }
  EXPECT_FALSE(stream->Finish().ok());
}

// Its handler has returned by then.
TEST_F(IdleCalls, AnAnswerThatNobodyTakes) {
  reapi::BatchReadBlobsRequest request;
  request.set_instance_name(kGranted);
  *request.add_digests() =
      toProto(storage::putBlob(*blobs_, kGranted, asBytes(std::string(3 << 20, 'x'))).value());
  grpc::CompletionQueue queue;
  grpc::ChannelArguments small;  // so that it is not taken for the caller before that asks for it
  small.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  small.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1 << 16);
  grpc::GenericStub stub(TlsFiles::channel(endpoint(), tls_.certificateOf("submitter"), small));
  const auto stream = stub.PrepareCall(
      &context_, "/build.bazel.remote.execution.v2.ContentAddressableStorage/BatchReadBlobs", &queue);
  const auto step = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const std::string text = request.SerializeAsString();
  const grpc::Slice slice(text);
  stream->StartCall(nullptr);
  ASSERT_TRUE(step());
  stream->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
  ASSERT_TRUE(step());
  ASSERT_TRUE(untilWaiting(1));
  steady_.advance(CallLimits{}.patience * 4);
  EXPECT_EQ(calls_.endOverdue(), 1u);
  grpc::ByteBuffer answer;
  do stream->Read(&answer, nullptr);
  while (step());
  grpc::Status status;
  stream->Finish(&status, nullptr);
  step();
  EXPECT_FALSE(status.ok());
}

TEST_F(IdleCalls, AQuietWatchGoesOn) {
  ASSERT_TRUE(addToolchain(putToolchain(), "", nullptr, {}, true).ok());
  const auto known = worker("w1");
  v1::GetJobRequest request;
  request.set_instance(kGranted);
  request.set_id(submitted(this->request("k")).id());
  const auto stream = v1::JobService::NewStub(as("submitter"))->WatchJob(&context_, request);
  v1::Job job;
  ASSERT_TRUE(stream->Read(&job));
  ASSERT_TRUE(untilWaiting(0));
  steady_.advance(std::chrono::hours(10));
  EXPECT_EQ(calls_.endOverdue(), 0u);
  context_.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

}  // namespace
}  // namespace kiln::server::testing
