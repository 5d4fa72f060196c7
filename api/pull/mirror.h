// Artifacts over HTTP: the OCI pull API of a mirror, or of whoever else serves one (api/gateway), as a source
// for a fetch. Nothing of what comes is believed: api/node verifies it.
#pragma once

#include <memory>
#include <string>

#include "api/node/fetch.h"
#include "signing/follow/http.h"
#include "signing/follow/log_source.h"

namespace kiln::pull {

// Thread safe, but for log(). Each request has a connection of its own.
class Mirror {
 public:
  // `url` is what "/v2/" and "/log/" follow: "https://mirror.example.org". kInvalidArgument for another form.
  static Result<std::unique_ptr<Mirror>> open(std::string url, std::string instance,
                                              signing::HttpCredentials credentials);
  ~Mirror();

  const std::string& url() const { return url_; }

  // What the mirror has of an artifact, asked for by its hash alone: where its bundles and fixtures are, and
  // the recalls that it offers. kNotFound; kPermissionDenied and kUnauthenticated with the mirror's words;
  // kUnavailable; kDataLoss (exitCode 5) for an answer that is too long, another than was asked for, or
  // cannot be read.
  Result<node::ArtifactRef> find(const Digest& artifact);

  // For node::fetchArtifact(): whole blobs, read once and not verified here. Errors as of find().
  storage::BlobStore& blobs() { return *blobs_; }

  signing::LogSource& log() { return *log_; }

 private:
  class Blobs;
  Mirror(std::string url, std::string instance, signing::HttpCredentials credentials);

  Result<std::string> getText(const std::string& path, std::uint64_t limit) const;
  Result<std::string> getManifest(const Digest& digest) const;
  Status takeReferrer(const std::string& manifest, node::ArtifactRef& ref) const;

  const std::string url_, instance_;
  const signing::HttpCredentials credentials_;
  std::unique_ptr<storage::BlobStore> blobs_;
  std::unique_ptr<signing::LogSource> log_;
};

}  // namespace kiln::pull
