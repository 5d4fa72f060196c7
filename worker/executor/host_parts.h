// Parts of the host that a dynamically linked program of the worker sees in its sandbox. Nothing below holds
// a secret.
#pragma once

#include <span>
#include <vector>

#include "worker/sandbox/sandbox.h"

namespace kiln::executor {

// Programs' libraries and the loader's cache.
inline constexpr const char* kLibraryParts[] = {"/usr", "/lib", "/lib64", "/etc/ld.so.cache"};

// Which Vulkan drivers there are, where that is not said below /usr.
inline constexpr const char* kLoaderParts[] = {"/etc/vulkan"};

// By what Mesa's drivers find the device of a render node's number.
inline constexpr const char* kRenderParts[] = {"/sys/dev/char", "/sys/devices"};

// The machine's shape: processors and their caches.
inline constexpr const char* kMachineParts[] = {"/sys/devices/system/cpu"};

// Read-only binds of those of `parts` that this host has.
std::vector<sandbox::Bind> hostBinds(std::span<const char* const> parts);

}  // namespace kiln::executor
