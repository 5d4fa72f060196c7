// The reader against hostile bytes. No MLIR, so that it runs under the sanitizers.
#include "compiler_core/frontend/onnx/reader/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "compiler_core/frontend/onnx/reader/load.h"
#include "compiler_core/frontend/onnx/reader/tensor_data.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/temp_directory.h"

namespace kiln::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace testing_support;

std::string tinyModel() {
  return OnnxBuilder(13)
      .input("x", {1, "N"})
      .output("y")
      .initializer(onnxTensor("w", {2}, std::vector<float>{1, 2}))
      .node("Add", {"x", "w"}, {"s"}, {}, "add")
      .node("Relu", {"s"}, {"y"}, {}, "relu")
      .build();
}

Status check(const std::string& bytes) {
  KILN_ASSIGN(Model model, parseModel(asBytes(bytes)));
  return validate(model);
}

void expectInvalid(const std::string& bytes, std::string_view part, Code code = Code::kInvalidArgument) {
  auto result = check(bytes);
  ASSERT_FALSE(result) << "accepted; expected " << part;
  EXPECT_EQ(result.error().code, code);
  EXPECT_THAT(result.error().message, HasSubstr(std::string(part)));
}

TEST(Parse, ReadsWhatTheBuilderWrote) {
  std::string bytes = tinyModel();
  auto model = parseModel(asBytes(bytes));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->producer, "kiln-test");
  EXPECT_EQ(model->opsets.at(""), 13);
  ASSERT_EQ(model->graph.nodes.size(), 2u);
  EXPECT_EQ(model->graph.nodes[0].name, "add");
  EXPECT_EQ(model->graph.nodes[1].inputs, std::vector<std::string_view>{"s"});
  ASSERT_EQ(model->graph.inputs.size(), 1u);
  EXPECT_EQ(model->graph.inputs[0].shape->at(0).value, 1);
  EXPECT_EQ(model->graph.inputs[0].shape->at(1).name, "N");
  EXPECT_EQ(model->graph.initializers[0].raw->size(), 8u);
  EXPECT_TRUE(validate(*model));
}

TEST(Parse, WhatExportersWriteForUnknownDimensionsIsNeitherNumberNorName) {
  std::vector<OnnxDim> dims = {"", "?", "-1", "None", -1, std::int64_t{-7}, INT64_MIN, 0, "N", "??"};
  const std::string bytes = OnnxBuilder().input("x", dims).output("y").node("Relu", {"x"}, {"y"}).build();
  auto model = parseModel(asBytes(bytes));
  ASSERT_TRUE(model) << model.error().message;
  const auto& shape = *model->graph.inputs.front().shape;
  ASSERT_EQ(shape.size(), dims.size());
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_FALSE(shape[i].value) << i;
    EXPECT_EQ(shape[i].name, "") << i;
  }
  EXPECT_EQ(shape[7].value, 0);
  EXPECT_EQ(shape[8].name, "N");
  EXPECT_EQ(shape[9].name, "??");
}

TEST(Parse, NamesAreBoundedWhereverTheyStand) {
  const auto named = [](std::size_t length) {
    const std::string name(length, 'n');
    std::vector<std::string> models;
    const auto model = [&](OnnxBuilder builder) { models.push_back(builder.build()); };
    model(OnnxBuilder().input("x", {1}).output("y").node("Relu", {"x"}, {"y"}, {}, name));
    model(OnnxBuilder().input("x", {1}).output("y").node(name, {"x"}, {"y"}));
    model(OnnxBuilder().input("x", {1}).output("y").node("Relu", {"x"}, {"y"}, {}, "", name));
    model(OnnxBuilder().input(name, {1}).output("y").node("Relu", {name}, {"y"}));
    model(OnnxBuilder().input("x", {1}).output(name).node("Relu", {"x"}, {name}));
    model(OnnxBuilder().input("x", {name.c_str()}).output("y").node("Relu", {"x"}, {"y"}));
    model(OnnxBuilder().input("x", {1}).output("y").node("Relu", {"x"}, {"y"}, {onnxInt(name, 1)}));
    model(OnnxBuilder().input("x", {1}).output("y").importDomain(name, 1).node("Relu", {"x"}, {"y"}));
    auto weight = onnxTensor(name, {1}, std::vector<float>{1});
    model(OnnxBuilder().input("x", {1}).output("y").initializer(weight).node("Add", {"x", name}, {"y"}));
    return models;
  };
  for (const std::string& bytes : named(4096)) {
    auto model = parseModel(asBytes(bytes));
    EXPECT_TRUE(model) << model.error().message.substr(0, 200);
  }
  for (const std::size_t length : {std::size_t{4097}, std::size_t{8} << 20})
    for (const std::string& bytes : named(length)) {
      auto model = parseModel(asBytes(bytes));
      ASSERT_FALSE(model);
      EXPECT_EQ(model.error().code, Code::kUnimplemented);
      EXPECT_THAT(model.error().message, HasSubstr("is a name of " + std::to_string(length) + " bytes"));
      EXPECT_LT(model.error().message.size(), 300u) << "the name itself is not repeated";
    }
  EXPECT_THAT(parseModel(asBytes(named(4097).front())).error().message, HasSubstr("graph: node[0]: "));
}

