// Which hosts may be fetched from.
#pragma once

#include <string>
#include <vector>

#include "storage/source/git_url.h"

namespace kiln::source {

// `allowed` holds host names ("git.example.org"), with a port where it is not the scheme's own
// ("git.example.org:8443"), or "*" for every host whose addresses are all public. A host that is named is
// trusted wherever it is: loopback, private and link-local addresses are reached only by name.
// kPermissionDenied says what to do; kUnavailable if the name does not resolve.
//
// With "*" the name is resolved here and again by the connection: a DNS server that answers differently in
// between is not caught, so farms that others can submit to name their hosts.
Status checkHost(const GitUrl& url, const std::vector<std::string>& allowed);

// Whether `allowed` has the host by its name, so that any address of it may be reached.
bool isNamed(const GitUrl& url, const std::vector<std::string>& allowed);

// True for addresses of the public internet (IPv4 and IPv6 text); false for all special ranges and for what
// is no address.
bool isPublicAddress(const std::string& address);

}  // namespace kiln::source
