#include "compiler_core/runtime/device/vulkan_driver.h"

#include <dlfcn.h>

namespace kiln::runtime {
namespace {

constexpr std::uint32_t kMaxDevices = 64;

struct Named {
  VkResult code;
  const char* name;
  Code kind;
};
constexpr Named kNamed[] = {
    {VK_NOT_READY, "VK_NOT_READY", Code::kInternal},
    {VK_TIMEOUT, "VK_TIMEOUT", Code::kUnavailable},
    {VK_ERROR_OUT_OF_HOST_MEMORY, "VK_ERROR_OUT_OF_HOST_MEMORY", Code::kResourceExhausted},
    {VK_ERROR_OUT_OF_DEVICE_MEMORY, "VK_ERROR_OUT_OF_DEVICE_MEMORY", Code::kResourceExhausted},
    {VK_ERROR_INITIALIZATION_FAILED, "VK_ERROR_INITIALIZATION_FAILED", Code::kUnimplemented},
    {VK_ERROR_DEVICE_LOST, "VK_ERROR_DEVICE_LOST", Code::kUnavailable},
    {VK_ERROR_MEMORY_MAP_FAILED, "VK_ERROR_MEMORY_MAP_FAILED", Code::kResourceExhausted},
    {VK_ERROR_LAYER_NOT_PRESENT, "VK_ERROR_LAYER_NOT_PRESENT", Code::kUnimplemented},
    {VK_ERROR_EXTENSION_NOT_PRESENT, "VK_ERROR_EXTENSION_NOT_PRESENT", Code::kUnimplemented},
    {VK_ERROR_FEATURE_NOT_PRESENT, "VK_ERROR_FEATURE_NOT_PRESENT", Code::kUnimplemented},
    {VK_ERROR_INCOMPATIBLE_DRIVER, "VK_ERROR_INCOMPATIBLE_DRIVER", Code::kUnimplemented},
    {VK_ERROR_TOO_MANY_OBJECTS, "VK_ERROR_TOO_MANY_OBJECTS", Code::kResourceExhausted},
    {VK_ERROR_FRAGMENTED_POOL, "VK_ERROR_FRAGMENTED_POOL", Code::kResourceExhausted},
    {VK_ERROR_OUT_OF_POOL_MEMORY, "VK_ERROR_OUT_OF_POOL_MEMORY", Code::kResourceExhausted},
    {VK_ERROR_INVALID_SHADER_NV, "VK_ERROR_INVALID_SHADER_NV", Code::kDataLoss},
    {VK_ERROR_UNKNOWN, "VK_ERROR_UNKNOWN", Code::kInternal},
};

}  // namespace

Status VulkanDriver::check(VkResult code, const std::string& what) {
  if (code == VK_SUCCESS) return {};
  std::string name = "an error without a name";
  Code kind = Code::kInternal;
  for (const Named& named : kNamed)
    if (named.code == code) name = named.name, kind = named.kind;
  return fail(kind, what + ": the driver says " + name + " (" + std::to_string(code) + ")");
}

Result<std::shared_ptr<const VulkanDriver>> VulkanDriver::open(const std::string& library) {
  if (library.empty())  // the running program itself, to dlopen
    return fail(Code::kInvalidArgument,
                "the driver library (device_driver, --device-driver) is \"\"; name one, or leave it out");
  std::shared_ptr<VulkanDriver> driver(new VulkanDriver());
  driver->library_ = library;
  KILN_TRY(driver->load());
  KILN_TRY(driver->makeInstance());
  KILN_TRY(driver->findDevices());
  return driver;
}

Status VulkanDriver::load() {
  void* const handle = ::dlopen(library_.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    return fail(Code::kUnimplemented, "this machine has no Vulkan loader (" +
                                          std::string(reason != nullptr ? reason : library_) +
                                          "); install one (Debian: libvulkan1) and a driver for the device "
                                          "(mesa-vulkan-drivers)");
  }
  global_.getInstanceProcAddr =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(::dlsym(handle, "vkGetInstanceProcAddr"));
  if (global_.getInstanceProcAddr == nullptr)
    return fail(Code::kUnimplemented, library_ + " is no Vulkan loader: it has no vkGetInstanceProcAddr");
  std::string absent;
#define KILN_VULKAN_FIND(member, symbol)                                                          \
  global_.member = reinterpret_cast<PFN_##symbol>(global_.getInstanceProcAddr(nullptr, #symbol)); \
  if (global_.member == nullptr && absent.empty()) absent = #symbol;
  KILN_VULKAN_GLOBAL_FUNCTIONS(KILN_VULKAN_FIND)
#undef KILN_VULKAN_FIND
  if (absent.empty()) return {};
  return fail(Code::kUnimplemented, library_ + ": a Vulkan loader without " + absent +
                                        "; the runtime needs one of Vulkan 1.3 or later");
}

Status VulkanDriver::makeInstance() {
  std::uint32_t version = 0;
  KILN_TRY(check(global_.enumerateInstanceVersion(&version), library_ + ": asking for its version"));
  if (version < VK_API_VERSION_1_3) {
    return fail(Code::kUnimplemented, library_ + ": a loader of Vulkan " +
                                          std::to_string(VK_API_VERSION_MAJOR(version)) + "." +
                                          std::to_string(VK_API_VERSION_MINOR(version)) +
                                          "; the runtime needs one of Vulkan 1.3 or later");
  }
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pEngineName = "Kiln";
  application.apiVersion = VK_API_VERSION_1_3;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  const VkResult made = global_.createInstance(&info, nullptr, &instance_);
  if (Status ready = check(made, library_ + ": making an instance of Vulkan 1.3"); !ready) {
    instance_ = nullptr;
    if (ready.error().code == Code::kResourceExhausted) return ready;
    // Whatever it says: this machine cannot serve a program for Vulkan.
    return fail(Code::kUnimplemented, ready.error().message +
                                          "; install a Vulkan driver for the device (Debian: "
                                          "mesa-vulkan-drivers)");
  }
  std::string absent;
#define KILN_VULKAN_FIND(member, symbol)                                                           \
  table_.member = reinterpret_cast<PFN_##symbol>(global_.getInstanceProcAddr(instance_, #symbol)); \
  if (table_.member == nullptr && absent.empty()) absent = #symbol;
  KILN_VULKAN_INSTANCE_FUNCTIONS(KILN_VULKAN_FIND)
#undef KILN_VULKAN_FIND
  if (absent.empty()) return {};
  return fail(Code::kUnimplemented, library_ + ": an instance of Vulkan 1.3 without " + absent);
}

Status VulkanDriver::findDevices() {
  std::uint32_t count = kMaxDevices;
  devices_.resize(count);
  const VkResult found = table_.enumeratePhysicalDevices(instance_, &count, devices_.data());
  if (found != VK_INCOMPLETE) KILN_TRY(check(found, library_ + ": listing the devices"));
  if (count > kMaxDevices)
    return fail(Code::kInternal, library_ + ": it lists more devices than it was asked for");
  devices_.resize(count);
  if (count != 0) return {};
  return fail(Code::kUnimplemented, library_ +
                                        ": there is no Vulkan device; install a driver for one "
                                        "(Debian: mesa-vulkan-drivers)");
}

VulkanDriver::~VulkanDriver() {
  if (instance_ != nullptr && table_.destroyInstance != nullptr && !kept_.load())
    table_.destroyInstance(instance_, nullptr);
}

}  // namespace kiln::runtime