TEST(Parse, EmptyAndForeignFiles) {
  expectInvalid("", "empty (0 bytes)");
  expectInvalid("#!/bin/sh\necho this is no model, whatever it is called\n", "invalid ONNX model");
  expectInvalid(std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16), "invalid ONNX model");
  expectInvalid(ProtoMessage().varint(1, 8).text(2, "x").bytes(), "no graph");
}

TEST(Parse, EveryTruncationIsRefusedOrHarmless) {
  std::string bytes = tinyModel();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    auto result = check(bytes.substr(0, length));
    if (!result) {
      EXPECT_EQ(result.error().code, Code::kInvalidArgument) << length;
    }
  }
  // A cut inside the graph names the place.
  expectInvalid(bytes.substr(0, bytes.size() / 2), "where");
}

TEST(Parse, AClaimOfThreeGigabytesAllocatesNothing) {
  std::string bytes = ProtoMessage().varint(1, 8).bytes();
  bytes += std::string("\x3a\x80\x80\x80\x80\x0c", 6);  // graph, 3 GiB
  expectInvalid(bytes, "claims 3221225472 bytes where 0 are left");
}

TEST(Parse, MoreThanTenBytesOfNumber) {
  expectInvalid(std::string(12, '\xff'), "a number of more than 10 bytes");
}

TEST(Parse, GroupsAreRefused) {
  expectInvalid("\x0b\x0c", "wire type 3");
}

TEST(Parse, WrongWireTypeNamesThePlace) {
  ProtoMessage graph;
  graph.message(1, ProtoMessage().varint(5, 3));
  expectInvalid(ProtoMessage().message(7, graph).bytes(), "graph: node[0]: field 5 has wire type 0");
}

TEST(Parse, DeepNestingIsBounded) {
  ProtoMessage graph;
  for (int i = 0; i < 100000 && graph.bytes().size() < (1u << 20); ++i) {
    ProtoMessage outer;
    outer.message(
        1, ProtoMessage().text(4, "If").message(5, ProtoMessage().text(1, "then_branch").message(6, graph)));
    graph = std::move(outer);
    if (i == 200) break;
  }
  expectInvalid(ProtoMessage().message(7, graph).bytes(), "nested deeper than 8", Code::kUnimplemented);
}

TEST(Parse, ElementsAreBounded) {
  ProtoMessage node;
  for (int i = 0; i < 100; ++i) node.text(1, "");
  std::string bytes = ProtoMessage().message(7, ProtoMessage().message(1, node)).bytes();
  auto result = parseModel(asBytes(bytes), {.elements = 50});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "ONNX model: graph: node[0]: more than 50 elements in one model file are not served");
  EXPECT_EQ(result.error().code, Code::kUnimplemented);
}

TEST(Parse, AFileBeyondTheLimitIsNotServedRatherThanInvalid) {
  const std::string bytes = tinyModel();
  const auto result = parseModel(asBytes(bytes), {.bytes = 10});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kUnimplemented);
  EXPECT_THAT(result.error().message, HasSubstr("at most 10 are read"));
}

