#include "compiler_core/runtime/session/session_core.h"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "compiler_core/runtime/device/open_device.h"
#include "compiler_core/runtime/parallel/fp_state.h"
#include "compiler_core/runtime/session/output_buffers.h"
#include "compiler_core/runtime/session/padding.h"
#include "manifest/spec/target.h"
#include "manifest/spec/target_device.h"

namespace kiln::runtime {
namespace {

constexpr unsigned kMaxThreads = 1024;

// Processors this process may use.
unsigned usableProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1u, static_cast<unsigned>(CPU_COUNT(&set)));
}

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + KILN_ALIGNMENT - 1) / KILN_ALIGNMENT * KILN_ALIGNMENT;
}

// A profile's part of the arena: the plan, then one scratch per thread, each aligned.
std::uint64_t arenaBytes(const ProgramProfile& profile, unsigned threads) {
  return aligned(profile.arenaBytes) + threads * aligned(profile.scratchBytes);
}

Result<Arena> allocateArena(const Manifest& manifest, unsigned threads) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 56;  // nothing overflows below
  std::uint64_t most = 0;
  for (const ProgramProfile& profile : manifest.profiles) {
    if (profile.arenaBytes > kMost || profile.scratchBytes > kMost / kMaxThreads) {
      return fail(Code::kResourceExhausted, "the program plans " + std::to_string(profile.arenaBytes) +
                                                " bytes and " + std::to_string(profile.scratchBytes) +
                                                " per thread; no machine has that much");
    }
    most = std::max(most, arenaBytes(profile, threads));
  }
  return Arena::allocate(most, "the program's arena");
}

std::uint64_t count(std::chrono::steady_clock::duration time) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

// What callbacks.user points to during a call.
struct Call {
  ThreadPool* pool;
  Scratch scratch;
  KernelTimes* times;     // null: not measured
  DeviceSession* device;  // null: none
};

void parallelFor(void* user, kiln_kernel kernel, void* env, std::int64_t tasks) {
  const Call& call = *static_cast<const Call*>(user);
  if (call.device != nullptr) call.device->worksOnHost();
  if (call.times == nullptr) return call.pool->run(kernel, env, tasks, call.scratch);
  const auto start = std::chrono::steady_clock::now();
  call.pool->run(kernel, env, tasks, call.scratch);
  call.times->add(kernel, tasks, std::chrono::steady_clock::now() - start);
}

// As parallelFor, and keeps what each thread did. A callback of its own: a run that nobody traces never
// looks.
void tracedParallelFor(void* user, kiln_kernel kernel, void* env, std::int64_t tasks) {
  const Call& call = *static_cast<const Call*>(user);
  if (call.device != nullptr) call.device->worksOnHost();
  std::vector<ThreadPool::Part> parts(call.pool->threads());
  const auto start = std::chrono::steady_clock::now();
  call.pool->run(kernel, env, tasks, call.scratch, parts.data());
  const std::size_t entry = call.times->add(kernel, tasks, std::chrono::steady_clock::now() - start);
  for (std::size_t thread = 0; thread < parts.size(); ++thread) {
    const ThreadPool::Part& part = parts[thread];
    if (part.tasks == 0) continue;
    call.times->spans()->add(entry, static_cast<std::uint32_t>(thread), part.start, part.end - part.start,
                             static_cast<std::uint64_t>(part.tasks));
  }
}

std::int32_t launch(void* user, const kiln_launch* launch) {
  return static_cast<const Call*>(user)->device->launch(*launch);
}
std::int32_t copy(void* user, std::uint32_t toSpace, void* to, std::uint32_t fromSpace, const void* from,
                  std::uint64_t bytes) {
  return static_cast<const Call*>(user)->device->copy(toSpace, to, fromSpace, from, bytes);
}
std::int32_t wait(void* user, std::uint32_t space) {
  return static_cast<const Call*>(user)->device->wait(space);
}

std::string statusText(std::int32_t status) {
  switch (status) {
    case KILN_RUN_BOUND_EXCEEDED:
      return "a size that depends on the inputs' values is larger than the program was built for";
    case KILN_RUN_INVALID_VALUE:
      return "an input's value is one that an operator does not allow, such as an index out of range";
    default:
      return "the program ended with status " + std::to_string(status) + ", which its ABI does not know";
  }
}

}  // namespace

