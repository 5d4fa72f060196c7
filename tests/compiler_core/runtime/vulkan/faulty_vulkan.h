// What tests ask of libkiln-faulty-vulkan.so (faulty_vulkan.cc).
#pragma once

#include <cstdint>

extern "C" {
// Errors and warnings of the validation layer since the last call; `text` (at most `capacity` bytes, ended
// with a zero) takes the first of them.
std::uint64_t kiln_faulty_vulkan_messages(char* text, std::uint64_t capacity);
// Bytes of the last pipeline cache that a driver was given.
std::uint64_t kiln_faulty_vulkan_cache_given();
// Not 0: the validation layer is installed, and on.
int kiln_faulty_vulkan_validates();
}
