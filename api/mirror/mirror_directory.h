// A mirror's directory:
//
//   mirror.json             what this is, and of which instance
//   lock                    flock'd while it is updated
//   state.json              how far it has come (records.h)
//   recalls.json            the newest recalls that are known
//   artifacts/<hex>.json    a record per artifact
//   blobs/                  a local blob store (storage/blob/store_directory.h)
//   log/                    the log's tiles and checkpoint (signing/follow/tile_directory.h)
//
// Every file is replaced as a whole, blobs and tiles before what names them: killed anywhere, an update
// leaves a mirror that serves what it served before, and the next one goes on.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/mirror/records.h"
#include "manifest/base/file.h"

namespace kiln::mirror {

// Thread safe for reading; one process at a time writes.
class MirrorDirectory {
 public:
  // Makes what is missing, and holds the lock until destruction. kUnavailable while another process updates
  // it, kFailedPrecondition if it is a mirror of another instance, or no mirror and not empty.
  static Result<MirrorDirectory> openForUpdate(const std::string& path, const std::string& instance);
  // For serving. kNotFound if there is no mirror.
  static Result<MirrorDirectory> open(const std::string& path);

  const std::string& instance() const { return instance_; }
  std::string blobs() const { return path_ + "/blobs"; }
  std::string log() const { return path_ + "/log"; }

  // An empty one before the first update. kDataLoss if it is damaged.
  Result<State> state() const;
  // Whether state.json is the file that it was at the last call.
  bool stateChanged();
  // "" if there are none.
  Result<std::string> recalls() const;
  // nullopt if there is none. kDataLoss if it is damaged, or of another artifact.
  Result<std::optional<ArtifactRecord>> record(const Digest& artifact) const;
  // Each record, in no order; a damaged one is passed over and told to `damaged`.
  Status eachRecord(const std::function<void(ArtifactRecord)>& take,
                    const std::function<void(const Error&)>& damaged) const;

  // How many records there are, damaged ones too.
  Result<std::uint64_t> count() const;

  // Durable on return.
  Status save(const State& state) const;
  Status save(const ArtifactRecord& record) const;
  Status saveRecalls(const std::string& recalls) const;

 private:
  MirrorDirectory(std::string path, std::string instance)
      : path_(std::move(path)), instance_(std::move(instance)) {}
  std::string recordPath(const Digest& artifact) const;
  Status eachName(const std::function<void(const Digest&)>& take) const;

  std::string path_, instance_;
  UniqueFd lock_;
  std::string seen_;  // which state.json stateChanged() has seen
};

}  // namespace kiln::mirror
