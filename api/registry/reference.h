// A place in an OCI registry, as people write it: HOST[:PORT]/REPOSITORY[:TAG].
//
// Source: OCI distribution-spec 1.1, "Pulling manifests" (the forms of a repository's name and of a tag).
#pragma once

#include <string>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln::registry {

struct Reference {
  std::string host;        // with its port, as it was written
  std::string repository;  // "team/model"
  std::string tag;         // "" for none: what is pushed is found by its digest alone

  // kInvalidArgument says which part is wrong. A digest in the place of a tag is refused: the pushed content
  // decides it. HOST must have a dot or a port, or be "localhost", so that no default registry is guessed.
  static Result<Reference> parse(std::string_view text);

  // Whether the host is this machine by name or by a loopback address.
  bool isLocal() const;
  // "HOST/REPOSITORY", for messages and in front of "@sha256:…".
  std::string place() const { return host + "/" + repository; }
};

}  // namespace kiln::registry