Result<std::unique_ptr<SessionCore>> SessionCore::open(std::shared_ptr<const LoadedArtifact> artifact,
                                                       const kiln_session_options& options) {
  const unsigned threads = options.threads == 0 ? std::min(usableProcessors(), kMaxThreads) : options.threads;
  if (threads > kMaxThreads) return fail(Code::kInvalidArgument, "more than 1024 threads");
  std::unique_ptr<DeviceSession> device;
  const Manifest& manifest = artifact->manifest;
  if (!manifest.devices.empty()) {
    const char* const library = options.device_driver != nullptr
                                    ? options.device_driver
                                    : defaultDriverLibrary(manifest.devices.front().target);
    KILN_ASSIGN(auto there, artifact->devices.on(library, options.device,
                                                 options.device_cache != nullptr ? options.device_cache : "",
                                                 manifest, artifact->images, artifact->weights));
    KILN_ASSIGN(device, DeviceSession::open(std::move(there), manifest,
                                            manifest.inputs.size() + manifest.outputs.size() + 1));
  }
  KILN_ASSIGN(Arena arena, allocateArena(manifest, threads));
  FunctionNames names;
  if (options.measure_kernels != 0) {
    KILN_ASSIGN(names, artifact->program->functionNames());
  }
  KILN_ASSIGN(auto pool, ThreadPool::start(threads));
  return std::unique_ptr<SessionCore>(new SessionCore(std::move(artifact), std::move(pool), std::move(arena),
                                                      std::move(device), std::move(names), options));
}

SessionCore::SessionCore(std::shared_ptr<const LoadedArtifact> artifact, std::unique_ptr<ThreadPool> pool,
                         Arena arena, std::unique_ptr<DeviceSession> device, FunctionNames names,
                         const kiln_session_options& options)
    : artifact_(std::move(artifact)),
      pool_(std::move(pool)),
      arena_(std::move(arena)),
      device_(std::move(device)),
      runBeforeReady_(options.run_before_ready != 0),
      measureKernels_(options.measure_kernels != 0),
      checkIndices_(options.check_indices != 0),
      names_(std::move(names)),
      staged_(artifact_->manifest.inputs.size() + artifact_->manifest.outputs.size() + 1) {
  if (options.measure_kernels == KILN_MEASURE_SPANS) kernels_.keepSpans();
  for (const std::string& node : artifact_->manifest.indexChecks) indexChecks_.push_back({node.c_str(), 0});
  for (const ProgramProfile& profile : artifact_->manifest.profiles) {
    profiles_.push_back({artifact_->manifest.spec.target + " profile " + profile.name,
                         {profile.name.c_str(), 0, 0, arenaBytes(profile, pool_->threads()), 0}});
  }
  counters_.planned_bytes = arena_.bytes();
  counters_.weight_bytes = artifact_->weights.bytes();
  counters_.load_nanoseconds = count(artifact_->loadTime);
  counters_.threads = pool_->threads();
  counters_.path = profiles_[0].path.c_str();
  if (device_ == nullptr) return;
  counters_.device_planned_bytes = device_->plannedBytes();
  counters_.device_name = device_->info().name.c_str();
  counters_.device_driver_version = device_->info().driverVersion;
  counters_.device_compute_major = device_->info().major;
  counters_.device_compute_minor = device_->info().minor;
  counters_.device_emulated = device_->info().emulated ? 1 : 0;
  counters_.device_api = device_->info().apiName();
  counters_.device_api_version = device_->info().apiVersion.c_str();
  counters_.device_type = device_->info().type.c_str();
  counters_.device_driver = device_->info().driver.c_str();
  counters_.device_conformance = device_->info().conformance.c_str();
  counters_.device_cache = device_->cache().c_str();
}

