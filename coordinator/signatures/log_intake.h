// Takes signatures that are not the farm's own into its log.
#pragma once

#include <string>

#include "manifest/base/clock.h"
#include "signing/dsse/dsse.h"
#include "storage/postgres/pool.h"

namespace kiln::service {

// Thread safe.
class LogIntake {
 public:
  virtual ~LogIntake() = default;
  // The envelope's bundle with its entry in the log; of the same payload again, the first signature's. The
  // signature has been checked. kAlreadyExists if another key signed this payload first; kUnavailable if no
  // checkpoint came in time: the same again waits on.
  virtual Result<std::string> takeIn(const std::string& instance, const signing::Envelope& envelope,
                                     const signing::PublicKey& key) = 0;
};

// Without the wait. kAlreadyExists as above.
Status takeSignatureIn(postgres::Pool& database, const std::string& instance,
                       const signing::Envelope& envelope, const signing::PublicKey& key, TimePoint now);

}  // namespace kiln::service
