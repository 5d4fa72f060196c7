// Who calls over HTTP, as it travels with the call within the process.
#include "coordinator/access/relayed_caller.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

namespace kiln::access {
namespace {

// What a server of this process learns of a call.
class Relayed {
 public:
  explicit Relayed(const Credentials& shown) {
    grpc::ServerBuilder builder;
    builder.RegisterAsyncGenericService(&service_);
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    service_.RequestCall(&context, &stream_, queue_.get(), queue_.get(), nullptr);
    relay(shown, call_);
    outgoing_ = grpc::GenericStub(server_->InProcessChannel({})).PrepareCall(&call_, "/a.B/C", &sent_);
    outgoing_->StartCall(nullptr);
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue_->Next(&tag, &ok) && ok);
  }
  ~Relayed() {
    call_.TryCancel();
    server_->Shutdown(std::chrono::system_clock::now());
    queue_->Shutdown();
    sent_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) {
    }
    while (sent_.Next(&tag, &ok)) {
    }
  }
  grpc::GenericServerContext context;

 private:
  grpc::AsyncGenericService service_;
  grpc::GenericServerAsyncReaderWriter stream_{&context};
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  grpc::ClientContext call_;
  grpc::CompletionQueue sent_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> outgoing_;
};

TEST(RelayedCaller, ArrivesAsItWasShown) {
  const Relayed relayed({.local = false,
                         .certificate = "-----BEGIN CERTIFICATE-----\n",
                         .authorizations = {"Bearer a", std::string("\0\n\xff", 3)},
                         .address = "192.0.2.1"});
  const Credentials got = relayedCredentials(relayed.context);
  EXPECT_FALSE(got.local);
  EXPECT_EQ(got.certificate, "-----BEGIN CERTIFICATE-----\n");
  EXPECT_EQ(got.authorizations, (std::vector<std::string>{"Bearer a", std::string("\0\n\xff", 3)}));
  EXPECT_EQ(got.address, "192.0.2.1");
  const Credentials plain = credentialsOf(relayed.context);
  EXPECT_FALSE(plain.local);
  EXPECT_TRUE(plain.certificate.empty() && plain.authorizations.empty())
      << "nobody to whoever does not ask for it";
}

TEST(RelayedCaller, NothingShownIsNothing) {
  const Relayed relayed(Credentials{});
  const Credentials got = relayedCredentials(relayed.context);
  EXPECT_FALSE(got.local);
  EXPECT_TRUE(got.certificate.empty() && got.authorizations.empty() && got.address.empty());
  EXPECT_TRUE(relayedCredentials(Relayed({.local = true}).context).local);
}

}  // namespace
}  // namespace kiln::access
