// A verified artifact in the layout that a model server takes: the server reads what the model is called and
// what it takes from files of its own, and Kiln's Python package runs it (api/python/kiln/serving).
//
// Sources of the formats: Triton Inference Server's documents "Model Repository" and "Model Configuration"
// (config.pbtxt is a ModelConfig in protobuf's text format); MLServer's "model-settings.json", which is
// KServe's runtime for models of Python, with the data types of the Open Inference Protocol (V2).
#pragma once

#include <string>

#include "api/node/open.h"

namespace kiln::client {

// Where the artifact lies in a model's folder: what `kiln fetch` leaves, which `kiln verify` takes in place.
inline constexpr char kServedFolder[] = "artifact";

enum class ServingLayout { kTriton, kKServe };

struct LayoutSummary {
  std::string artifact;  // the folder to verify
  std::uint64_t bytes = 0;
};

// `model`: the name that requests use, letters, digits and "._-". Triton: a repository of one model,
// DIR/MODEL/{config.pbtxt,1/model.py,1/artifact/}. KServe: what is mounted at /mnt/models,
// DIR/{model-settings.json,artifact/}. A dimension that may differ between runs is -1. The same artifact
// gives the same bytes; the directory appears only when it is complete. kAlreadyExists; kInvalidArgument for
// a name; kUnimplemented for an element type or a shape that the server's format has no word for; kDataLoss
// if a file changes meanwhile.
Result<LayoutSummary> exportLayout(const node::VerifiedArtifact& artifact, ServingLayout layout,
                                   const std::string& model, const std::string& destination);

// The servers' files. Pure.
Result<std::string> tritonConfig(const Manifest& manifest, const std::string& model);
Result<std::string> mlserverSettings(const Manifest& manifest, const std::string& model);

}  // namespace kiln::client
