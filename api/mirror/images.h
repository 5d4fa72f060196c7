// The container images that a farm has made of an artifact, by its own signed statements.
#pragma once

#include <vector>

#include "api/gateway/image.h"
#include "api/node/fetch.h"

namespace kiln::mirror {

// Of an artifact that was verified with this verdict, from the bundles that are `here`: those whose statement
// counts, and of which all that goes into them is among `ref`'s bundles. Errors of the store.
Result<std::vector<gateway::PublishedImage>> imagesOf(storage::BlobStore& here, const node::ArtifactRef& ref,
                                                      const signing::Verdict& verdict);

}  // namespace kiln::mirror
