// Sends OCI image layouts (an export, a container image of the same artifact) to a registry.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "api/registry/session.h"
#include "storage/oci/oci_layout_store.h"

namespace kiln::registry {

// Some tenths of a second, each time another.
void pauseBetweenWrites();

struct PushSummary {
  std::size_t manifests = 0, blobs = 0;  // that the registry holds now
  std::size_t sent = 0;                  // of the blobs, those that were not there
  std::uint64_t bytes = 0;               // sent
};

// Every manifest that the layout's index lists, with its blobs before it: what stands first in the index
// first, so that a registry knows an artifact before what refers to it. Bundles are sent with the annotations
// by which cosign finds them. A registry that does not list what refers to a subject gets the index that
// clients look for then, under the tag "sha256-<hex>", beside what already stands in it; after `pause` it is
// read again, and written again where another push at the same time has taken this one's entries out.
// Whatever broke off goes on with the next push. Errors as Session's, and the store's; kInvalidArgument for a
// layout that is malformed; kUnavailable if others do not cease to overwrite that index.
Result<PushSummary> pushLayout(Session& session, const storage::OciLayoutStore& layout,
                               const std::string& directory,
                               const std::function<void()>& pause = pauseBetweenWrites);

// The layout's first manifest gets this tag; whatever had it before loses it. Last of all, so that a tag
// never names what is not whole.
Status tagFirst(Session& session, const storage::OciLayoutStore& layout, const std::string& tag);

}  // namespace kiln::registry
