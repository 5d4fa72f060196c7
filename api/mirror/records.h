// What a mirror notes beside the blobs that it holds. Canonical JSON in the mirror's own directory; whoever
// may write there could write anything, so that nothing of it is believed of an artifact: that is verified
// again before it is served.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/gateway/image.h"
#include "manifest/artifact/fixture_list.h"
#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "manifest/base/result.h"
#include "manifest/spec/compile_spec.h"

namespace kiln::mirror {

// An artifact that was verified whole when it came.
struct ArtifactRecord {
  Digest artifact;              // its OCI image manifest
  std::vector<Digest> files;    // its config and layers, each once
  std::vector<Digest> bundles;  // oldest first, as the farm lists them
  std::vector<FixtureFile> fixtures;
  std::vector<gateway::PublishedImage> images = {};  // of this artifact, in the order of their bundles
  std::vector<ModelFile> ir = {};                    // of this artifact: the files of its IR, by path

  bool operator==(const ArtifactRecord&) const = default;
  std::string text() const;
  // kInvalidArgument naming the member. One of an earlier release says nothing of images and IR.
  static Result<ArtifactRecord> parse(std::string_view text);
};

// How far a mirror has come. `artifact` keys below are "sha256:<hex>".
struct State {
  std::uint64_t generation = 0;  // grows with each update, so that whoever serves looks again
  TimePoint asked{};             // when the farm was last asked for all that is new, and answered
  bool walked = false;           // all artifacts that were there at the first update have been looked at
  std::string pageToken;         // until then, where to go on; "" at the beginning
  std::uint64_t looked = 0;      // entries of the farm's log whose artifacts were looked at
  std::uint64_t tiles = 0;       // entries whose tiles are here and proven; at least those of the checkpoint
  std::string basis;             // digest of root, policy and recalls that `refused` rests on
  std::map<std::string, std::string> refused;  // artifact -> why it was not taken
  std::map<std::string, TimePoint> lookAgain;  // artifact -> until when: its statements are on their way

  std::string text() const;
  // kInvalidArgument naming the member.
  static Result<State> parse(std::string_view text);
};

}  // namespace kiln::mirror
