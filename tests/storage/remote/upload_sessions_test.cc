#include "storage/remote/upload_sessions.h"

#include <gtest/gtest.h>

#include <optional>

#include "storage/remote/codec_slots.h"
#include "tests/support/local_store_harness.h"
#include "tests/support/manual_clock.h"

namespace kiln::storage {
namespace {

using std::chrono::minutes;

const std::string kText = "a text that comes in two parts";

class UploadSessionsTest : public testing::Test {
 protected:
  static UploadLimits limits() {
    return {.kept = 5, .ofInstance = 3, .bytesOfInstance = 1000, .smallest = 4, .age = minutes(10)};
  }
  static ResourceName name(const std::string& upload, const std::string& text = kText,
                           const std::string& instance = "a") {
    return {instance, digestOf(text), upload, false};
  }
  // Sends the first bytes, then breaks off.
  void breakOff(const ResourceName& name, std::string_view bytes) {
    auto upload = sessions_.open(local_.store(), name, 0);
    ASSERT_TRUE(upload) << upload.error().message;
    ASSERT_TRUE((*upload)->write(asBytes(bytes)));
  }
  Code codeAt(const ResourceName& name, std::int64_t offset) {
    const auto upload = sessions_.open(local_.store(), name, offset);
    return upload ? Code() : upload.error().code;
  }
  std::size_t files() const { return filesBelow(local_.root() + "/tmp"); }

  testing_support::ManualClock clock_;
  LocalStoreHarness local_;
  UploadSessions sessions_{clock_, limits()};
};

TEST_F(UploadSessionsTest, AnUploadGoesOnWhereItBrokeOff) {
  breakOff(name("u"), kText.substr(0, 10));
  EXPECT_EQ(sessions_.received(name("u")), 10u);
  EXPECT_EQ(sessions_.received(name("other")), 0u);
  EXPECT_EQ(codeAt(name("u"), 9), Code::kInvalidArgument);
  EXPECT_EQ(codeAt(name("u"), 11), Code::kInvalidArgument);
  EXPECT_EQ(codeAt(name("other"), 10), Code::kInvalidArgument);
  EXPECT_EQ(codeAt(name("u", kText, "b"), 10), Code::kInvalidArgument) << "of another instance";
  {
    auto upload = sessions_.open(local_.store(), name("u"), 10);
    ASSERT_TRUE(upload) << upload.error().message;
    ASSERT_TRUE((*upload)->write(asBytes(std::string_view(kText).substr(10))));
    ASSERT_TRUE((*upload)->commit());
  }
  EXPECT_EQ(getBlob(local_.store(), "a", digestOf(kText), 100).value(), kText);
  EXPECT_EQ(sessions_.received(name("u")), 0u) << "done";
}

TEST_F(UploadSessionsTest, FromZeroItBeginsAgain) {
  breakOff(name("u"), kText.substr(0, 10));
  breakOff(name("u"), kText.substr(0, 5));
  EXPECT_EQ(sessions_.received(name("u")), 5u);
  EXPECT_EQ(files(), 1u);
}

TEST_F(UploadSessionsTest, TwoStreamsOfOneUploadAreToldApart) {
  auto first = sessions_.open(local_.store(), name("u"), 0);
  ASSERT_TRUE(first);
  ASSERT_TRUE((*first)->write(asBytes("a tex")));
  EXPECT_EQ(sessions_.received(name("u")), 5u);
  EXPECT_EQ(codeAt(name("u"), 5), Code::kUnavailable);
  auto second = sessions_.open(local_.store(), name("u"), 0);
  ASSERT_TRUE(second);
  ASSERT_TRUE((*second)->write(asBytes("a te")));
  first->reset();
  EXPECT_EQ(sessions_.received(name("u")), 4u) << "the one that began last counts";
  second->reset();
  EXPECT_EQ(sessions_.received(name("u")), 4u);
}

TEST_F(UploadSessionsTest, WhatFailedOrIsSmallIsNotKept) {
  breakOff(name("small"), "a t");
  EXPECT_EQ(sessions_.received(name("small")), 0u);
  {
    auto upload = sessions_.open(local_.store(), name("long"), 0);
    EXPECT_FALSE((*upload)->write(asBytes(kText + kText)));
    EXPECT_EQ((*upload)->write(asBytes("a")).error().code, Code::kFailedPrecondition);
  }
  {
    auto upload = sessions_.open(local_.store(), name("wrong"), 0);
    ASSERT_TRUE((*upload)->write(asBytes(std::string(kText.size(), 'x'))));
    EXPECT_EQ((*upload)->commit().error().code, Code::kInvalidArgument);
  }
  EXPECT_EQ(sessions_.received(name("long")), 0u);
  EXPECT_EQ(sessions_.received(name("wrong")), 0u);
  EXPECT_EQ(files(), 0u);
}

TEST_F(UploadSessionsTest, TheOldestGoesBeyondALimit) {
  for (const char* upload : {"1", "2", "3", "4"}) {
    breakOff(name(upload), "a text");
    clock_.advance(minutes(1));
  }
  EXPECT_EQ(sessions_.received(name("1")), 0u) << "at most three of an instance";
  EXPECT_EQ(sessions_.received(name("2")), 6u);
  EXPECT_EQ(files(), 3u);
  for (const char* upload : {"1", "2", "3"}) breakOff(name(upload, kText, "b"), "a text");
  EXPECT_EQ(sessions_.received(name("2")), 0u) << "at most five in all";
  EXPECT_EQ(files(), 5u);
}

TEST_F(UploadSessionsTest, WhatAnInstanceDeclaredIsBounded) {
  const std::string large(600, 'l');
  breakOff(name("1", large), "llllllll");
  clock_.advance(minutes(1));
  breakOff(name("2", large), "llllllll");
  EXPECT_EQ(sessions_.received(name("1", large)), 0u);
  EXPECT_EQ(sessions_.received(name("2", large)), 8u);
}

TEST_F(UploadSessionsTest, NothingIsKeptForLong) {
  breakOff(name("u"), "a text");
  clock_.advance(minutes(10));
  EXPECT_EQ(sessions_.received(name("u")), 6u);
  clock_.advance(Duration(1));
  sessions_.dropOld();
  EXPECT_EQ(files(), 0u);
  EXPECT_EQ(codeAt(name("u"), 6), Code::kInvalidArgument);
}

// A store with room for so many bytes that were declared and not yet committed.
class SmallStore final : public BlobStore {
 public:
  SmallStore(BlobStore& base, std::uint64_t room) : base_(base), room_(room) {}
  Result<std::unique_ptr<BlobWriter>> beginWrite(const std::string& instance, const Digest& digest) override {
    if (digest.size > room_) return fail(Code::kResourceExhausted, "full");
    room_ -= digest.size;
    KILN_ASSIGN(auto inner, base_.beginWrite(instance, digest));
    return std::make_unique<Writer>(std::move(inner), room_, digest.size);
  }
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const ByteSink& sink) override {
    return base_.read(instance, digest, offset, length, sink);
  }
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override {
    return base_.findMissing(instance, digests);
  }

