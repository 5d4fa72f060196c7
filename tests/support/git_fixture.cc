#include "tests/support/git_fixture.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

// Read by LeakSanitizer, if there is one: libgit2 1.5 never frees the match data of its regular expressions.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libpcre2";
}

namespace kiln::testing_support {
namespace {

[[noreturn]] void giveUp(const std::string& why) {
  fmt::print(stderr, "git fixture: {}\n", why);
  std::abort();
}

}  // namespace

GitFixture::GitFixture() {
  std::filesystem::create_directory(directory());
  git("init -q -b main");
}

std::string GitFixture::git(const std::string& arguments) {
  std::string line = fmt::format(
      "cd '{}' && GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null git -c user.name=test -c "
      "user.email=t@example.org "
      "-c protocol.file.allow=always {}",
      directory(), arguments);
  FILE* pipe = ::popen(line.c_str(), "re");
  if (!pipe) giveUp("popen");
  std::string output;
  char buffer[4096];
  while (std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, got);
  if (::pclose(pipe) != 0) giveUp("failed: git " + arguments);
  if (output.ends_with('\n')) output.pop_back();
  return output;
}

void GitFixture::add(const std::string& path, const std::string& text) {
  std::filesystem::path full = directory() + "/" + path;
  std::filesystem::create_directories(full.parent_path());
  std::ofstream(full, std::ios::binary) << text;
  git("add '" + path + "'");
}

std::string GitFixture::largeObject(const Digest& object) const {
  const std::string hex = object.hex();
  return fmt::format("{}/.git/lfs/objects/{}/{}/{}", directory(), hex.substr(0, 2), hex.substr(2, 2), hex);
}

Digest GitFixture::addLarge(const std::string& path, const std::string& bytes) {
  const Digest object = digestOf(bytes);
  const std::filesystem::path file = largeObject(object);
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
  add(path, fmt::format("version https://git-lfs.github.com/spec/v1\noid {}\nsize {}\n", object.text(),
                        object.size));
  return object;
}

std::string GitFixture::commit(const std::string& message) {
  git("commit -q -m '" + message + "'");
  return git("rev-parse HEAD");
}

GitHttpServer::GitHttpServer(const std::string& directory, const std::string& token) {
  std::string portFile = directory_ / "port";
  std::string line = fmt::format("python3 '{}/tests/support/git_http_server.py' '{}' '{}' {}",
                                 KILN_SOURCE_DIR, directory, portFile, token);
  pipe_ = ::popen(line.c_str(), "we");
  for (int tries = 0; tries < 1000 && ::access(portFile.c_str(), F_OK) != 0; ++tries) ::usleep(10'000);
  std::string port;
  std::ifstream(portFile) >> port;
  if (port.empty()) giveUp("the HTTP server did not start");
  host_ = "127.0.0.1:" + port;
}

GitHttpServer::~GitHttpServer() {
  ::pclose(pipe_);
}

}  // namespace kiln::testing_support
