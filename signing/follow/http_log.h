// A log over HTTP alone. Apart from openLogSource(), so that whoever has another httpGet() than libcurl's
// (the Python package) links nothing of S3 and libcurl.
#pragma once

#include <memory>
#include <string>

#include "signing/follow/log_source.h"

namespace kiln::signing {

// As openLogSource() of an http or https URL.
std::unique_ptr<LogSource> openHttpLog(const std::string& url, HttpCredentials credentials);

}  // namespace kiln::signing
