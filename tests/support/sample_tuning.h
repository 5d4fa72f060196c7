// A plan of two kernels, a record in which the first one got faster, and the statement about it.
#pragma once

#include "manifest/statement/tune_statement.h"
#include "manifest/tuning/record.h"

namespace kiln::testing_support {

inline std::string hashOf(char digit) {
  return "sha256:" + std::string(64, digit);
}

inline TuningCandidate finalist(Schedule schedule, std::uint64_t median, std::uint64_t spread) {
  return {TuningCandidate::State::kFinalist, std::move(schedule), median, spread, 30};
}

inline KernelPlan samplePlan() {
  return {"cpu:x86-64-v4",
          {{hashOf('1'),
            "contraction",
            {"gemm"},
            12,
            1'000'000,
            {{"tile", {96, 256}}},
            {{"tile", {{96, 256}, {48, 128}, {12, 64}, {1, 1}}}}},
           {hashOf('2'),
            "elementwise",
            {"relu"},
            1,
            1000,
            {{"tile", {1, 4096}}},
            {{"tile", {{1, 4096}, {1, 2048}}}}}}};
}

inline TuningRecord sampleRecord() {
  return {"cpu:x86-64-v4",
          {1, 3, 10, 5, 60, 7},
          {"cpu", "a processor", {"avx2", "fma"}, 2, {49152, 1 << 20}},
          {{hashOf('1'),
            "contraction",
            {finalist({{"tile", {96, 256}}}, 1000, 10),
             finalist({{"tile", {48, 128}}}, 800, 10),
             {TuningCandidate::State::kMeasured, {{"tile", {12, 64}}}, 1500, 20, 10},
             {TuningCandidate::State::kWrong, {{"tile", {1, 1}}}}}},
           {hashOf('2'),
            "elementwise",
            {finalist({{"tile", {1, 4096}}}, 500, 5), finalist({{"tile", {1, 2048}}}, 495, 5)}}}};
}

inline TuneStatement sampleTune() {
  TuneStatement tune;
  tune.builderId = "urn:kiln:builder:test";
  tune.invocationId = "job-4";
  tune.action = digestOf("tune");
  tune.plan = digestOf("plan");
  tune.worker = "w1";
  tune.operatorName = "acme";
  tune.receipt = digestOf("receipt");
  tune.startedOn = parseRfc3339("2026-11-22T07:00:00Z").value();
  tune.finishedOn = parseRfc3339("2026-11-22T07:01:00Z").value();
  tune.target = "cpu:x86-64-v4";
  tune.deviceKind = "cpu";
  tune.deviceName = "a processor";
  tune.kernels = 2;
  tune.faster = 1;
  return tune;
}

}  // namespace kiln::testing_support