std::vector<std::vector<std::int64_t>> SessionCore::outputShapes(
    std::size_t profile, const std::vector<std::int64_t>& symbols) const {
  std::vector<std::int64_t> dims(artifact_->program->outputDims());
  artifact_->program->shapes(profile, symbols.data(), dims.data());
  std::vector<std::vector<std::int64_t>> shapes;
  auto next = dims.begin();
  for (const TensorInfo& output : artifact_->manifest.outputs) {
    const auto end = next + static_cast<std::ptrdiff_t>(output.shape.size());
    shapes.emplace_back(next, end);
    next = end;
  }
  return shapes;
}

Result<SessionCore::Plan> SessionCore::plan(std::span<const kiln_tensor> inputs,
                                            std::span<kiln_output> outputs,
                                            std::optional<std::size_t> profile) const {
  const Manifest& manifest = artifact_->manifest;
  Plan plan;
  KILN_ASSIGN(plan.inputs, bindInputs(manifest, inputs));
  KILN_ASSIGN(plan.outputs, bindOutputs(manifest, outputs));
  KILN_ASSIGN(plan.choice, profile ? takeProfile(manifest, *profile, plan.inputs.symbols)
                                   : chooseProfile(manifest, plan.inputs.symbols));
  plan.stated = outputShapes(plan.choice.profile, plan.choice.symbols);
  plan.wanted = plan.choice.padded ? outputShapes(plan.choice.profile, plan.inputs.symbols) : plan.stated;
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const TensorInfo& info = manifest.outputs[i];
    const auto &stated = plan.stated[i], &wanted = plan.wanted[i];
    bool sane = tensorBytes(info.dtype, stated).has_value() && tensorBytes(info.dtype, wanted).has_value();
    for (std::size_t k = 0; k < stated.size(); ++k) {
      const Dim& dim = info.shape[k];
      sane = sane && wanted[k] <= stated[k] && (!dim.isStatic() || stated[k] == dim.value);
    }
    if (!sane) {
      return fail(Code::kInternal, "the program states the shape " + shapeText("", stated) +
                                       " for its output \"" + info.name + "\", which cannot be");
    }
    kiln_output& output = *plan.outputs[i];
    std::copy(wanted.begin(), wanted.end(), output.shape);
    output.bytes = static_cast<std::size_t>(*tensorBytes(info.dtype, wanted));
  }
  return plan;
}

Status SessionCore::outputShapes(std::span<const kiln_tensor> inputs, std::span<kiln_output> outputs) const {
  KILN_TRY(plan(inputs, outputs, {}));
  return {};
}

Result<void*> SessionCore::staging(std::size_t index, std::uint64_t bytes) {
  if (device_ != nullptr) return device_->staging(index, bytes);
  Arena& arena = staged_[index];
  if (arena.data() == nullptr || arena.bytes() < bytes) {
    KILN_ASSIGN(arena, Arena::allocate(std::max<std::uint64_t>(bytes, 1), "an aligned copy of a tensor"));
  }
  return static_cast<void*>(arena.data());
}

// A device copies to and from staging, whose place does not change from run to run.
bool SessionCore::inPlace(const void* data, std::uint64_t bytes) const {
  return device_ == nullptr && bytes != 0 && reinterpret_cast<std::uintptr_t>(data) % KILN_ALIGNMENT == 0;
}

Result<std::vector<void*>> SessionCore::stageInputs(Plan& plan) {
  std::vector<void*> result;
  for (std::size_t i = 0; i < plan.inputs.tensors.size(); ++i) {
    const kiln_tensor& tensor = *plan.inputs.tensors[i];
    const TensorInfo& info = artifact_->manifest.inputs[i];
    const std::span<const std::int64_t> given(tensor.shape, tensor.rank);
    std::vector<std::int64_t> shape(given.begin(), given.end());
    for (std::size_t s = 0; plan.choice.padded && s < plan.choice.symbols.size(); ++s) {
      for (std::size_t k = 0; k < shape.size(); ++k) {
        if (info.shape[k].expression == artifact_->manifest.symbols[s].name)
          shape[k] = plan.choice.symbols[s];
      }
    }
    const auto bytes = tensorBytes(info.dtype, shape);
    if (!bytes) return fail(Code::kInvalidArgument, "input \"" + info.name + "\" is too large to be padded");
    plan.tensorBytes += *bytes;
    plan.paddingBytes += *bytes - tensor.bytes;
    if (*bytes == tensor.bytes && inPlace(tensor.data, tensor.bytes)) {
      result.push_back(const_cast<void*>(tensor.data));
      continue;
    }
    KILN_ASSIGN(void* const data, staging(i, *bytes));
    if (*bytes != tensor.bytes) std::memset(data, 0, *bytes);
    copyCorner(tensor.data, given, data, shape, dtypeBytes(info.dtype));
    plan.transferBytes += tensor.bytes;
    result.push_back(data);
  }
  return result;
}

