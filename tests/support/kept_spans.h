// A sink that keeps what it is given.
#pragma once

#include <mutex>
#include <vector>

#include "storage/tracing/span.h"

namespace kiln::testing_support {

// Thread safe.
class KeptSpans final : public tracing::SpanSink {
 public:
  void add(tracing::Span span) override {
    const std::lock_guard lock(mutex_);
    spans_.push_back(std::move(span));
  }
  std::vector<tracing::Span> spans() {
    const std::lock_guard lock(mutex_);
    return spans_;
  }

 private:
  std::mutex mutex_;
  std::vector<tracing::Span> spans_;
};

}  // namespace kiln::testing_support
