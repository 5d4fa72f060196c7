// What is generated for an RPC, and that the build ends at one that nobody may call.
#include "coordinator/server/guard_generator.h"

#include <gtest/gtest.h>

namespace kiln::server {
namespace {

namespace pb = google::protobuf;

// A file of kiln.v1 whose service `service` has `method`, of a message Ask to a message Answer.
pb::FileDescriptorSet protosWith(const std::string& service, const std::string& method) {
  pb::FileDescriptorSet out;
  pb::FileDescriptorProto& file = *out.add_file();
  file.set_name("kiln/v1/sample.proto");
  file.set_package("kiln.v1");
  file.set_syntax("proto3");
  for (const char* message : {"Ask", "Answer"}) file.add_message_type()->set_name(message);
  pb::ServiceDescriptorProto& added = *file.add_service();
  added.set_name(service);
  pb::MethodDescriptorProto& rpc = *added.add_method();
  rpc.set_name(method);
  rpc.set_input_type(".kiln.v1.Ask");
  rpc.set_output_type(".kiln.v1.Answer");
  return out;
}

pb::MethodDescriptorProto& methodOf(pb::FileDescriptorSet& protos) {
  return *protos.mutable_file(0)->mutable_service(0)->mutable_method(0);
}

TEST(GuardGenerator, PutsEveryRpcThroughTheGate) {
  const auto header = generateGuards(protosWith("JobService", "GetJob"));
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(*header, R"(// Every RPC through the gate; written by kiln-generate-guards from the protos.
#pragma once

#include "coordinator/server/guard.h"
#include "kiln/v1/sample.grpc.pb.h"

namespace kiln::server {

class GuardedJobService : public Guard<::kiln::v1::JobService> {
 public:
  using Guard::Guard;
  ::grpc::Status GetJob(::grpc::ServerContext* context, const ::kiln::v1::Ask* request, ::kiln::v1::Answer* out) override {
    return pass("GetJob", &Inner::GetJob, context, request, out);
  }
};

}  // namespace kiln::server
)");
}

TEST(GuardGenerator, PassesTheStreamOfAnAnswer) {
  pb::FileDescriptorSet protos = protosWith("JobService", "WatchJob");
  methodOf(protos).set_server_streaming(true);
  const auto header = generateGuards(protos);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_NE(header->find("::grpc::ServerWriter<::kiln::v1::Answer>* out"), std::string::npos) << *header;
}

TEST(GuardGenerator, RefusesAnRpcWithoutARow) {
  for (const auto& [service, method] :
       {std::pair("JobService", "ForgetJob"), std::pair("NewService", "GetJob")}) {
    const auto header = generateGuards(protosWith(service, method));
    ASSERT_FALSE(header) << *header;
    EXPECT_EQ(header.error().code, Code::kFailedPrecondition);
    EXPECT_EQ(header.error().message, std::string("kiln.v1.") + service + "/" + method +
                                          " has no row in coordinator/access/rpc_table.cc");
  }
}

TEST(GuardGenerator, RefusesAStreamOfRequests) {
  pb::FileDescriptorSet protos = protosWith("JobService", "GetJob");
  methodOf(protos).set_client_streaming(true);
  const auto header = generateGuards(protos);
  ASSERT_FALSE(header) << *header;
  EXPECT_EQ(header.error().code, Code::kUnimplemented);
}

TEST(GuardGenerator, LeavesOutWhatIsServedElsewhere) {
  const auto header = generateGuards(protosWith("SignerService", "Sign"));
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->find("class"), std::string::npos) << *header;
}

TEST(GuardGenerator, RefusesWhatDoesNotStandOnItsOwn) {
  pb::FileDescriptorSet protos = protosWith("JobService", "GetJob");
  methodOf(protos).set_input_type(".kiln.v1.Nothing");
  EXPECT_FALSE(generateGuards(protos));
}

}  // namespace
}  // namespace kiln::server