Result<std::vector<void*>> SessionCore::stageOutputs(Plan& plan) {
  std::vector<void*> result;
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const kiln_output& output = *plan.outputs[i];
    const std::uint64_t bytes = *tensorBytes(artifact_->manifest.outputs[i].dtype, plan.stated[i]);
    plan.tensorBytes += bytes;
    plan.paddingBytes += bytes - output.bytes;
    if (bytes == output.bytes && inPlace(output.data, bytes)) {
      result.push_back(output.data);
      continue;
    }
    KILN_ASSIGN(void* const data, staging(plan.inputs.tensors.size() + i, bytes));
    result.push_back(data);
  }
  if (indexChecks_.empty()) return result;
  KILN_ASSIGN(void* const counts, staging(plan.inputs.tensors.size() + plan.outputs.size(),
                                          indexChecks_.size() * sizeof(std::int64_t)));
  plan.outOfRange = {static_cast<const std::int64_t*>(counts), indexChecks_.size()};
  result.push_back(counts);
  return result;
}

std::int32_t SessionCore::callProgram(const Plan& plan, const std::vector<void*>& inputs,
                                      const std::vector<void*>& outputs, std::vector<std::int64_t>& dims,
                                      KernelTimes* times, std::vector<void*> arenas) {
  const ProgramProfile& profile = artifact_->manifest.profiles[plan.choice.profile];
  alignas(KILN_ALIGNMENT) std::byte none[KILN_ALIGNMENT];
  std::byte* const arena = arena_.data() != nullptr ? arena_.data() : none;
  Call user{pool_.get(), {}, times, device_.get()};
  if (profile.scratchBytes != 0)
    user.scratch = {arena + aligned(profile.arenaBytes), aligned(profile.scratchBytes)};
  kiln_callbacks callbacks{};
  callbacks.parallel_for = times != nullptr && times->spans() != nullptr ? &tracedParallelFor : &parallelFor;
  callbacks.user = &user;
  if (device_ != nullptr) {
    callbacks.launch = &launch;
    callbacks.copy = &copy;
    callbacks.wait = &wait;
    arenas[0] = arena;
    callbacks.arenas = arenas.data();
  }
  const FpScope state;
  return artifact_->program->run(
      plan.choice.profile,
      {.callbacks = callbacks,
       .arena = arena,
       .weights = device_ != nullptr ? device_->weights() : artifact_->weights.pointers(),
       .inputs = inputs.data(),
       .outputs = outputs.data(),
       .symbols = plan.choice.symbols.data(),
       .outputDims = dims.data()});
}

// A program whose nodes are all on devices, in a profile in which no symbol varies.
bool SessionCore::isRepeatable(std::size_t profile) const {
  const CompileSpec& spec = artifact_->manifest.spec;
  const auto isFixed = [](const auto& dim) { return dim.second.min == dim.second.max; };
  return spec.fallback == "fail" && std::ranges::all_of(targetNames(spec.target), wantsDevice) &&
         std::ranges::all_of(spec.profiles[profile].dims, isFixed);
}

Status SessionCore::call(const Plan& plan, const std::vector<void*>& inputs,
                         const std::vector<void*>& outputs, std::vector<std::int64_t>& dims,
                         KernelTimes* times) {
  std::int32_t status = 0;
  if (device_ == nullptr) {
    status = callProgram(plan, inputs, outputs, dims, times, {});
  } else {
    DeviceRun run;
    run.profile = plan.choice.profile;
    run.repeatable = isRepeatable(plan.choice.profile);
    run.program = [&](std::vector<void*> arenas) KILN_REQUIRES(mutex_) {
      return callProgram(plan, inputs, outputs, dims, times, std::move(arenas));
    };
    run.dims = &dims;
    run.times = times;
    run.pointers = inputs;
    run.pointers.insert(run.pointers.end(), outputs.begin(), outputs.end());
    KILN_ASSIGN(status, device_->run(run));
  }
  if (status == KILN_RUN_OK) return {};
  return fail(Code::kInternal, statusText(status));
}

