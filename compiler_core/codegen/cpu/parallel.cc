#include "compiler_core/codegen/cpu/parallel.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace kiln::codegen {
namespace {

struct Loop {
  std::size_t count;
  const std::function<void(std::size_t)>& work;
  std::atomic<std::size_t> next{0};

  static void* run(void* self) {
    auto& loop = *static_cast<Loop*>(self);
    for (std::size_t i = loop.next++; i < loop.count; i = loop.next++) loop.work(i);
    return nullptr;
  }
};

}  // namespace

void forEach(std::size_t count, unsigned most, const std::function<void(std::size_t)>& work) {
  Loop loop{count, work};
  std::vector<pthread_t> threads;
  const std::size_t wanted = std::min<std::size_t>(count, most ? most : std::thread::hardware_concurrency());
  // pthread_create, because std::thread can refuse only by an exception, and this library has none.
  while (threads.size() + 1 < wanted) {
    pthread_t thread;
    if (::pthread_create(&thread, nullptr, &Loop::run, &loop) != 0) break;  // what there is, is enough
    threads.push_back(thread);
  }
  Loop::run(&loop);
  for (const pthread_t thread : threads) ::pthread_join(thread, nullptr);
}

}  // namespace kiln::codegen
