// Where the Git LFS server of a repository is, and where the addresses lead that it gives.
#pragma once

#include <string>

#include "manifest/base/result.h"
#include "storage/source/git_url.h"

namespace kiln::lfs {

// "https://HOST[:PORT]/REPOSITORY.git/info/lfs", as git-lfs finds it by default
// (docs/api/server-discovery.md); of an ssh URL by https on its host, without its port, which is ssh's.
// What `.lfsconfig` says is lfs_config.h's. Of scheme https, or http where `url` has it.
source::GitUrl serverOf(const source::GitUrl& url);

// The same as text.
std::string textOf(const source::GitUrl& server);

// Scheme, host and port of an address, found by libcurl, which is to fetch it: what is checked is what is
// connected to. The port is empty where it is the scheme's own; the path is left empty. kDataLoss for what is
// no http or https URL, or holds a user.
Result<source::GitUrl> placeOf(const std::string& href);

// Where `reference`, as it stands in an answer, leads from the address `from`; "" where it leads nowhere.
std::string resolved(const std::string& from, const std::string& reference);

// Whether scheme, host and port are the same.
bool isSameServer(const source::GitUrl& a, const source::GitUrl& b);

}  // namespace kiln::lfs