// Checks the shapes that came out and copies what was staged.
Status SessionCore::deliver(Plan& plan, const std::vector<void*>& data,
                            std::span<const std::int64_t> dims) const {
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    kiln_output& output = *plan.outputs[i];
    const TensorInfo& info = artifact_->manifest.outputs[i];
    const auto actual = dims.first(output.rank);
    dims = dims.subspan(output.rank);
    bool sane = true;
    for (std::size_t k = 0; k < output.rank; ++k) {
      const std::int64_t most = plan.stated[i][k];
      sane = sane && (plan.choice.padded ? actual[k] == most : actual[k] >= 0 && actual[k] <= most);
    }
    if (!sane) {
      return fail(Code::kInternal, "the program gave its output \"" + info.name + "\" the shape " +
                                       shapeText("", actual) + " after stating " +
                                       shapeText("", plan.stated[i]));
    }
    if (!plan.choice.padded) {
      std::copy(actual.begin(), actual.end(), output.shape);
      output.bytes = static_cast<std::size_t>(*tensorBytes(info.dtype, actual));
    }
    if (data[i] == output.data) continue;
    const std::span<const std::int64_t> wanted(output.shape, output.rank);
    copyCorner(data[i], actual, output.data, wanted, dtypeBytes(info.dtype));
    plan.transferBytes += output.bytes;
  }
  return {};
}

// The arena holds the pages of one profile alone until a second one runs; a profile's first run starts with
// none. Dropping pages at every change would make alternating profiles pay for them again and again.
void SessionCore::enter(std::size_t profile) {
  if (current_ == profile) return;
  if (current_) observe();
  alone_ = profiles_[profile].counters.observed_peak_bytes == 0;
  if (alone_) arena_.drop();
  current_ = profile;
}

void SessionCore::observe() const {
  if (!current_ || !alone_) return;
  kiln_profile_counters& profile = profiles_[*current_].counters;
  profile.observed_peak_bytes =
      std::max(profile.observed_peak_bytes, std::min(arena_.residentBytes(), profile.planned_bytes));
}

Status SessionCore::carryOut(Plan& plan, KernelTimes* times) {
  KILN_TRY(checkContents(artifact_->manifest, plan.inputs));
  for (const kiln_output* output : plan.outputs) {
    if (output->capacity < output->bytes || (output->bytes != 0 && output->data == nullptr)) {
      return fail(Code::kInvalidArgument, std::string("output \"") + output->name + "\": the buffer has " +
                                              std::to_string(output->capacity) + " bytes, " +
                                              std::to_string(output->bytes) + " are needed for " +
                                              shapeText(output->dtype, {output->shape, output->rank}));
    }
  }
  KILN_TRY(checkOverlap(plan.inputs, plan.outputs));
  KILN_ASSIGN(const std::vector<void*> in, stageInputs(plan));
  KILN_ASSIGN(const std::vector<void*> out, stageOutputs(plan));
  enter(plan.choice.profile);
  std::vector<std::int64_t> dims(artifact_->program->outputDims(), -1);
  KILN_TRY(call(plan, in, out, dims, times));
  return deliver(plan, out, dims);
}

Status SessionCore::countIndices(std::span<const std::int64_t> outOfRange) {
  constexpr std::size_t kMaxNamed = 3;
  std::uint64_t total = 0;
  std::string nodes;
  std::size_t named = 0;
  for (std::size_t i = 0; i < outOfRange.size(); ++i) {
    const auto found = static_cast<std::uint64_t>(outOfRange[i]);
    if (found == 0) continue;
    total += found;
    indexChecks_[i].out_of_range += found;
    if (++named <= kMaxNamed)
      nodes += std::string(named > 1 ? ", " : "") + std::to_string(found) + " at node \"" +
               indexChecks_[i].node + "\"";
  }
  counters_.out_of_range_indices += total;
  if (total == 0 || !checkIndices_) return {};
  return fail(Code::kAborted,
              std::to_string(total) + (total == 1 ? " index is outside its" : " indices are outside their") +
                  " dimension, which ONNX calls an error: " + nodes + (named > kMaxNamed ? ", ..." : ""));
}

