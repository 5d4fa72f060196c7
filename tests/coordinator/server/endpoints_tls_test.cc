// Lists of endpoints, and names of several addresses, within TLS: each server is checked by the name that the
// list has for it.
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <fstream>
#include <set>
#include <sstream>

#include "storage/remote/cas_service.h"
#include "storage/remote/endpoints.h"
#include "storage/remote/remote_blob_store.h"
#include "tests/support/memory_blob_store.h"
#include "tests/support/tls_files.h"

namespace kiln::server {
namespace {

std::string textOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// A coordinator, as far as bytes go.
class Farm {
 public:
  Farm(const testing_support::TlsFiles& files, storage::BlobStore& store, std::string host, int port = 0)
      : cas_(store) {
    grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    tls.pem_root_certs = textOf(files / "ca.pem");
    tls.pem_key_cert_pairs = {{textOf(files / "server.key"), textOf(files / "server.pem")}};
    grpc::ServerBuilder builder;
    builder.AddListeningPort(host + ":" + std::to_string(port), grpc::SslServerCredentials(tls), &port_);
    builder.RegisterService(&cas_);
    server_ = builder.BuildAndStart();
  }
  ~Farm() {
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
  }
  // 0 if it does not listen.
  int port() const { return server_ ? port_ : 0; }

 private:
  storage::CasService cas_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

class EndpointsTls : public testing::Test {
 protected:
  EndpointsTls() { files_.client("someone"); }
  storage::RemoteBlobStore remote(const std::string& list) {
    return storage::RemoteBlobStore(storage::Endpoints::open(list, files_.certificateOf("someone")).value());
  }
  // A connection that is just ending may cost calls, but no more than these.
  static void answers(storage::RemoteBlobStore& farm, const char* while_) {
    for (int failures = 0; !storage::hasBlob(farm, "default", digestOf("x")); ++failures)
      ASSERT_LT(failures, 20) << while_;
  }

  testing_support::TlsFiles files_;  // the server's certificate is for localhost and 127.0.0.1
  testing_support::MemoryBlobStore store_;
};

TEST_F(EndpointsTls, EachIsCheckedByItsOwnName) {
  const Farm other(files_, store_, "127.0.0.2"), named(files_, store_, "127.0.0.1");
  ASSERT_TRUE(other.port() && named.port());
  const std::string wrong = "127.0.0.2:" + std::to_string(other.port());
  const std::string right = "127.0.0.1:" + std::to_string(named.port());
  auto alone = remote(wrong);
  EXPECT_EQ(storage::hasBlob(alone, "default", digestOf("x")).error().code, Code::kUnavailable)
      << "its certificate is another host's";
  auto both = remote(wrong + "," + right);
  EXPECT_TRUE(storage::hasBlob(both, "default", digestOf("x")))
      << "the name of one does not stand for another";
}

TEST_F(EndpointsTls, ANameOfSeveralAddressesIsReachedAtAnyOfThem) {
  addrinfo* found = nullptr;
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  ASSERT_EQ(getaddrinfo("localhost", nullptr, &wanted, &found), 0);
  std::set<int> families;
  for (const addrinfo* one = found; one; one = one->ai_next) families.insert(one->ai_family);
  freeaddrinfo(found);
  std::optional<Farm> four(std::in_place, files_, store_, "127.0.0.1");
  const int port = four->port();
  std::optional<Farm> six(std::in_place, files_, store_, "[::1]", port);
  if (families.size() < 2 || !six->port()) GTEST_SKIP() << "localhost is no name of two addresses here";
  auto farm = remote("localhost:" + std::to_string(port));
  answers(farm, "both are there");
  six.reset();
  answers(farm, "127.0.0.1 alone is there");
  six.emplace(files_, store_, "[::1]", port);
  four.reset();
  answers(farm, "[::1] alone is there");
}

}  // namespace
}  // namespace kiln::server
