// A directory of TLS certificates for tests, made with the openssl program as coordinator/README.md tells: an
// authority for servers and clients, and what it issued.
#pragma once

#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "signing/keys/certificate.h"
#include "storage/remote/channel.h"
#include "tests/support/temp_directory.h"

namespace kiln::testing_support {

// Not thread safe.
class TlsFiles {
 public:
  TlsFiles() {
    request("ca", "/O=Example/CN=Example CA", "-addext basicConstraints=critical,CA:TRUE");
    issue("server", "/O=Example/CN=farm", "-addext subjectAltName=DNS:localhost");
  }

  std::string operator/(const std::string& name) const { return directory_ / name; }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name) << text;
    return directory_ / name;
  }
  // NAME.pem and NAME.key for a client; RFC 2253 calls it "CN=name,O=people".
  void client(const std::string& name) { issue(name, "/O=people/CN=" + name, ""); }
  // NAME.pem and NAME.key, issued by the farm's worker authority.
  signing::Certificate worker(const std::string& name, const std::string& operatorName,
                              const signing::Authority& authority, TimePoint now) {
    const auto key = signing::PrivateKey::create().value();
    auto certificate = authority.issue(name, operatorName, key.publicKey(), now).value();
    write(name + ".pem", certificate.pem());
    EXPECT_TRUE(key.save(directory_ / (name + ".key")));
    return certificate;
  }
  // A token in a file that only this user can read.
  std::string token(const std::string& name, const std::string& text) {
    write(name, text);
    std::filesystem::permissions(directory_ / name, std::filesystem::perms(0600));
    return directory_ / name;
  }

  storage::ClientCredentials certificateOf(const std::string& name) const {
    return {.ca = directory_ / "ca.pem",
            .certificate = directory_ / (name + ".pem"),
            .key = directory_ / (name + ".key"),
            .token = ""};
  }
  storage::ClientCredentials tokenIn(const std::string& file) const {
    return {.ca = directory_ / "ca.pem", .certificate = "", .key = "", .token = file};
  }
  // With a connection of its own.
  static std::shared_ptr<grpc::Channel> channel(const std::string& endpoint,
                                                const storage::ClientCredentials& credentials) {
    grpc::ChannelArguments arguments;
    arguments.SetInt("grpc.use_local_subchannel_pool", 1);
    const auto made = storage::channelCredentials(endpoint, credentials);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return grpc::CreateCustomChannel(endpoint, *made, arguments);
  }

 private:
  void issue(const std::string& name, const std::string& subject, const std::string& more) {
    request(name, subject, "-CA ca.pem -CAkey ca.key -addext basicConstraints=critical,CA:FALSE " + more);
  }
  void request(const std::string& name, const std::string& subject, const std::string& more) {
    const std::string command =
        "cd " + directory_.path() +
        " && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
        " -days 365 -keyout " +
        name + ".key -out " + name + ".pem -subj '" + subject + "' " + more + " 2>openssl.log && chmod 600 " +
        name + ".key";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }

  TempDirectory directory_;
};

}  // namespace kiln::testing_support