Status SessionCore::run(std::span<const kiln_tensor> inputs, std::span<kiln_output> outputs) {
  const MutexLock lock(mutex_);
  if (!ready() && !runBeforeReady_) {
    return fail(Code::kFailedPrecondition,
                "the session is not ready: call warmup first, or open it with run_before_ready");
  }
  const auto start = std::chrono::steady_clock::now();
  auto plan = this->plan(inputs, outputs, {});
  Status status = plan ? carryOut(*plan, measureKernels_ ? &kernels_ : nullptr) : Status(fail(plan.error()));
  if (status) status = countIndices(plan->outOfRange);
  const auto taken = std::chrono::steady_clock::now() - start;
  if (SpanList* const spans = kernels_.spans()) spans->addRun(start, taken);
  if (!status) {
    ++counters_.failed_runs;
    if (status.error().code == Code::kOutOfRange) ++counters_.guard_failures;
    return status;
  }
  const std::uint64_t time = count(taken);
  if (counters_.runs++ == 0) counters_.first_run_nanoseconds = time;
  counters_.run_nanoseconds += time;
  counters_.transfer_bytes +=
      plan->transferBytes + artifact_->manifest.profiles[plan->choice.profile].transferBytes;
  counters_.tensor_bytes += plan->tensorBytes;
  counters_.padding_bytes += plan->paddingBytes;
  kiln_profile_counters& profile = profiles_[plan->choice.profile].counters;
  ++profile.runs;
  profile.padded_runs += plan->choice.padded ? 1 : 0;
  counters_.path = profiles_[plan->choice.profile].path.c_str();
  return {};
}

Status SessionCore::warmProfile(std::size_t profile, const FixtureProfile& files, double relativeTolerance) {
  const Manifest& manifest = artifact_->manifest;
  std::vector<npy::Tensor> in;
  std::vector<kiln_tensor> inputs;
  for (std::size_t i = 0; i < files.inputs.size(); ++i) {
    KILN_ASSIGN(npy::Tensor tensor,
                readFixture(artifact_->directory, files.inputs[i], manifest.inputs[i].dtype));
    in.push_back(std::move(tensor));
  }
  for (std::size_t i = 0; i < in.size(); ++i) {
    inputs.push_back({manifest.inputs[i].name.c_str(), dtypeName(in[i].dtype).data(), in[i].shape.data(),
                      in[i].shape.size(), in[i].data.data(), in[i].data.size()});
  }
  OutputBuffers got(manifest.outputs);
  auto plan = this->plan(inputs, got.outputs(), profile);
  if (plan) got.allocate();
  if (const Status ran = plan ? carryOut(*plan, nullptr) : Status(fail(plan.error())); !ran) {
    // A fixture that does not fit its own program is the artifact's fault, not the caller's.
    const bool callers = ran.error().code == Code::kInvalidArgument || ran.error().code == Code::kOutOfRange;
    return fail(callers ? Code::kDataLoss : ran.error().code, ran.error().message);
  }
  for (std::size_t i = 0; i < files.outputs.size(); ++i) {
    const kiln_output& output = got.outputs()[i];
    KILN_ASSIGN(const npy::Tensor expected,
                readFixture(artifact_->directory, files.outputs[i], manifest.outputs[i].dtype));
    const std::span<const std::int64_t> shape(output.shape, output.rank);
    const std::string differs =
        std::string("output \"") + output.name + "\" differs from " + files.outputs[i];
    if (expected.dtype != manifest.outputs[i].dtype ||
        !std::equal(shape.begin(), shape.end(), expected.shape.begin(), expected.shape.end())) {
      return fail(Code::kAborted, differs + ": got " + shapeText(output.dtype, shape) + ", expected " +
                                      shapeText(dtypeName(expected.dtype), expected.shape));
    }
    const Tolerance tolerance =
        toleranceFor(expected.dtype, {relativeTolerance, files.absoluteTolerances[i]});
    KILN_ASSIGN(const Comparison comparison, compare(expected.dtype, got.bytes(i), expected.data, tolerance));
    if (!comparison.passed()) {
      return fail(Code::kAborted,
                  differs + ": " + comparison.text() + "; the artifact must not be used on this machine");
    }
  }
  return {};
}

