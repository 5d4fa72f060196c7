// Which further files an ONNX model needs: a bounded scan of the protobuf for external_data locations. It
// does not judge the model; what it cannot read it passes over, and the farm's compiler names what is wrong.
//
// Source: onnx.proto (TensorProto.external_data = 13, data_location = 14), onnx/docs/ExternalData.md.
#pragma once

#include <string>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::source {

// Locations as plain paths (externalPath), those that are none as the model states them; sorted, each once.
// kResourceExhausted when there are more than 65536 of them.
Result<std::vector<std::string>> externalLocations(Bytes model);

// The same for a file, mapped while it is scanned.
Result<std::vector<std::string>> externalLocationsOfFile(const std::string& path);

}  // namespace kiln::source
