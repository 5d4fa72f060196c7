// Loads a compiled program with dlopen and runs it with a given number of threads; for tests only.
// The runtime proper is compiler_core/runtime; this one has no checks, but watches the arena's and scratch's
// borders.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler_core/runtime/program_abi.h"
#include "manifest/base/result.h"

namespace kiln::testing {

// Memory aligned to KILN_ALIGNMENT.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes);
  template <class T>
  static Buffer of(std::span<const T> values) {
    Buffer buffer(values.size_bytes());
    std::copy(values.begin(), values.end(), static_cast<T*>(buffer.data()));
    return buffer;
  }
  void* data() const { return data_.get(); }
  std::size_t size() const { return bytes_; }
  template <class T>
  std::span<T> as() const {
    return {static_cast<T*>(data()), bytes_ / sizeof(T)};
  }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::size_t bytes_;
  std::unique_ptr<void, Free> data_;
};

class ProgramHost {
 public:
  static Result<ProgramHost> load(const std::string& elf);
  ProgramHost(ProgramHost&& other) noexcept;
  ~ProgramHost();

  const kiln_program& table() const { return *program_; }
  // How many indices outside their dimension the last run counted, by node; for programs that count.
  const std::vector<std::int64_t>& outOfRange() const { return outOfRange_; }
  // Arena and scratch are filled with a pattern first and end in a guard page's worth of pattern.
  // kDataLoss: the program wrote past the plan. kInternal: a status other than 0.
  // `seconds` becomes the time inside the program (of the processor with one thread, of the clock otherwise).
  Status run(std::span<const Buffer> weights, std::span<const Buffer> inputs, std::span<const Buffer> outputs,
             int threads, double* seconds = nullptr) const;
  // One profile at given symbols; returns the dimensions of the outputs that it ran in. A program that counts
  // indices has one output more than are given: the dimensions are without it.
  Result<std::vector<std::int64_t>> run(std::uint32_t profile, std::span<const std::int64_t> symbols,
                                        std::span<const Buffer> weights, std::span<const Buffer> inputs,
                                        std::span<const Buffer> outputs, int threads,
                                        double* seconds = nullptr) const;
  // What kiln_callbacks.launch does from now on: false when it fails.
  void onLaunch(std::function<bool(const kiln_launch&)> launch) { launch_ = std::move(launch); }
  // What `shapes` states: the dimensions of the outputs, those that depend on values at their bound.
  std::vector<std::int64_t> shapes(std::uint32_t profile, std::span<const std::int64_t> symbols) const;

 private:
  ProgramHost(void* handle, int file, const kiln_program* program)
      : handle_(handle), file_(file), program_(program) {}
  void* handle_;
  int file_;  // open as long as the program is loaded: dlopen tells programs by their path, which has its
              // number
  const kiln_program* program_;
  std::function<bool(const kiln_launch&)> launch_;
  mutable std::vector<std::int64_t> outOfRange_;
};

}  // namespace kiln::testing