Status SessionCore::warmup() {
  const MutexLock lock(mutex_);
  ready_.store(false, std::memory_order_release);
  const auto start = std::chrono::steady_clock::now();
  KILN_ASSIGN(const FixtureList list, readFixtureList(artifact_->directory, artifact_->manifest));
  for (std::size_t i = 0; i < artifact_->manifest.profiles.size(); ++i) {
    const std::string& name = artifact_->manifest.profiles[i].name;
    const auto files = std::find_if(list.profiles.begin(), list.profiles.end(),
                                    [&](const FixtureProfile& one) { return one.name == name; });
    if (const Status warm = warmProfile(i, *files, list.relativeTolerance); !warm) {
      return fail(warm.error().in("warmup of profile \"" + name + "\""));
    }
  }
  counters_.warmup_nanoseconds = count(std::chrono::steady_clock::now() - start);
  ready_.store(true, std::memory_order_release);
  return {};
}

kiln_counters SessionCore::counters() const {
  const MutexLock lock(mutex_);
  observe();
  kiln_counters counters = counters_;
  for (const Profile& profile : profiles_)
    counters.observed_peak_bytes =
        std::max(counters.observed_peak_bytes, profile.counters.observed_peak_bytes);
  if (device_ == nullptr) return counters;
  counters.device_observed_bytes = device_->observedBytes();
  counters.device_transfer_bytes = device_->transferredBytes();
  counters.replayed_runs = device_->replays();
  return counters;
}

std::size_t SessionCore::profiles(std::span<kiln_profile_counters> profiles) const {
  const MutexLock lock(mutex_);
  observe();
  for (std::size_t i = 0; i < std::min(profiles.size(), profiles_.size()); ++i)
    profiles[i] = profiles_[i].counters;
  return profiles_.size();
}

std::size_t SessionCore::indexChecks(std::span<kiln_index_check> checks) const {
  const MutexLock lock(mutex_);
  std::copy_n(indexChecks_.begin(), std::min(checks.size(), indexChecks_.size()), checks.begin());
  return indexChecks_.size();
}

const char* SessionCore::symbolOf(const KernelTimes::Entry& entry) const {
  if (entry.name != nullptr) return entry.name->c_str();
  const auto name = names_.find(artifact_->program->relative(entry.kernel));
  return name == names_.end() ? "(no symbol)" : name->second.c_str();
}

std::size_t SessionCore::kernels(std::span<kiln_kernel_time> kernels) const {
  const MutexLock lock(mutex_);
  const auto& entries = kernels_.entries();
  for (std::size_t i = 0; i < std::min(kernels.size(), entries.size()); ++i)
    kernels[i] = {symbolOf(entries[i]), entries[i].calls, entries[i].tasks, count(entries[i].time)};
  return entries.size();
}

std::size_t SessionCore::spans(std::span<kiln_span> spans, std::uint64_t& left) const {
  const MutexLock lock(mutex_);
  left = 0;
  const SpanList* const list = kernels_.spans();
  if (list == nullptr) return 0;
  left = list->left();
  for (std::size_t i = 0; i < std::min(spans.size(), list->spans().size()); ++i) {
    const Span& one = list->spans()[i];
    spans[i] = {one.kernel == Span::kWholeRun ? nullptr : symbolOf(kernels_.entries()[one.kernel]),
                one.run,
                one.tasks,
                count(one.start),
                count(one.time),
                one.thread == Span::kDevice ? KILN_ON_DEVICE : static_cast<std::int32_t>(one.thread)};
  }
  return list->spans().size();
}

}  // namespace kiln::runtime