TEST(Parse, NamesAreText) {
  auto named = [](std::string_view name) {
    return OnnxBuilder().input("x", {1}).output("y").node("Relu", {"x"}, {"y"}, {}, name).build();
  };
  expectInvalid(named("\xff\xfe"), "no UTF-8 text");
  expectInvalid(named("a\nb"), "no UTF-8 text");
  expectInvalid(named("\xc0\x80"), "no UTF-8 text");
  EXPECT_TRUE(check(named("größe/層")));
}

// onnx.compose.merge_models and skl2onnx write one of a domain twice.
TEST(Parse, AnOpsetImportedTwiceIsOneUnlessItsVersionsDiffer) {
  const auto importing = [](std::string_view domain, std::int64_t version) {
    return OnnxBuilder(17).input("x", {1}).output("x").importDomain(domain, version).build();
  };
  for (const char* domain : {"", "ai.onnx"}) {
    expectInvalid(importing(domain, 9), "domain '' is imported twice, as version 17 and 9");
    const std::string bytes = importing(domain, 17);
    const auto model = parseModel(asBytes(bytes));
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(model->opsets, (Opsets{{"", 17}}));
  }
}

TEST(Validate, Cycle) {
  auto model = OnnxBuilder()
                   .input("x", {1})
                   .output("c")
                   .node("Add", {"x", "b"}, {"a"}, {}, "first")
                   .node("Relu", {"a"}, {"b"}, {}, "second")
                   .node("Relu", {"b"}, {"c"}, {}, "third")
                   .build();
  expectInvalid(model, "the graph has a cycle; node '");
  auto message = check(model).error().message;
  EXPECT_THAT(message, testing::AnyOf(HasSubstr("'first'"), HasSubstr("'second'")));
}

TEST(Validate, Names) {
  expectInvalid(OnnxBuilder()
                    .input("x", {1})
                    .output("y")
                    .node("Relu", {"x"}, {"y"})
                    .node("Abs", {"x"}, {"y"}, {}, "again")
                    .build(),
                "the value 'y' is defined twice, the second time by node 'again'");
  expectInvalid(OnnxBuilder().input("x", {1}).input("x", {2}).output("x").build(),
                "input 'x' is declared twice");
  expectInvalid(OnnxBuilder().input("x", {1}).output("y").node("Relu", {"ghost"}, {"y"}, {}, "n").build(),
                "node 'n' (Relu, node[0]) uses the value 'ghost', which nothing defines");
  expectInvalid(OnnxBuilder().input("x", {1}).output("nowhere").build(),
                "output 'nowhere' is defined by nothing");
  expectInvalid(OnnxBuilder().input("x", {1}).build(), "no outputs");
  // ONNX allows it.
  expectInvalid(OnnxBuilder().input("x", {1}).output("x").output("x").build(), "output 'x' is listed twice",
                Code::kUnimplemented);
  auto weight = onnxTensor("w", {1}, std::vector<float>{1});
  expectInvalid(OnnxBuilder().input("x", {1}).output("x").initializer(weight).initializer(weight).build(),
                "initializer 'w' is given twice");
}

TEST(Validate, AttributesAreGivenOnce) {
  expectInvalid(OnnxBuilder()
                    .input("x", {1})
                    .output("y")
                    .node("Softmax", {"x"}, {"y"}, {onnxInt("axis", 0), onnxInt("axis", 1)}, "n")
                    .build(),
                "node 'n' (Softmax, node[0]) has the attribute 'axis' twice");
}

// A document holds integers of 53 bits.
TEST(Parse, VersionsAreSmallNumbers) {
  for (const std::int64_t version : {std::int64_t{-1}, INT64_MIN, INT64_MAX, std::int64_t{1} << 31}) {
    expectInvalid(OnnxBuilder(version).input("x", {1}).output("x").build(), "the version of domain '' is");
    const std::string model =
        ProtoMessage().varint(1, static_cast<std::uint64_t>(version)).bytes() + tinyModel();
    expectInvalid(model, "the IR version is " + std::to_string(version));
  }
}