 private:
  class Writer final : public BlobWriter {
   public:
    Writer(std::unique_ptr<BlobWriter> inner, std::uint64_t& room, std::uint64_t size)
        : inner_(std::move(inner)), room_(room), size_(size) {}
    ~Writer() override { room_ += size_; }
    Status write(Bytes bytes) override { return inner_->write(bytes); }
    Status commit() override { return inner_->commit(); }

   private:
    const std::unique_ptr<BlobWriter> inner_;
    std::uint64_t& room_;
    const std::uint64_t size_;
  };
  BlobStore& base_;
  std::uint64_t room_;
};

TEST_F(UploadSessionsTest, WhatBrokeOffMakesRoom) {
  SmallStore store(local_.store(), kText.size());
  UploadSessions sessions(clock_, limits());
  {
    auto upload = sessions.open(store, name("1"), 0);
    ASSERT_TRUE(upload);
    ASSERT_TRUE((*upload)->write(asBytes("a text")));
    EXPECT_EQ(sessions.open(store, name("2"), 0).error().code, Code::kResourceExhausted) << "one goes on";
  }
  EXPECT_EQ(sessions.open(store, name("b", kText, "b"), 0).error().code, Code::kResourceExhausted)
      << "not for other instances";
  EXPECT_TRUE(sessions.open(store, name("2"), 0));
  EXPECT_EQ(sessions.received(name("1")), 0u);
}

TEST(CodecSlots, OneInstanceLeavesOthersSome) {
  CodecSlots slots({.streams = 3, .ofInstance = 2, .patience = {}});
  std::optional<CodecSlots::Slot> first(slots.take("a").value());
  const auto second = slots.take("a");
  EXPECT_EQ(slots.take("a").error().code, Code::kResourceExhausted);
  {
    const auto other = slots.take("b");
    EXPECT_TRUE(other);
    EXPECT_FALSE(slots.take("b")) << "three in all";
  }
  EXPECT_TRUE(slots.take("b"));
  first.reset();
  EXPECT_TRUE(slots.take("a"));
}

}  // namespace
}  // namespace kiln::storage
