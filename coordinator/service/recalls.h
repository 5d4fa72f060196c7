// The recalls that are in force on this farm.
#pragma once

#include <memory>
#include <span>

#include "coordinator/service/farm.h"
#include "signing/recall/recalls.h"

namespace kiln::service {

// The newest that were published, whose signatures hold under the root that they were published with; null if
// there are none. kDataLoss if the row holds something else.
Result<std::shared_ptr<const signing::Recalls>> recallsInForce(const Farm& farm);

// Puts a newer version in force. Errors as RecallService.PublishRecalls; `trustRoot` is the path of the
// farm's root, "" if it was given none.
Result<signing::Recalls> publishRecalls(const Farm& farm, const std::string& trustRoot,
                                        const std::string& document);

// kPermissionDenied, as what does not verify (exit code 5), if any of these bytes was recalled: what is made
// of them would be, too.
Status checkNotRecalled(const Farm& farm, std::span<const Digest> content);

}  // namespace kiln::service
