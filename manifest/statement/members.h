// Members that several predicates have: digests as objects, times.
#pragma once

#include <string_view>

#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "manifest/json/reader.h"

namespace kiln {

// {"digest","size"}
Json digestMember(const Digest& digest);
Result<Digest> readDigestMember(ObjectReader& parent, std::string_view name);
// RFC 3339.
Result<TimePoint> readTimeMember(ObjectReader& reader, std::string_view name);

}  // namespace kiln
