// The part of the CUDA Driver API that the runtime uses: own declarations, so that nothing of CUDA is needed
// to build. Names, numbers and signatures are NVIDIA's (CUDA Driver API reference, 12.0 to 13.0; a suffix _v2
// is part of the symbol). The emulated driver implements the same list.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kiln::runtime::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUevent = struct CUevent_st*;
struct CUuuid {
  unsigned char bytes[16];
};

enum : CUresult {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kInvalidPtx = 218,
  kUnsupportedPtxVersion = 222,
  kInvalidHandle = 400,
  kNotFound = 500,
  kIllegalAddress = 700,
  kLaunchFailed = 719,
  kSystemDriverMismatch = 803,
  kStreamCaptureUnsupported = 900,
  kStreamCaptureInvalidated = 901,
  kUnknown = 999,
};

// CUdevice_attribute.
enum : int {
  kAttributeMaxThreadsPerBlock = 1,
  kAttributeWarpSize = 10,
  kAttributeMultiprocessors = 16,
  kAttributeComputeCapabilityMajor = 75,
  kAttributeComputeCapabilityMinor = 76,
};

enum : unsigned {
  kStreamNonBlocking = 1,  // does not wait for the default stream
  kEventDefault = 0,
};
enum : int { kCaptureThreadLocal = 1 };

// F(member of DriverTable, symbol, parameters); each returns CUresult.
#define KILN_CUDA_FUNCTIONS(F)                                                                               \
  F(init, cuInit, (unsigned flags))                                                                          \
  F(driverGetVersion, cuDriverGetVersion, (int* version))                                                    \
  F(getErrorName, cuGetErrorName, (CUresult error, const char** name))                                       \
  F(getErrorString, cuGetErrorString, (CUresult error, const char** text))                                   \
  F(deviceGetCount, cuDeviceGetCount, (int* count))                                                          \
  F(deviceGet, cuDeviceGet, (CUdevice * device, int ordinal))                                                \
  F(deviceGetName, cuDeviceGetName, (char* name, int capacity, CUdevice device))                             \
  F(deviceGetUuid, cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device))                                     \
  F(deviceGetAttribute, cuDeviceGetAttribute, (int* value, int attribute, CUdevice device))                  \
  F(deviceTotalMem, cuDeviceTotalMem_v2, (std::size_t* bytes, CUdevice device))                              \
  F(primaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                      \
  F(primaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                      \
  F(ctxPushCurrent, cuCtxPushCurrent_v2, (CUcontext context))                                                \
  F(ctxPopCurrent, cuCtxPopCurrent_v2, (CUcontext * context))                                                \
  F(memGetInfo, cuMemGetInfo_v2, (std::size_t* free, std::size_t* total))                                    \
  F(memAlloc, cuMemAlloc_v2, (CUdeviceptr * pointer, std::size_t bytes))                                     \
  F(memFree, cuMemFree_v2, (CUdeviceptr pointer))                                                            \
  F(memHostAlloc, cuMemHostAlloc, (void** pointer, std::size_t bytes, unsigned flags))                       \
  F(memFreeHost, cuMemFreeHost, (void* pointer))                                                             \
  F(memcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                                                   \
    (CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream))                                  \
  F(memcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void* to, CUdeviceptr from, std::size_t bytes, CUstream stream)) \
  F(memsetD8Async, cuMemsetD8Async,                                                                          \
    (CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream))                               \
  F(moduleLoadData, cuModuleLoadData, (CUmodule * module, const void* image))                                \
  F(moduleUnload, cuModuleUnload, (CUmodule module))                                                         \
  F(moduleGetFunction, cuModuleGetFunction, (CUfunction * function, CUmodule module, const char* name))      \
  F(launchKernel, cuLaunchKernel,                                                                            \
    (CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,  \
     unsigned blockZ, unsigned sharedBytes, CUstream stream, void** parameters, void** extra))               \
  F(streamCreate, cuStreamCreate, (CUstream * stream, unsigned flags))                                       \
  F(streamDestroy, cuStreamDestroy_v2, (CUstream stream))                                                    \
  F(streamSynchronize, cuStreamSynchronize, (CUstream stream))                                               \
  F(streamBeginCapture, cuStreamBeginCapture_v2, (CUstream stream, int mode))                                \
  F(streamEndCapture, cuStreamEndCapture, (CUstream stream, CUgraph * graph))                                \
  F(graphInstantiate, cuGraphInstantiateWithFlags,                                                           \
    (CUgraphExec * executable, CUgraph graph, unsigned long long flags))                                     \
  F(graphLaunch, cuGraphLaunch, (CUgraphExec executable, CUstream stream))                                   \
  F(graphDestroy, cuGraphDestroy, (CUgraph graph))                                                           \
  F(graphExecDestroy, cuGraphExecDestroy, (CUgraphExec executable))                                          \
  F(eventCreate, cuEventCreate, (CUevent * event, unsigned flags))                                           \
  F(eventRecord, cuEventRecord, (CUevent event, CUstream stream))                                            \
  F(eventElapsedTime, cuEventElapsedTime, (float* milliseconds, CUevent start, CUevent end))                 \
  F(eventDestroy, cuEventDestroy_v2, (CUevent event))

struct DriverTable {
#define KILN_CUDA_MEMBER(member, symbol, parameters) CUresult(*member) parameters = nullptr;
  KILN_CUDA_FUNCTIONS(KILN_CUDA_MEMBER)
#undef KILN_CUDA_MEMBER
};

// What the emulated driver exports beside the API, an int that is not 0: how it says that it is no device.
inline constexpr char kEmulatedMarker[] = "kiln_emulated_device";

}  // namespace kiln::runtime::cuda
