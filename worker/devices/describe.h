// Devices in words: `kiln-worker devices`.
#pragma once

#include <string>
#include <vector>

#include "kiln/v1/worker.pb.h"
#include "manifest/json/json.h"

namespace kiln::devices {

// {"devices":[...]}, with "missing" where a driver library shows none. No uuids.
Json toJson(const std::vector<v1::Device>& devices, const std::string& missing);
// A few lines per device.
std::string toText(const std::vector<v1::Device>& devices, const std::string& missing);

}  // namespace kiln::devices
