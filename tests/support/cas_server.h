// A CAS over gRPC on a Unix socket, in this process.
#pragma once

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "storage/remote/byte_stream_service.h"
#include "storage/remote/cas_service.h"
#include "storage/remote/wire_limits.h"
#include "tests/support/temp_directory.h"

namespace kiln::testing_support {

class CasServer {
 public:
  explicit CasServer(storage::BlobStore& store) : cas_(store), streams_(store) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address(), grpc::InsecureServerCredentials());
    builder.SetMaxReceiveMessageSize(storage::kMaxServerMessageBytes);
    builder.RegisterService(&cas_);
    builder.RegisterService(&streams_);
    server_ = builder.BuildAndStart();
  }
  ~CasServer() { stop(); }

  std::string address() const { return "unix:" + directory_.path() + "/cas.sock"; }
  std::shared_ptr<grpc::Channel> channel() const {
    return grpc::CreateChannel(address(), grpc::InsecureChannelCredentials());
  }
  void stop() {
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }

 private:
  TempDirectory directory_;
  storage::CasService cas_;
  storage::ByteStreamService streams_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace kiln::testing_support
