#include "compiler_core/runtime/device/vulkan_queue.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "compiler_core/runtime/device/vulkan_module.h"
#include "compiler_core/runtime/spirv/spirv_bounds.h"

namespace kiln::runtime {
namespace {

constexpr std::uint32_t kMarks = 256;              // of a pool
constexpr std::uint64_t kStagingBytes = 4u << 20;  // copies of memory that is not pinned go through it
constexpr std::uint64_t kBlockBytes = 64u << 10;   // of argument blocks at a time
constexpr std::uint64_t kBlockAlignment = 16;

class Recording final : public DeviceRecording {
 public:
  explicit Recording(std::unique_ptr<VulkanCommands> commands) : commands_(std::move(commands)) {}
  const VulkanCommands& commands() const { return *commands_; }

 private:
  const std::unique_ptr<VulkanCommands> commands_;
};

void barrier(const vulkan::DeviceTable& api, VkCommandBuffer commands, VkPipelineStageFlags to,
             VkAccessFlags access) {
  VkMemoryBarrier memory{};
  memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  memory.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  memory.dstAccessMask = access;
  api.cmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT, to,
                         0, 1, &memory, 0, nullptr, 0, nullptr);
}

}  // namespace

Result<std::unique_ptr<VulkanCommands>> VulkanCommands::make(std::shared_ptr<const VulkanDevice> device) {
  std::unique_ptr<VulkanCommands> made(new VulkanCommands(std::move(device)));
  const VulkanDevice& on = *made->device_;
  VkCommandPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = on.about().queueFamily;
  KILN_TRY(on.check(on.api().createCommandPool(on.handle(), &pool, nullptr, &made->pool_),
                    "making a command pool"));
  VkCommandBufferAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  info.commandPool = made->pool_;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  KILN_TRY(on.check(on.api().allocateCommandBuffers(on.handle(), &info, &made->commands_),
                    "making a command buffer"));
  return made;
}

VulkanCommands::~VulkanCommands() {
  for (const VulkanBuffer& block : blocks_) device_->free(block);
  if (pool_ != VK_NULL_HANDLE && !device_->abandoned())
    device_->api().destroyCommandPool(device_->handle(), pool_, nullptr);
}

Status VulkanCommands::begin(bool once) {
  VkCommandBufferBeginInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  info.flags = once ? VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT : 0;
  KILN_TRY(device_->check(device_->api().beginCommandBuffer(commands_, &info), "beginning a run"));
  empty_ = true;
  block_ = used_ = 0;
  return {};
}

