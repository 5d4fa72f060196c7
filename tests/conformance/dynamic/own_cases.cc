#include "tests/conformance/dynamic/own_cases.h"

#include <filesystem>
#include <fstream>

#include "tests/support/onnx_builder.h"

namespace kiln::conformance {
namespace {

using namespace testing_support;
using Dims = std::vector<std::int64_t>;

// One model, and values for its inputs. Extents differ where operators let them, so that each becomes a
// symbol of its own.
class Own {
 public:
  explicit Own(std::string name, std::int64_t opset = 18) : name_(std::move(name)), model_(opset) {}

  Own& real(const char* name, const Dims& dims) {
    std::vector<float> values(count(dims));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 16;
    return input(name, dims, kOnnxFloat, onnxTensor("", dims, values));
  }
  Own& integer(const char* name, const Dims& dims, const std::vector<std::int64_t>& values) {
    return input(name, dims, kOnnxInt64, onnxTensor("", dims, values));
  }
  Own& truth(const char* name, bool value) {
    ProtoMessage tensor;
    tensor.varint(2, kOnnxBool).text(9, std::string(1, static_cast<char>(value)));
    return input(name, {}, kOnnxBool, tensor);
  }
  Own& constant(const char* name, const Dims& dims, const std::vector<std::int64_t>& values) {
    model_.initializer(onnxTensor(name, dims, values));
    return *this;
  }
  Own& weight(const char* name, const Dims& dims, float value) {
    model_.initializer(onnxTensor(name, dims, std::vector<float>(count(dims), value)));
    return *this;
  }
  Own& node(std::string_view op, const std::vector<std::string>& inputs,
            const std::vector<std::string>& outputs, const std::vector<ProtoMessage>& attributes = {},
            std::string_view domain = "", std::int64_t version = 1) {
    model_.node(op, inputs, outputs, attributes, "", domain);
    if (!domain.empty()) model_.importDomain(domain, version);
    return *this;
  }
  Own& output(const char* name, int type = kOnnxFloat) {
    model_.output(name, type);
    return *this;
  }

  Case write(const std::string& folder) const {
    const std::string own = folder + "/test_" + name_, data = own + "/test_data_set_0";
    std::filesystem::create_directories(data);
    std::ofstream(own + "/model.onnx", std::ios::binary) << model_.build();
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      std::ofstream(data + "/input_" + std::to_string(i) + ".pb", std::ios::binary) << inputs_[i].bytes();
    return {"own/test_" + name_, "node", own + "/model.onnx", data, "", {}};
  }

 private:
  static std::size_t count(const Dims& dims) {
    std::size_t result = 1;
    for (const std::int64_t dim : dims) result *= static_cast<std::size_t>(dim);
    return result;
  }
  Own& input(const char* name, const Dims& dims, int type, const ProtoMessage& tensor) {
    std::vector<OnnxDim> declared;
    for (const std::int64_t dim : dims) declared.emplace_back(dim);
    model_.input(name, declared, type);
    inputs_.push_back(tensor);
    return *this;
  }

