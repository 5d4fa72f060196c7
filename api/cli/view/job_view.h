// Jobs as the commands show them.
#pragma once

#include <string>

#include "kiln/v1/job.pb.h"
#include "manifest/base/result.h"
#include "manifest/json/json.h"

namespace kiln::cli {

Json builderJson(const v1::BuilderResult& builder);
Json jobJson(const v1::Job& job);
std::string timeText(const google::protobuf::Timestamp& time);  // RFC 3339, "" when unset

// What a job that has ended means for the command: its error, or success.
Status jobOutcome(const v1::Job& job);

}  // namespace kiln::cli
