#include "tests/support/s3_server.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <thread>

#include "tests/support/child_process.h"
#include "tests/support/fake_s3.h"
#include "tests/support/temp_directory.h"

namespace kiln::testing_support {
namespace {

constexpr char kBucket[] = "kiln-test";
const s3::Credentials kKeys{"AKIDKILNTEST", "secret/kiln+test", ""};

std::string programOf(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? value : "";
}

int freePort() {
  const auto [socket, port] = listenOnLoopback();
  ::close(socket);
  return port;
}

class Fake final : public S3Server {
 public:
  Fake() : S3Server("Fake") {}
  int port() const override { return listener_.port(); }

 private:
  FakeS3 fake_;
  HttpListener listener_{[this](const HttpSeen& seen) { return fake_.answer(seen); }};
};

class Program final : public S3Server {
 public:
  Program(std::string name, const std::string& program) : S3Server(std::move(name)), port_(freePort()) {
    std::vector<std::string> command{program, "-H", "127.0.0.1", "-p", std::to_string(port_)};
    if (this->name() == "Versity") {
      command = {program, "--port", fmt::format("127.0.0.1:{}", port_), "posix", directory_ / "data"};
      std::filesystem::create_directory(directory_ / "data");
    }
    process_ =
        std::make_unique<ChildProcess>(command, directory_ / "log",
                                       std::vector<std::string>{"ROOT_ACCESS_KEY=" + kKeys.accessKeyId,
                                                                "ROOT_SECRET_KEY=" + kKeys.secretAccessKey});
    makeBucket();
  }
  int port() const override { return port_; }

 private:
  TempDirectory directory_;
  const int port_;
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace

s3::ClientOptions S3Server::options(const std::string& prefix, int port) const {
  s3::ClientOptions out;
  out.location = s3::Location::parse(fmt::format("s3://{}/{}?endpoint=http://127.0.0.1:{}", kBucket, prefix,
                                                 port == 0 ? this->port() : port))
                     .value();
  out.credentials = std::shared_ptr<s3::CredentialSource>(s3::fixedCredentials(kKeys).value());
  out.timeouts.stall = std::chrono::seconds(120);  // a machine under load is no fault
  out.retry.giveUpAfter = std::chrono::minutes(10);
  out.retry.firstPause = std::chrono::milliseconds(10);
  out.retry.longestPause = std::chrono::milliseconds(50);
  return out;
}

void S3Server::makeBucket() {
  const s3::ClientOptions direct = options("");
  s3::Transport transport(direct.location, direct.credentials, direct.timeouts);
  s3::Request make;
  make.method = "PUT";
  make.url = direct.location.endpoint + "/" + kBucket;
  make.body = s3::Body{};
  make.bodyHash = digestOf("").hash;
  std::string said = "nothing";
  for (int i = 0; i < 3000; ++i) {
    const auto answer = transport.exchange(make);
    if (answer && answer->status == 200) return;
    said = answer ? fmt::format("{} {}", answer->status, answer->body) : answer.error().error.message;
    if (answer && answer->status < 500) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  fmt::print(stderr, "S3 server {}: no bucket: {}\n", name_, said);
  std::abort();
}

std::vector<std::string> s3ServersAtHand() {
  std::vector<std::string> out{"Fake"};
  if (!programOf("KILN_MOTO_SERVER").empty()) out.push_back("Moto");
  if (!programOf("KILN_VERSITYGW").empty()) out.push_back("Versity");
  return out;
}

S3Server& s3Server(const std::string& name) {
  static std::map<std::string, std::unique_ptr<S3Server>> servers;
  std::unique_ptr<S3Server>& server = servers[name];
  if (!server && name == "Fake") server = std::make_unique<Fake>();
  if (!server)
    server =
        std::make_unique<Program>(name, programOf(name == "Moto" ? "KILN_MOTO_SERVER" : "KILN_VERSITYGW"));
  return *server;
}

}  // namespace kiln::testing_support
