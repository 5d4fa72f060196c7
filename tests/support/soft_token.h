// SoftHSM 2 with tokens of a test's own. Where it is not installed, available() says so.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_directory.h"

namespace kiln::testing_support {

// One at a time: SoftHSM finds its tokens through the environment.
class SoftToken {
 public:
  static constexpr char kModule[] = "/usr/lib/softhsm/libsofthsm2.so";

  static bool available() {
    return std::filesystem::exists(kModule) && std::system("command -v softhsm2-util >/dev/null") == 0;
  }

  SoftToken() {
    std::filesystem::create_directory(tokens());
    std::ofstream(directory_ / "softhsm2.conf")
        << "directories.tokendir = " << tokens() << "\nlog.level = ERROR\n";
    ::setenv("SOFTHSM2_CONF", (directory_ / "softhsm2.conf").c_str(), 1);
    setPin("1234");
  }

  // Whether softhsm2-util made it.
  bool add(const std::string& label) const {
    const std::string command =
        "softhsm2-util --init-token --free --so-pin 5678 --pin 1234 --label '" + label + "' >/dev/null 2>&1";
    return std::system(command.c_str()) == 0;
  }
  void setPin(const std::string& pin) const {
    std::filesystem::remove(pinFile());
    std::ofstream(pinFile()) << pin << "\n";
    std::filesystem::permissions(pinFile(), std::filesystem::perms(0600));
  }

  std::string tokens() const { return directory_ / "tokens"; }
  std::string pinFile() const { return directory_ / "pin"; }
  // "pkcs11:token=LABEL;KEY?…"
  std::string uri(const std::string& token, const std::string& key) const {
    return "pkcs11:token=" + token + ";" + key + "?module-path=" + kModule + "&pin-source=" + pinFile();
  }

 private:
  TempDirectory directory_;
};

}  // namespace kiln::testing_support
