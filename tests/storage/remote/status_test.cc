#include "storage/remote/status.h"

#include <gtest/gtest.h>

namespace kiln {
namespace {

const Error kUsedUp{Code::kResourceExhausted, "the quota is used up", R"({"retryAfterSeconds":60})"};

TEST(WireStatus, WhenToComeAgainTravels) {
  const Error back = fromGrpc(toGrpc(kUsedUp));
  EXPECT_EQ(back.code, Code::kResourceExhausted);
  EXPECT_EQ(back.message, kUsedUp.message);
  EXPECT_EQ(back.details, kUsedUp.details);
  EXPECT_EQ(fromGrpc(toGrpc(kUsedUp), "uploading").details, kUsedUp.details);
}

TEST(WireStatus, OfABatchLikewise) {
  const Status back = fromRpcStatus(toRpcStatus(fail(kUsedUp)));
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().message, kUsedUp.message);
  EXPECT_EQ(back.error().details, kUsedUp.details);
}

TEST(WireStatus, OtherDetailsStayWhereTheyAre) {
  EXPECT_EQ(fromGrpc(toGrpc(Error{Code::kNotFound, "no", R"({"retryAfterSeconds":60})"})).details, "");
  Error longOne = kUsedUp;
  longOne.details.assign(513, ' ');
  EXPECT_EQ(fromGrpc(toGrpc(longOne)).details, "");
}

TEST(WireStatus, WhatIsNoStatusSaysNothing) {
  const grpc::Status odd(grpc::StatusCode::RESOURCE_EXHAUSTED, "used up", "\xff\xff");
  EXPECT_EQ(fromGrpc(odd).details, "");
  EXPECT_EQ(fromGrpc(odd).message, "used up");
}

}  // namespace
}  // namespace kiln