  std::string name_;
  OnnxBuilder model_;
  std::vector<ProtoMessage> inputs_;
};

// Operators of ai.onnx.ml.
template <class Add>
void addPipelines(const Add& add) {
  const auto one = [&](const char* name, const char* op, const std::vector<ProtoMessage>& attributes) {
    add(name).real("x", {5, 3}).node(op, {"x"}, {"y"}, attributes, "ai.onnx.ml", 5).output("y");
  };
  const auto labelled = [&](const char* name, const char* op, std::vector<ProtoMessage> attributes,
                            const char* labels) {
    attributes.push_back(onnxInts(labels, {4, 7, 9}));
    add(name)
        .real("x", {5, 3})
        .node(op, {"x"}, {"label", "y"}, attributes, "ai.onnx.ml", 5)
        .output("label", kOnnxInt64)
        .output("y");
  };
  const ProtoMessage nine = onnxReals("coefficients", {1, -1, 0.5f, 2, 0, 1, -1, 1, 0.25f}),
                     vectors = onnxReals("support_vectors", {1, 0, 0, 0, 1, 0, 0, 0, 1}),
                     kernel = onnxText("kernel_type", "RBF"),
                     gamma = onnxReals("kernel_params", {0.5f, 0, 3});
  one("scaler", "Scaler", {onnxReals("offset", {1, 2, 3}), onnxReals("scale", {2, 3, 4})});
  one("normalizer", "Normalizer", {onnxText("norm", "L2")});
  one("imputer", "Imputer",
      {onnxReals("imputed_value_floats", {9}), onnxReal("replaced_value_float", -0.5f)});
  one("feature_vectorizer", "FeatureVectorizer", {onnxInts("inputdimensions", {4})});
  one("one_hot_encoder", "OneHotEncoder", {onnxInts("cats_int64s", {-2, 0, 1})});
  one("label_encoder", "LabelEncoder",
      {onnxReals("keys_floats", {-0.5f, 1}), onnxReals("values_floats", {3, 4})});
  one("zip_map", "ZipMap", {onnxInts("classlabels_int64s", {1, 2, 3})});
  one("linear_regressor", "LinearRegressor",
      {onnxReals("coefficients", {1, 2, 3}), onnxReals("intercepts", {1})});
  one("svm_regressor", "SVMRegressor",
      {kernel, gamma, vectors, onnxReals("coefficients", {1, -1, 2}), onnxReals("rho", {1}),
       onnxInt("n_supports", 3)});
  labelled("linear_classifier", "LinearClassifier", {nine, onnxText("post_transform", "SOFTMAX")},
           "classlabels_ints");
  labelled("svm_classifier", "SVMClassifier",
           {kernel, gamma, vectors, onnxInts("vectors_per_class", {1, 1, 1}),
            onnxReals("rho", {0, 0.1f, 0.2f}), onnxReals("coefficients", {1, -1, 1, 1, -1, -1}),
            onnxReals("prob_a", {-1, -2, -1}), onnxReals("prob_b", {0, 0.1f, 0})},
           "classlabels_ints");
  const std::vector<ProtoMessage> nodes = {
      onnxInts("nodes_treeids", {0, 0, 0, 1, 1, 1}),
      onnxInts("nodes_nodeids", {0, 1, 2, 0, 1, 2}),
      onnxInts("nodes_featureids", {0, 0, 0, 2, 0, 0}),
      onnxReals("nodes_values", {0.5f, 0, 0, -1, 0, 0}),
      onnxInts("nodes_truenodeids", {1, 0, 0, 1, 0, 0}),
      onnxInts("nodes_falsenodeids", {2, 0, 0, 2, 0, 0}),
      onnxTexts("nodes_modes", {"BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"})};
  const auto leaves = [&](const std::string& kind, const std::vector<std::int64_t>& ids) {
    std::vector<ProtoMessage> all = nodes;
    all.push_back(onnxInts(kind + "_treeids", {0, 0, 1, 1}));
    all.push_back(onnxInts(kind + "_nodeids", {1, 2, 1, 2}));
    all.push_back(onnxReals(kind + "_weights", {1, 2, 3, 4}));
    all.push_back(onnxInts(kind + "_ids", ids));
    return all;
  };
  one("tree_ensemble_regressor", "TreeEnsembleRegressor", leaves("target", {0, 0, 0, 0}));
  labelled("tree_ensemble_classifier", "TreeEnsembleClassifier", leaves("class", {0, 1, 2, 0}),
           "classlabels_int64s");
  ProtoMessage modes;
  modes.varint(1, 1).varint(2, kOnnxUint8).text(9, std::string(1, '\0'));
  one("tree_ensemble", "TreeEnsemble",
      {onnxTensorAttribute("nodes_splits", onnxTensor("", {1}, std::vector<float>{0.5f})),
       onnxTensorAttribute("nodes_modes", modes),
       onnxTensorAttribute("leaf_weights", onnxTensor("", {2}, std::vector<float>{1, 2})),
       onnxInts("nodes_featureids", {1}), onnxInts("nodes_truenodeids", {0}),
       onnxInts("nodes_falsenodeids", {1}), onnxInts("nodes_trueleafs", {1}),
       onnxInts("nodes_falseleafs", {1}), onnxInts("leaf_targetids", {0, 0}), onnxInts("tree_roots", {0}),
       onnxInt("n_targets", 1)});
}

std::vector<Own> all() {
  std::vector<Own> cases;
  const auto add = [&](const char* name, std::int64_t opset = 18) -> Own& {
    return cases.emplace_back(name, opset);
  };
  add("reshape")
      .real("x", {3, 4, 5})
      .constant("to", {2}, {0, -1})
      .node("Reshape", {"x", "to"}, {"y"})
      .output("y");
  add("expand")
      .real("x", {3, 1, 5})
      .constant("to", {4}, {2, 1, 4, 1})
      .node("Expand", {"x", "to"}, {"y"})
      .output("y");
  add("tile").real("x", {3, 5}).constant("by", {2}, {2, 3}).node("Tile", {"x", "by"}, {"y"}).output("y");
  add("slice")
      .real("x", {6, 9})
      .constant("from", {2}, {1, -1})
      .constant("to", {2}, {-1, -100})
      .constant("axes", {2}, {0, 1})
      .constant("steps", {2}, {1, -2})
      .node("Slice", {"x", "from", "to", "axes", "steps"}, {"y"})
      .output("y");
  add("pad").real("x", {3, 5}).constant("by", {4}, {1, 0, 0, 2}).node("Pad", {"x", "by"}, {"y"}).output("y");
  add("constantofshape")
      .real("x", {3, 5})
      .node("Shape", {"x"}, {"shape"})
      .node("ConstantOfShape", {"shape"}, {"zeros"})
      .node("Add", {"zeros", "x"}, {"y"})
      .output("y");
  add("range")
      .real("x", {7})
      .constant("zero", {}, {0})
      .constant("one", {}, {1})
      .node("Size", {"x"}, {"n"})
      .node("Range", {"zero", "n", "one"}, {"y"})
      .output("y", kOnnxInt64);
  add("upsample", 9)
      .real("x", {2, 3, 5, 7})
      .node("Constant", {}, {"by"},
            {onnxTensorAttribute("value", onnxTensor("", {4}, std::vector<float>{1, 1, 2, 3}))})
      .node("Upsample", {"x", "by"}, {"y"})
      .output("y");
  add("topk")
      .real("x", {5, 9})
      .constant("k", {1}, {1})
      .node("TopK", {"x", "k"}, {"y", "at"})
      .output("y")
      .output("at", kOnnxInt64);
  add("onehot")
      .integer("x", {3, 4}, {0, 1, 2, 3, 4, 0, 1, 2, 3, 4, -1, -2})
      .constant("depth", {}, {5})
      .node("Constant", {}, {"values"},
            {onnxTensorAttribute("value", onnxTensor("", {2}, std::vector<float>{-1, 2}))})
      .node("OneHot", {"x", "depth", "values"}, {"y"})
      .output("y");
  add("affine_grid", 20)
      .real("theta", {4, 2, 3})
      .real("x", {4, 1, 5, 7})
      .node("Shape", {"x"}, {"shape"})
      .node("AffineGrid", {"theta", "shape"}, {"y"})
      .output("y");
  add("deform_conv", 19)
      .real("x", {7, 3, 5, 10})
      .real("offset", {7, 8, 4, 9})
      .weight("w", {2, 3, 2, 2}, 0.5f)
      .node("DeformConv", {"x", "w", "offset"}, {"y"}, {onnxInts("kernel_shape", {2, 2})})
      .output("y");
  add("cumprod", 26)
      .real("x", {3, 5})
      .constant("axis", {}, {1})
      .node("CumProd", {"x", "axis"}, {"y"})
      .output("y");
  add("cumsum").real("x", {3, 5}).constant("axis", {}, {1}).node("CumSum", {"x", "axis"}, {"y"}).output("y");
  add("reversesequence")
      .real("x", {6, 4, 3})
      .integer("lengths", {4}, {1, 1, 1, 1})
      .node("ReverseSequence", {"x", "lengths"}, {"y"}, {onnxInt("time_axis", 0), onnxInt("batch_axis", 1)})
      .output("y");
  {
    OnnxBuilder onTrue, onFalse;
    onTrue.node("Exp", {"x"}, {"t"}).output("t");
    onFalse.node("Neg", {"x"}, {"f"}).output("f");
    add("if")
        .truth("c", true)
        .real("x", {3, 5})
        .node("If", {"c"}, {"y"}, {onnxGraph("then_branch", onTrue), onnxGraph("else_branch", onFalse)})
        .output("y");
    OnnxBuilder body;
    body.input("i", {}, kOnnxInt64)
        .input("go", {}, kOnnxBool)
        .input("sum", {3, 5})
        .node("Identity", {"go"}, {"on"})
        .node("Add", {"sum", "x"}, {"next"})
        .output("on", kOnnxBool)
        .output("next");
    add("loop")
        .integer("trips", {}, {4})
        .real("x", {3, 5})
        .node("Loop", {"trips", "", "x"}, {"y"}, {onnxGraph("body", body)})
        .output("y");
  }
  {
    OnnxBuilder body;
    body.input("sum", {4})
        .input("part", {4})
        .node("Add", {"sum", "part"}, {"next"})
        .node("Identity", {"next"}, {"row"})
        .output("next")
        .output("row");
    for (const std::int64_t opset : {8, 18}) {
      Own& scan = add(opset == 8 ? "scan_batched" : "scan", opset);
      scan.real("first", opset == 8 ? Dims{3, 4} : Dims{4})
          .real("x", opset == 8 ? Dims{3, 6, 4} : Dims{6, 4});
      scan.node(
          "Scan",
          opset == 8 ? std::vector<std::string>{"", "first", "x"} : std::vector<std::string>{"first", "x"},
          {"last", "rows"}, {onnxGraph("body", body), onnxInt("num_scan_inputs", 1)});
      scan.output("last").output("rows");
    }
  }
  add("split_to_sequence")
      .real("x", {4, 3, 5})
      .constant("by", {2}, {1, 3})
      .node("SplitToSequence", {"x", "by"}, {"parts"}, {onnxInt("axis", 0)})
      .node("ConcatFromSequence", {"parts"}, {"y"}, {onnxInt("axis", 0)})
      .output("y");
  add("sequence_empty")
      .real("x", {3, 5})
      .node("SequenceEmpty", {}, {"none"})
      .node("SequenceInsert", {"none", "x"}, {"one"})
      .node("ConcatFromSequence", {"one"}, {"y"}, {onnxInt("axis", 0)})
      .output("y");
  add("optional")
      .real("x", {3, 5})
      .node("Optional", {"x"}, {"o"})
      .node("OptionalGetElement", {"o"}, {"y"})
      .output("y");
  add("optional_has_element")
      .real("x", {3, 5})
      .node("Optional", {"x"}, {"o"})
      .node("OptionalHasElement", {"o"}, {"has"})
      .node("Neg", {"x"}, {"minus"})
      .node("Where", {"has", "minus", "x"}, {"y"})
      .output("y");
  add("globallppool").real("x", {2, 3, 5, 7}).node("GlobalLpPool", {"x"}, {"y"}).output("y");
  add("maxroipool")
      .real("x", {2, 3, 8, 9})
      .weight("rois", {1, 5}, 0)
      .node("MaxRoiPool", {"x", "rois"}, {"y"}, {onnxInts("pooled_shape", {1, 1})})
      .output("y");
  {
    OnnxBuilder body;
    body.input("part", {"a", "b"}).node("Neg", {"part"}, {"negated"}).output("negated");
    add("sequence_map")
        .real("x", {3, 5})
        .node("SequenceConstruct", {"x", "x"}, {"pair"})
        .node("SequenceMap", {"pair"}, {"mapped"}, {onnxGraph("body", body)})
        .node("ConcatFromSequence", {"mapped"}, {"y"}, {onnxInt("axis", 0)})
        .output("y");
  }
  add("binarizer").real("x", {3, 5}).node("Binarizer", {"x"}, {"y"}, {}, "ai.onnx.ml").output("y");
  addPipelines(add);
  // Named after each operator that the graph is there for.
  for (const char* op : {"SequenceConstruct", "SequenceAt", "SequenceInsert", "SequenceErase",
                         "SequenceLength", "ConcatFromSequence"}) {
    const bool length = std::string_view(op) == "SequenceLength";
    Own& one = add(op)
                   .real("x", {3, 5})
                   .constant("at", {}, {1})
                   .node("SequenceConstruct", {"x", "x"}, {"pair"})
                   .node("SequenceInsert", {"pair", "x", "at"}, {"three"})
                   .node("SequenceErase", {"three", "at"}, {"two"});
    if (length)
      one.node("SequenceLength", {"two"}, {"n"})
          .node("Cast", {"n"}, {"real"}, {onnxInt("to", 1)})
          .node("Mul", {"real", "x"}, {"y"});
    else
      one.node("SequenceAt", {"two", "at"}, {"last"})
          .node("SequenceConstruct", {"last", "x"}, {"again"})
          .node("ConcatFromSequence", {"again"}, {"y"}, {onnxInt("axis", 0)});
    one.output("y");
  }
  return cases;
}

}  // namespace

std::vector<Case> ownCases(const std::string& folder) {
  std::vector<Case> cases;
  for (const Own& own : all()) cases.push_back(own.write(folder));
  return cases;
}

}  // namespace kiln::conformance
