// A small ToolchainLock; its inputs are the blobs "clang", "libc", "nvcc" and "source".
#pragma once

#include <string>

#include "manifest/base/digest.h"
#include "manifest/json/json.h"

namespace kiln::testing_support {

inline Json lockedInput(std::string_view bytes, Json members) {
  const Digest digest = digestOf(bytes);
  members["digest"] = digest.text();
  members["size"] = std::to_string(digest.size);
  return members;
}

inline Json sampleLock() {
  return {
      {"apiVersion", "kiln/v1"},
      {"kind", "ToolchainLock"},
      {"packages",
       {lockedInput("clang",
                    {{"architecture", "amd64"}, {"name", "clang-22"}, {"version", "1:22.1.8~++1-1"}}),
        lockedInput("libc", {{"architecture", "amd64"}, {"name", "libc6"}, {"version", "2.36-9+deb12u10"}})}},
      {"wheels", Json::array({lockedInput("nvcc", {{"name", "nvidia-cuda-nvcc"}, {"version", "13.0.88"}})})},
      {"source", lockedInput("source", {{"commit", std::string(40, 'a')}})}};
}

}  // namespace kiln::testing_support
