// Does not compile with our warnings: the mutex of what it reads is not held (CMakeLists.txt).
#include "manifest/base/mutex.h"

namespace kiln {

class Unguarded {
 public:
  int number() const { return number_; }

 private:
  Mutex mutex_;
  int number_ KILN_GUARDED_BY(mutex_) = 0;
};

}  // namespace kiln
