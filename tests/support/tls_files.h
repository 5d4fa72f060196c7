// A directory of TLS certificates for tests, made with the openssl program as coordinator/ACCESS.md tells: an
// authority for servers and clients, and what it issued.
#pragma once

#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "manifest/json/json.h"
#include "signing/keys/certificate.h"
#include "storage/remote/channel.h"
#include "tests/support/temp_directory.h"

namespace kiln::testing_support {

// Not thread safe.
class TlsFiles {
 public:
  TlsFiles() { renew(); }

  // Another authority, and a server's certificate from it.
  void renew() {
    request("ca", "/O=Example/CN=Example CA", "-addext basicConstraints=critical,CA:TRUE");
    server("server");
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
  // As an access file names NAME.pem: {"issuer": …, "serial": …}.
  Json idOf(const std::string& name) const {
    const std::string text = directory_ / "id";
    const std::string command = "openssl x509 -noout -issuer -serial -nameopt RFC2253 -in " +
                                (directory_ / (name + ".pem")) + " > " + text;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    std::ifstream file(text);
    std::string issuer, serial;
    std::getline(file, issuer);
    std::getline(file, serial);
    return {{"issuer", issuer.substr(issuer.find('=') + 1)}, {"serial", serial.substr(serial.find('=') + 1)}};
  }
  // A server's certificate NAME.pem, for "localhost" and 127.0.0.1.
  void server(const std::string& name) {
    issue(name, "/O=Example/CN=" + name, "-addext subjectAltName=DNS:localhost,IP:127.0.0.1");
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
                                                const storage::ClientCredentials& credentials,
                                                grpc::ChannelArguments arguments = {}) {
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