// They are not served, but they define their names.
TEST(Validate, SparseInitializers) {
  const auto model = [] { return OnnxBuilder().input("x", {1}).output("y").node("Add", {"x", "w"}, {"y"}); };
  EXPECT_TRUE(check(model().sparseInitializer("w").build()));
  expectInvalid(model().sparseInitializer("w").sparseInitializer("w").build(), "'w' is given twice");
  expectInvalid(model().sparseInitializer("").build(), "an initializer has no name");
}

TEST(Validate, SortsNodes) {
  std::string bytes = OnnxBuilder()
                          .input("x", {1})
                          .output("c")
                          .node("Relu", {"b"}, {"c"}, {}, "third")
                          .node("Relu", {"x"}, {"a"}, {}, "first")
                          .node("Relu", {"a"}, {"b"}, {}, "second")
                          .build();
  auto model = parseModel(asBytes(bytes));
  ASSERT_TRUE(model && validate(*model));
  EXPECT_EQ(model->graph.nodes[0].name, "first");
  EXPECT_EQ(model->graph.nodes[2].name, "third");
}

Result<ir::Weight> dataOf(const ProtoMessage& message) {
  static std::string bytes;
  bytes = OnnxBuilder().input("x", {1}).output("x").initializer(message).build();
  KILN_ASSIGN(Model model, parseModel(asBytes(bytes)));
  ExternalData none("");
  return tensorData(model.graph.initializers[0], nullptr, none);
}

TEST(TensorData, PayloadMustFitTheShape) {
  auto expect = [](const ProtoMessage& tensor, std::string_view part, Code code = Code::kInvalidArgument) {
    auto result = dataOf(tensor);
    ASSERT_FALSE(result) << part;
    EXPECT_EQ(result.error().code, code);
    EXPECT_THAT(result.error().message, HasSubstr(std::string(part)));
  };
  expect(onnxTensor("w", {3}, std::vector<float>{1}), "raw_data has 4 bytes, the shape needs 12");
  expect(onnxTensor("w", {-1}, std::vector<float>{}), "negative dimension");
  expect(onnxTensor("w", {1 << 30, 1 << 30, 1 << 30}, std::vector<float>{}), "absurd dimensions");
  expect(onnxTensor("w", std::vector<std::int64_t>(17, 1), std::vector<float>{1}), "rank 17",
         Code::kUnimplemented);
  // Nine thousand million elements claimed by a field without any.
  expect(ProtoMessage().varint(1, 9000000000u).varint(2, kOnnxFloat).text(8, "w"),
         "fewer values than the shape");
  expect(ProtoMessage().varint(1, 1).varint(2, kOnnxInt64).text(8, "w").varint(7, 1).varint(7, 2),
         "more values");
  expect(ProtoMessage().varint(1, 2).varint(2, kOnnxBool).text(8, "w").text(9, std::string("\1\2", 2)),
         "neither 0 nor 1");
  expect(ProtoMessage().varint(1, 3).varint(2, kOnnxUint4).text(8, "w").text(9, "abc"),
         "raw_data has 3 bytes, the shape needs 2");
  expect(ProtoMessage().varint(1, 1).varint(2, 8).text(8, "w").text(9, "ab"),
         "element type string is not served", Code::kUnimplemented);
  expect(ProtoMessage().varint(1, 1).varint(2, 77).text(8, "w").text(9, "ab"), "type 77",
         Code::kUnimplemented);
}

std::vector<std::uint8_t> bytesOf(const ProtoMessage& message) {
  auto weight = dataOf(message);
  EXPECT_TRUE(weight) << weight.error().message;
  return weight ? std::vector<std::uint8_t>(weight->bytes.begin(), weight->bytes.end())
                : std::vector<std::uint8_t>{};
}

