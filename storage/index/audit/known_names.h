// Whether the farm has ever seen what a question names, also where no statement mentions it; and what the
// first digits of a digest stand for.
#pragma once

#include <string>
#include <vector>

#include "manifest/base/short_digest.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

// Whether anything was ever done in the instance: a toolchain added, a job submitted, a statement made.
Result<bool> isInUse(postgres::Connection& connection, const std::string& instance);
// Whether a job of the instance had this source: a blob by its digest, or the text of a repository's URL or a
// commit.
Result<bool> isSubmittedBlob(postgres::Connection& connection, const std::string& instance,
                             const Digest& blob);
Result<bool> isSubmittedOrigin(postgres::Connection& connection, const std::string& instance,
                               const std::string& origin);
// Whether this identity has submitted a job.
Result<bool> hasSubmitted(postgres::Connection& connection, const std::string& instance,
                          const std::string& submitter);

// The inputs (models, data files, components, tuning records) and the parts of toolchains whose hash lies in
// the range, two at most: where there are more, none of them is meant. Sizes are 0.
Result<std::vector<Digest>> findInputsIn(postgres::Connection& connection, const std::string& instance,
                                         const DigestRange& range);
Result<std::vector<Digest>> findPartsIn(postgres::Connection& connection, const std::string& instance,
                                        const DigestRange& range);

}  // namespace kiln::index
