// Whom an operator of Sigstore asks to be believed: authorities of certificates and of time, logs of
// signatures and of certificates, each with the time when it was at work. Whoever checks names the file.
// Source: sigstore/protobuf-specs, TrustedRoot of sigstore_trustroot.proto in its JSON form, version 0.1.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "signing/sigstore/log_key.h"
#include "signing/x509/chain.h"

namespace kiln::signing {

struct KnownAuthority {
  CertificateRoots roots;
  ValidFor validFor;
};

struct KnownTimestampAuthority {
  X509Certificate signer;
  CertificateRoots roots;
  ValidFor validFor;
};

struct TrustedRoot {
  std::vector<KnownAuthority> certificateAuthorities;  // at least one
  std::vector<KnownTimestampAuthority> timestampAuthorities;
  std::vector<KnownLog> logs;             // of signatures (Rekor)
  std::vector<KnownLog> certificateLogs;  // where authorities show what they issue

  // kInvalidArgument naming the member; members that the format does not know are not read. At most 64 of
  // each kind.
  static Result<TrustedRoot> parse(std::string_view text);
};

// The roots of a file as readTrustFile() takes it: one as JSON, or 1 to 16 as JSON lines, which
// `gh attestation trusted-root` writes. Each stands for itself: what one vouches for, another's log does not
// witness. Errors name the path.
Result<std::vector<TrustedRoot>> loadTrustedRoots(const std::string& path);
Result<std::vector<TrustedRoot>> parseTrustedRoots(std::string_view text);

}  // namespace kiln::signing
