// Where a program serves over TCP, as its options say it.
#pragma once

#include <cstdint>
#include <string>

#include "manifest/base/result.h"

namespace kiln::serving {

struct HostPort {
  std::string host;  // an IPv6 address keeps its brackets: "[::1]"
  std::uint16_t port = 0;
};

// "HOST:PORT". kInvalidArgument for anything else; whether there is such a host is not asked.
Result<HostPort> parseHostPort(const std::string& text);

// Writes the port, in decimal and with a newline, for whoever let the system choose it. Nothing for the path
// "". kPermissionDenied, naming the option `flag`, if that cannot be written.
Status writePortFile(const char* flag, const std::string& path, std::uint16_t port);

}  // namespace kiln::serving