// Several elements share a byte in the file, the first in its lowest bits; in memory each has one, signs
// extended.
TEST(TensorData, TypesBelowAByteAreUnpacked) {
  const std::string packed("\x8f\x71\x0e", 3);
  auto tensor = [&](int type, std::uint64_t count) {
    return ProtoMessage().varint(1, count).varint(2, static_cast<std::uint64_t>(type)).text(8, "w");
  };
  EXPECT_THAT(bytesOf(tensor(kOnnxUint4, 5).text(9, packed)), ElementsAre(15, 8, 1, 7, 14));
  EXPECT_THAT(bytesOf(tensor(kOnnxInt4, 5).text(9, packed)), ElementsAre(0xff, 0xf8, 1, 7, 0xfe));
  EXPECT_THAT(bytesOf(tensor(kOnnxUint2, 6).text(9, "\x1b\x0e")), ElementsAre(3, 2, 1, 0, 2, 3));
  EXPECT_THAT(bytesOf(tensor(kOnnxInt2, 6).text(9, "\x1b\x0e")), ElementsAre(0xff, 0xfe, 1, 0, 0xfe, 0xff));
  // In int32_data a number holds what a byte of raw_data would.
  EXPECT_THAT(bytesOf(tensor(kOnnxInt4, 3).varint(5, 0x8f).varint(5, 1)), ElementsAre(0xff, 0xf8, 1));
}

TEST(TensorData, CodesAreKept) {
  // A signalling NaN with a payload, as float16 in int32_data; an unsigned number in uint64_data.
  EXPECT_THAT(bytesOf(ProtoMessage().varint(1, 1).varint(2, kOnnxHalf).text(8, "w").varint(5, 0x7d23)),
              ElementsAre(0x23, 0x7d));
  EXPECT_THAT(
      bytesOf(ProtoMessage().varint(1, 1).varint(2, kOnnxUint32).text(8, "w").varint(11, 0xfffffffeu)),
      ElementsAre(0xfe, 0xff, 0xff, 0xff));
  EXPECT_THAT(
      bytesOf(
          ProtoMessage().varint(1, 2).varint(2, kOnnxFloat8).text(8, "w").varint(5, 0x7f).varint(5, 0x80)),
      ElementsAre(0x7f, 0x80));
}

TEST(TensorData, TypedFieldsAreReadAndPackedFloatsAreViews) {
  float values[2] = {1.5f, -2};
  std::string_view packed(reinterpret_cast<const char*>(values), 8);
  auto floats = dataOf(ProtoMessage().varint(1, 2).varint(2, kOnnxFloat).text(8, "w").text(4, packed));
  ASSERT_TRUE(floats) << floats.error().message;
  EXPECT_EQ(std::memcmp(floats->bytes.data(), values, 8), 0);
  auto single =
      dataOf(ProtoMessage().varint(1, 2).varint(2, kOnnxFloat).text(8, "w").fixed32(4, 1.5f).fixed32(4, -2));
  ASSERT_TRUE(single) << single.error().message;
  EXPECT_EQ(std::memcmp(single->bytes.data(), values, 8), 0);
  auto longs = dataOf(
      ProtoMessage().varint(1, 2).varint(2, kOnnxInt64).text(8, "w").text(7, std::string("\x05\xac\x02", 3)));
  ASSERT_TRUE(longs) << longs.error().message;
  std::int64_t expected[2] = {5, 300};
  EXPECT_EQ(std::memcmp(longs->bytes.data(), expected, 16), 0);
}

// Bytes flipped, removed and repeated: whatever comes out, it ends, and with one of the two codes.
TEST(Parse, MutatedModels) {
  const std::string original = tinyModel();
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = original;
    for (unsigned edits = 1 + random() % 4; edits-- > 0 && !bytes.empty();) {
      std::size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, 1 + random() % 3);
          break;
        default:
          bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 20));
      }
    }
    auto model = parseModel(asBytes(bytes));
    if (!model) {
      EXPECT_EQ(model.error().code, Code::kInvalidArgument);
      continue;
    }
    ExternalData none("/nonexistent");
    for (const Tensor& tensor : model->graph.initializers) (void)tensorData(tensor, nullptr, none);
    (void)validate(*model);
  }
}

TEST(Load, NamesTheFile) {
  TempDirectory directory;
  auto missing = loadModel(directory / "none.onnx");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("none.onnx"));
  auto folder = loadModel(directory.path());
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message, HasSubstr("no regular file"));
}

}  // namespace
}  // namespace kiln::onnx