Status VulkanCommands::end() {
  barrier(device_->api(), commands_, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  return device_->check(device_->api().endCommandBuffer(commands_), "ending a run");
}

VkCommandBuffer VulkanCommands::next() {
  if (!empty_) {
    barrier(device_->api(), commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
            VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                VK_ACCESS_TRANSFER_WRITE_BIT);
  }
  empty_ = false;
  return commands_;
}

Result<std::uint64_t> VulkanCommands::keep(const std::uint64_t* words, std::size_t count) {
  const std::uint64_t bytes = count * sizeof(std::uint64_t);
  const std::uint64_t room = (bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
  if (block_ < blocks_.size() && used_ + room > kBlockBytes) ++block_, used_ = 0;
  if (block_ == blocks_.size()) {
    KILN_ASSIGN(const VulkanBuffer made, device_->allocate(kBlockBytes + spirv::kArgumentBlockBytes,
                                                           VulkanDevice::Place::kHost, "kernels' arguments"));
    blocks_.push_back(made);
  }
  const VulkanBuffer& block = blocks_[block_];
  if (bytes != 0) std::memcpy(block.data + used_, words, bytes);
  const std::uint64_t address = block.address + used_;
  used_ += room;
  return address;
}

Result<std::unique_ptr<VulkanQueue>> VulkanQueue::make(std::shared_ptr<const VulkanDevice> device,
                                                       const DeviceReach& reach) {
  std::unique_ptr<VulkanQueue> queue(new VulkanQueue(std::move(device), reach));
  VkSemaphoreTypeCreateInfo type{};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  info.pNext = &type;
  KILN_TRY(queue->device_->check(
      queue->api().createSemaphore(queue->device_->handle(), &info, nullptr, &queue->timeline_),
      "making a timeline"));
  KILN_ASSIGN(queue->commands_, VulkanCommands::make(queue->device_));
  return queue;
}

VulkanQueue::~VulkanQueue() {
  if (staging_.buffer != VK_NULL_HANDLE) {
    if (!device_->abandoned()) std::memset(staging_.data, 0, staging_.bytes);
    device_->free(staging_);
  }
  if (device_->abandoned()) return;
  for (const VkQueryPool pool : marks_) api().destroyQueryPool(device_->handle(), pool, nullptr);
  if (timeline_ != VK_NULL_HANDLE) api().destroySemaphore(device_->handle(), timeline_, nullptr);
}

Result<VulkanCommands*> VulkanQueue::open() {
  if (!isOpen_) KILN_TRY(commands_->begin(!recording_));
  isOpen_ = true;
  return commands_.get();
}

Status VulkanQueue::upload(std::uint64_t to, const void* from, std::uint64_t bytes) {
  // Only read: staging copies out of it.
  return stage(Direction::kUp, to, static_cast<std::byte*>(const_cast<void*>(from)), bytes);
}

Status VulkanQueue::download(void* to, std::uint64_t from, std::uint64_t bytes) {
  return stage(Direction::kDown, from, static_cast<std::byte*>(to), bytes);
}

Status VulkanQueue::stage(Direction direction, std::uint64_t device, std::byte* host, std::uint64_t bytes) {
  const bool up = direction == Direction::kUp;
  const auto there = device_->onDevice(device, bytes);
  if (!there)
    return fail(Code::kInternal, "the program copies " + std::to_string(bytes) +
                                     " bytes that are not within its memory on the device");
  const auto copy = [&](VkBuffer hostBuffer, std::uint64_t hostOffset, std::uint64_t done,
                        std::uint64_t size) -> Status {
    KILN_ASSIGN(VulkanCommands * commands, open());
    const std::uint64_t deviceOffset = there->offset + done;
    const VkBufferCopy part{up ? hostOffset : deviceOffset, up ? deviceOffset : hostOffset, size};
    api().cmdCopyBuffer(commands->next(), up ? hostBuffer : there->buffer, up ? there->buffer : hostBuffer, 1,
                        &part);
    return {};
  };
  if (const auto pinned = device_->pinned(host, bytes)) return copy(pinned->buffer, pinned->offset, 0, bytes);
  if (recording_) return fail(Code::kInternal, "a copy of memory that is not pinned cannot be recorded");
  if (staging_.buffer == VK_NULL_HANDLE) {
    KILN_ASSIGN(staging_, device_->allocate(kStagingBytes, VulkanDevice::Place::kHost, "copies"));
  }
  for (std::uint64_t done = 0; done < bytes;) {
    if (staged_ == kStagingBytes) KILN_TRY(wait());
    const std::uint64_t size = std::min(bytes - done, kStagingBytes - staged_);
    if (up) {
      std::memcpy(staging_.data + staged_, host + done, size);
    } else {
      downloads_.push_back({host + done, staged_, size});
    }
    KILN_TRY(copy(staging_.buffer, staged_, done, size));
    // Copies lie on multiples of what devices copy fast.
    staged_ = std::min(kStagingBytes, (staged_ + size + 255) / 256 * 256);
    done += size;
  }
  return {};
}

Status VulkanQueue::launch(const KernelModule& module, const kiln_launch& launch) {
  const auto& kernels = static_cast<const VulkanModule&>(module);
  const VulkanModule::Kernel& kernel = kernels.kernel(launch.kernel);
  if (launch.block != kernel.threads || launch.grid[1] != 1 || launch.grid[2] != 1) {
    return fail(Code::kInternal,
                "the program launches kernel " + kernel.name + " with blocks of " +
                    std::to_string(launch.block) + " threads in a grid of " + std::to_string(launch.grid[0]) +
                    " by " + std::to_string(launch.grid[1]) + " by " + std::to_string(launch.grid[2]) +
                    "; its blocks have " + std::to_string(kernel.threads) + ", in a row");
  }
  // Where else would what it must not reach go?
  if (reach_.writableBytes == 0)
    return fail(Code::kInternal, "the program launches kernel " + kernel.name + " and plans no arena for it");
  KILN_ASSIGN(VulkanCommands * commands, open());
  KILN_ASSIGN(const std::uint64_t arguments, commands->keep(launch.arguments, launch.argument_count));
  const VkCommandBuffer to = commands->next();
  api().cmdBindPipeline(to, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.pipeline);
  const std::uint32_t most = device_->about().limits.gridMost[0];
  for (std::uint64_t first = 0; first < launch.grid[0]; first += most) {
    const spirv::BoundedPush push = {
        arguments, first, reach_.writable, reach_.writableBytes, reach_.readable, reach_.readableBytes};
    api().cmdPushConstants(to, kernels.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
    api().cmdDispatch(to, static_cast<std::uint32_t>(std::min<std::uint64_t>(most, launch.grid[0] - first)),
                      1, 1);
  }
  return {};
}

Status VulkanQueue::fill(const VulkanBuffer& buffer, std::uint32_t word) {
  KILN_ASSIGN(VulkanCommands * commands, open());
  api().cmdFillBuffer(commands->next(), buffer.buffer, 0, VK_WHOLE_SIZE, word);
  return {};
}

Status VulkanQueue::wait() {
  if (const VulkanCommands* const again = std::exchange(replayed_, nullptr)) KILN_TRY(run(*again));
  if (!std::exchange(isOpen_, false)) return {};
  // Whatever happens, nothing of this is to be done later.
  const std::vector<Download> downloads = std::exchange(downloads_, {});
  staged_ = 0;
  KILN_TRY(commands_->end());
  KILN_TRY(run(*commands_));
  for (const Download& one : downloads) std::memcpy(one.to, staging_.data + one.offset, one.bytes);
  return {};
}

Status VulkanQueue::run(const VulkanCommands& commands) {
  const std::uint64_t then = time_ + 1;
  const VkCommandBuffer buffer = commands.commands();
  VkTimelineSemaphoreSubmitInfo values{};
  values.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
  values.signalSemaphoreValueCount = 1;
  values.pSignalSemaphoreValues = &then;
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.pNext = &values;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &buffer;
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &timeline_;
  KILN_TRY(device_->submit(info, "starting a run"));
  time_ = then;
  VkSemaphoreWaitInfo until{};
  until.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  until.semaphoreCount = 1;
  until.pSemaphores = &timeline_;
  until.pValues = &then;
  const auto limit = device_->waitLimit();
  const VkResult ended =
      api().waitSemaphores(device_->handle(), &until, static_cast<std::uint64_t>(limit.count()));
  if (ended == VK_SUCCESS) return {};
  // It may be at work for as long as the process lives.
  if (ended != VK_ERROR_DEVICE_LOST) device_->abandon();
  if (ended != VK_TIMEOUT) {
    const Status failed = device_->check(ended, "waiting for the device");
    device_->lose(failed.error());
    return failed;
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit).count();
  const Error hung{Code::kUnavailable,
                   "waiting for the device: it hangs, what it was given has not ended within " +
                       std::to_string(seconds) + " s (VK_TIMEOUT)",
                   {}};
  device_->lose(hung);
  return fail(hung);
}

Status VulkanQueue::mark(std::size_t number) {
  if (device_->about().limits.tickNanoseconds <= 0)
    return fail(Code::kUnimplemented, device_->text() + ", tells no times; leave kernels unmeasured");
  while (marks_.size() <= number / kMarks) {
    VkQueryPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = kMarks;
    VkQueryPool made = VK_NULL_HANDLE;
    KILN_TRY(
        device_->check(api().createQueryPool(device_->handle(), &info, nullptr, &made), "making timestamps"));
    marks_.push_back(made);
  }
  KILN_ASSIGN(VulkanCommands * commands, open());
  const VkQueryPool pool = marks_[number / kMarks];
  const auto query = static_cast<std::uint32_t>(number % kMarks);
  const VkCommandBuffer to = commands->next();
  api().cmdResetQueryPool(to, pool, query, 1);
  api().cmdWriteTimestamp(to, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool, query);
  return {};
}

Result<double> VulkanQueue::nanosecondsBetween(std::size_t first, std::size_t second) {
  std::array<std::uint64_t, 2> ticks{};
  const std::array<std::size_t, 2> numbers = {first, second};
  for (std::size_t i = 0; i < 2; ++i) {
    KILN_TRY(device_->check(
        api().getQueryPoolResults(device_->handle(), marks_[numbers[i] / kMarks],
                                  static_cast<std::uint32_t>(numbers[i] % kMarks), 1, sizeof ticks[i],
                                  &ticks[i], sizeof ticks[i], VK_QUERY_RESULT_64_BIT),
        "timing a kernel"));
  }
  if (ticks[1] < ticks[0]) return 0;
  return static_cast<double>(ticks[1] - ticks[0]) * device_->about().limits.tickNanoseconds;
}

Status VulkanQueue::beginRecording() {
  KILN_TRY(wait());
  recording_ = true;
  return {};
}

std::unique_ptr<DeviceRecording> VulkanQueue::endRecording(bool wanted) {
  recording_ = false;
  const bool any = std::exchange(isOpen_, false) && !commands_->empty();
  if (!wanted || !any || !commands_->end()) return nullptr;
  auto fresh = VulkanCommands::make(device_);
  if (!fresh) return nullptr;
  return std::make_unique<Recording>(std::exchange(commands_, std::move(*fresh)));
}

Status VulkanQueue::replay(const DeviceRecording& recording) {
  KILN_TRY(wait());
  replayed_ = &static_cast<const Recording&>(recording).commands();
  return {};
}

}  // namespace kiln::runtime
