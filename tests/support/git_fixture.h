// A git repository made by the git program, and a server for it.
#pragma once

#include <string>

#include "manifest/base/digest.h"
#include "tests/support/temp_directory.h"

namespace kiln::testing_support {

// A working repository in a temporary directory. Its user's configuration is not looked at. Aborts if git
// fails.
class GitFixture {
 public:
  GitFixture();
  // Writes a file (directories come into being) and stages it.
  void add(const std::string& path, const std::string& text);
  // Runs "git ARGUMENTS" in the repository; what it printed, without the last newline.
  std::string git(const std::string& arguments);
  // Stages a Git LFS pointer in the place of a file, and puts the bytes where git-lfs keeps them; the object.
  Digest addLarge(const std::string& path, const std::string& bytes);
  // Where git-lfs keeps an object of this repository.
  std::string largeObject(const Digest& object) const;
  // Commits what is staged; the commit's id.
  std::string commit(const std::string& message = "change");
  std::string directory() const { return directory_ / "work"; }

 private:
  TempDirectory directory_;
};

// Serves the repositories below `directory` over HTTP on the loopback interface while it lives.
class GitHttpServer {
 public:
  explicit GitHttpServer(const std::string& directory, const std::string& token = "");
  ~GitHttpServer();
  // "127.0.0.1:PORT"
  const std::string& host() const { return host_; }

 private:
  TempDirectory directory_;
  std::string host_;
  FILE* pipe_;
};

}  // namespace kiln::testing_support
