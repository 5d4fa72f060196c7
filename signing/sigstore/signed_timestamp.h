// What a timestamp authority says: these bytes were there at this time. OpenSSL checks it (TS_RESP_verify).
// Source: RFC 3161.
#pragma once

#include <span>
#include <string_view>

#include "signing/sigstore/trusted_root.h"

namespace kiln::signing {

// When the authority saw `message`, by a TimeStampResp in DER. kDataLoss unless it is by the certificate of
// one of `authorities`, valid and at work at that time.
Result<TimePoint> checkTimestamp(std::string_view response, std::string_view message,
                                 std::span<const KnownTimestampAuthority> authorities);

}  // namespace kiln::signing
