#include "compiler_core/frontend/stablehlo/program/schema.h"

#include <algorithm>
#include <iterator>

namespace kiln::stablehlo {
namespace {

using enum AttributeKind;

constexpr AttributeRule kAccuracy[] = {{"result_accuracy", kDictionary, Absent::kStaysAbsent, 2}};
constexpr AttributeRule kAllGather[] = {{"all_gather_dim", kInteger},
                                        {"channel_id", kInteger, Absent::kZero},
                                        {"replica_groups", kIntegers},
                                        {"use_global_device_ids", kBool, Absent::kFalse}};
constexpr AttributeRule kAllReduce[] = {{"channel_id", kInteger, Absent::kZero},
                                        {"replica_groups", kIntegers},
                                        {"use_global_device_ids", kBool, Absent::kFalse}};
constexpr AttributeRule kAllToAll[] = {{"channel_id", kInteger, Absent::kZero},
                                       {"concat_dimension", kInteger},
                                       {"replica_groups", kIntegers},
                                       {"split_count", kInteger},
                                       {"split_dimension", kInteger}};
constexpr AttributeRule kBatchNorm[] = {{"epsilon", kFloat}, {"feature_index", kInteger}};
constexpr AttributeRule kBroadcastInDim[] = {{"broadcast_dimensions", kIntegers}};
constexpr AttributeRule kBroadcast[] = {{"broadcast_sizes", kIntegers}};
constexpr AttributeRule kCall[] = {{"callee", kSymbol}};
constexpr AttributeRule kCholesky[] = {{"lower", kBool, Absent::kFalse}};
constexpr AttributeRule kCollectiveBroadcast[] = {{"channel_id", kInteger, Absent::kZero},
                                                  {"has_dynamic_root", kBool, Absent::kFalse, 2},
                                                  {"replica_groups", kIntegers}};
constexpr AttributeRule kCollectiveReduce[] = {{"channel_id", kInteger, Absent::kZero},
                                               {"has_dynamic_root", kBool, Absent::kFalse},
                                               {"replica_groups", kIntegers},
                                               {"use_global_device_ids", kBool, Absent::kFalse}};
constexpr AttributeRule kCollectivePermute[] = {{"channel_id", kInteger, Absent::kZero},
                                                {"source_target_pairs", kIntegers}};
constexpr AttributeRule kCompare[] = {{"compare_type", kEnum, Absent::kNoType},
                                      {"comparison_direction", kEnum}};
constexpr AttributeRule kComposite[] = {{"composite_attributes", kDictionary, Absent::kEmptyDictionary},
                                        {"decomposition", kSymbol},
                                        {"name", kString},
                                        {"version", kInteger, Absent::kZero}};
constexpr AttributeRule kDimension[] = {{"dimension", kInteger}};
constexpr AttributeRule kConstant[] = {{"value", kLiteral}};
constexpr AttributeRule kConvolution[] = {{"batch_group_count", kInteger},
                                          {"feature_group_count", kInteger},
                                          {"input_batch_dimension", kInteger},
                                          {"input_feature_dimension", kInteger},
                                          {"input_spatial_dimensions", kIntegers},
                                          {"kernel_input_feature_dimension", kInteger},
                                          {"kernel_output_feature_dimension", kInteger},
                                          {"kernel_spatial_dimensions", kIntegers},
                                          {"lhs_dilation", kIntegers, Absent::kOnes},
                                          {"output_batch_dimension", kInteger},
                                          {"output_feature_dimension", kInteger},
                                          {"output_spatial_dimensions", kIntegers},
                                          {"padding", kIntegers, Absent::kPairsOfZeros},
                                          {"precision_config", kEnums, Absent::kTwoDefaults},
                                          {"rhs_dilation", kIntegers, Absent::kOnes},
                                          {"window_reversal", kIntegers, Absent::kZeros},
                                          {"window_strides", kIntegers, Absent::kOnes}};
constexpr AttributeRule kDynamicConv[] = {{"batch_group_count", kInteger},
                                          {"feature_group_count", kInteger},
                                          {"input_batch_dimension", kInteger},
                                          {"input_feature_dimension", kInteger},
                                          {"input_spatial_dimensions", kIntegers},
                                          {"kernel_input_feature_dimension", kInteger},
                                          {"kernel_output_feature_dimension", kInteger},
                                          {"kernel_spatial_dimensions", kIntegers},
                                          {"lhs_dilation", kIntegers, Absent::kOnes},
                                          {"output_batch_dimension", kInteger},
                                          {"output_feature_dimension", kInteger},
                                          {"output_spatial_dimensions", kIntegers},
                                          {"padding", kIntegers, Absent::kStaysAbsent, 1, 1},
                                          {"precision_config", kEnums, Absent::kTwoDefaults},
                                          {"rhs_dilation", kIntegers, Absent::kOnes},
                                          {"window_reversal", kIntegers, Absent::kZeros},
                                          {"window_strides", kIntegers, Absent::kOnes}};
constexpr AttributeRule kCrossReplicaSum[] = {{"replica_groups", kIntegers}};
constexpr AttributeRule kCustomCall[] = {{"api_version", kEnum, Absent::kOriginal},
                                         {"backend_config", kAny, Absent::kEmptyString},
                                         {"call_target_name", kString},
                                         {"called_computations", kSymbols, Absent::kEmptyList},
                                         {"has_side_effect", kBool, Absent::kFalse},
                                         {"operand_layouts", kAny, Absent::kEmptyList},
                                         {"output_operand_aliases", kAny, Absent::kEmptyList},
                                         {"result_layouts", kAny, Absent::kEmptyList},
                                         {"result_tilings", kAny, Absent::kEmptyList, 2}};
constexpr AttributeRule kDotGeneral[] = {{"accumulation_type", kType, Absent::kStaysAbsent, 2},
                                         {"allow_imprecise_accumulation", kBool, Absent::kStaysAbsent, 2},
                                         {"lhs_batching_dimensions", kIntegers, Absent::kEmptyList},
                                         {"lhs_component_count", kInteger, Absent::kStaysAbsent, 2},
                                         {"lhs_contracting_dimensions", kIntegers, Absent::kEmptyList},
                                         {"lhs_precision_type", kType, Absent::kStaysAbsent, 2},
                                         {"num_primitive_operations", kInteger, Absent::kStaysAbsent, 2},
                                         {"precision_config", kEnums, Absent::kTwoDefaults},
                                         {"rhs_batching_dimensions", kIntegers, Absent::kEmptyList},
                                         {"rhs_component_count", kInteger, Absent::kStaysAbsent, 2},
                                         {"rhs_contracting_dimensions", kIntegers, Absent::kEmptyList},
                                         {"rhs_precision_type", kType, Absent::kStaysAbsent, 2}};
constexpr AttributeRule kDot[] = {{"precision_config", kEnums, Absent::kTwoDefaults}};
constexpr AttributeRule kDynamicBroadcast[] = {
    {"broadcast_dimensions", kIntegers},
    {"known_expanding_dimensions", kIntegers, Absent::kEmptyList},
    {"known_nonexpanding_dimensions", kIntegers, Absent::kEmptyList}};
constexpr AttributeRule kDynamicGather[] = {
    {"collapsed_slice_dims", kIntegers, Absent::kEmptyList},
    {"index_vector_dim", kInteger, Absent::kZero},
    {"indices_are_sorted", kBool, Absent::kFalse},
    {"offset_dims", kIntegers, Absent::kEmptyList},
    {"operand_batching_dims", kIntegers, Absent::kEmptyList, 2},
    {"start_index_map", kIntegers, Absent::kEmptyList},
    {"start_indices_batching_dims", kIntegers, Absent::kEmptyList, 2}};
constexpr AttributeRule kIota[] = {{"iota_dimension", kInteger}};
constexpr AttributeRule kSliceSizes[] = {{"slice_sizes", kIntegers}};
constexpr AttributeRule kEinsum[] = {{"einsum_config", kString}};
constexpr AttributeRule kFft[] = {{"fft_length", kIntegers}, {"fft_type", kEnum}};
constexpr AttributeRule kGather[] = {{"collapsed_slice_dims", kIntegers, Absent::kEmptyList},
                                     {"index_vector_dim", kInteger, Absent::kZero},
                                     {"indices_are_sorted", kBool, Absent::kFalse},
                                     {"offset_dims", kIntegers, Absent::kEmptyList},
                                     {"operand_batching_dims", kIntegers, Absent::kEmptyList, 2},
                                     {"slice_sizes", kIntegers},
                                     {"start_index_map", kIntegers, Absent::kEmptyList},
                                     {"start_indices_batching_dims", kIntegers, Absent::kEmptyList, 2}};
constexpr AttributeRule kTupleElement[] = {{"index", kInteger}};
constexpr AttributeRule kInfeed[] = {{"infeed_config", kString, Absent::kEmptyString},
                                     {"layout", kAny, Absent::kEmptyList}};
constexpr AttributeRule kDimensions[] = {{"dimensions", kIntegers}};
constexpr AttributeRule kOutfeed[] = {{"outfeed_config", kString, Absent::kEmptyString}};
constexpr AttributeRule kPad[] = {
    {"edge_padding_high", kIntegers}, {"edge_padding_low", kIntegers}, {"interior_padding", kIntegers}};
constexpr AttributeRule kTransfer[] = {{"channel_id", kInteger},
                                       {"channel_type", kInteger},
                                       {"is_host_transfer", kBool, Absent::kFalse},
                                       {"source_target_pairs", kIntegers, Absent::kEmptyList, 2}};
constexpr AttributeRule kReducePrecision[] = {{"exponent_bits", kInteger}, {"mantissa_bits", kInteger}};
constexpr AttributeRule kReduceScatter[] = {{"channel_id", kInteger, Absent::kZero},
                                            {"replica_groups", kIntegers},
                                            {"scatter_dimension", kInteger},
                                            {"use_global_device_ids", kBool, Absent::kFalse}};
constexpr AttributeRule kReduceWindow[] = {{"base_dilations", kIntegers, Absent::kOnes},
                                           {"padding", kIntegers, Absent::kPairsOfZeros},
                                           {"window_dilations", kIntegers, Absent::kOnes},
                                           {"window_dimensions", kIntegers},
                                           {"window_strides", kIntegers, Absent::kOnes}};
constexpr AttributeRule kRngBitGenerator[] = {{"rng_algorithm", kEnum}};
constexpr AttributeRule kRng[] = {{"rng_distribution", kEnum}};
constexpr AttributeRule kScatter[] = {{"index_vector_dim", kInteger, Absent::kZero},
                                      {"indices_are_sorted", kBool, Absent::kFalse},
                                      {"input_batching_dims", kIntegers, Absent::kEmptyList, 2},
                                      {"inserted_window_dims", kIntegers, Absent::kEmptyList},
                                      {"scatter_dims_to_operand_dims", kIntegers, Absent::kEmptyList},
                                      {"scatter_indices_batching_dims", kIntegers, Absent::kEmptyList, 2},
                                      {"unique_indices", kBool, Absent::kFalse},
                                      {"update_window_dims", kIntegers, Absent::kEmptyList}};
constexpr AttributeRule kSelectAndScatter[] = {{"padding", kIntegers, Absent::kPairsOfZeros},
                                               {"window_dimensions", kIntegers, Absent::kOnes},
                                               {"window_strides", kIntegers, Absent::kOnes}};
constexpr AttributeRule kSlice[] = {
    {"limit_indices", kIntegers}, {"start_indices", kIntegers}, {"strides", kIntegers}};
constexpr AttributeRule kSort[] = {{"dimension", kInteger, Absent::kMinusOne},
                                   {"is_stable", kBool, Absent::kFalse}};
constexpr AttributeRule kIndexSelect[] = {{"batch_dims", kInteger}, {"dim", kInteger}};
constexpr AttributeRule kTranspose[] = {{"permutation", kIntegers}};
constexpr AttributeRule kTriangularSolve[] = {
    {"left_side", kBool}, {"lower", kBool}, {"transpose_a", kEnum}, {"unit_diagonal", kBool}};

// By name.
constexpr OperationRule kOperations[] = {
    {"abs"},
    {"add"},
    {"after_all"},
    {"all_gather", kAllGather, 2},
    {"all_reduce", kAllReduce, 2},
    {"all_to_all", kAllToAll, 2},
    {"and"},
    {"async_done"},
    {"async_start"},
    {"atan2"},
    {"batch_norm_grad", kBatchNorm},
    {"batch_norm_inference", kBatchNorm},
    {"batch_norm_training", kBatchNorm},
    {"bitcast_convert"},
    {"broadcast", kBroadcast},
    {"broadcast_in_dim", kBroadcastInDim},
    {"call", kCall},
    {"case"},
    {"cbrt", kAccuracy, 2},
    {"ceil"},
    {"cholesky", kCholesky},
    {"clamp"},
    {"collective_broadcast", kCollectiveBroadcast, 2},
    {"collective_permute", kCollectivePermute},
    {"collective_reduce", kCollectiveReduce},
    {"compare", kCompare},
    {"complex"},
    {"composite", kComposite, 2},
    {"concatenate", kDimension},
    {"constant", kConstant},
    {"convert"},
    {"convolution", kConvolution},
    {"cosine", kAccuracy, 2},
    {"count_leading_zeros"},
    {"create_token"},
    {"cross-replica-sum", kCrossReplicaSum},
    {"custom_call", kCustomCall, 2},
    {"divide"},
    {"dot", kDot},
    {"dot_general", kDotGeneral, 2},
    {"dynamic_broadcast_in_dim", kDynamicBroadcast},
    {"dynamic_conv", kDynamicConv, 2},
    {"dynamic_gather", kDynamicGather, 2},
    {"dynamic_iota", kIota},
    {"dynamic_pad"},
    {"dynamic_reshape"},
    {"dynamic_slice", kSliceSizes},
    {"dynamic_update_slice"},
    {"einsum", kEinsum},
    {"exponential", kAccuracy, 2},
    {"exponential_minus_one", kAccuracy, 2},
    {"fft", kFft},
    {"floor"},
    {"gather", kGather, 2},
    {"get_dimension_size", kDimension},
    {"get_tuple_element", kTupleElement},
    {"if"},
    {"imag"},
    {"infeed", kInfeed},
    {"iota", kIota},
    {"is_finite"},
    {"log", kAccuracy, 2},
    {"log_plus_one", kAccuracy, 2},
    {"logistic", kAccuracy, 2},
    {"map", kDimensions},
    {"maximum"},
    {"minimum"},
    {"multiply"},
    {"negate"},
    {"not"},
    {"optimization_barrier"},
    {"or"},
    {"outfeed", kOutfeed},
    {"pad", kPad},
    {"partition_id"},
    {"popcnt"},
    {"power"},
    {"real"},
    {"real_dynamic_slice"},
    {"recv", kTransfer, 2},
    {"reduce", kDimensions},
    {"reduce_precision", kReducePrecision},
    {"reduce_scatter", kReduceScatter},
    {"reduce_window", kReduceWindow},
    {"remainder"},
    {"replica_id"},
    {"reshape"},
    {"return"},
    {"reverse", kDimensions},
    {"rng", kRng},
    {"rng_bit_generator", kRngBitGenerator},
    {"round_nearest_afz"},
    {"round_nearest_even"},
    {"rsqrt", kAccuracy, 2},
    {"scatter", kScatter, 2},
    {"select"},
    {"select_and_scatter", kSelectAndScatter},
    {"send", kTransfer, 2},
    {"set_dimension_size", kDimension},
    {"shift_left"},
    {"shift_right_arithmetic"},
    {"shift_right_logical"},
    {"sign"},
    {"sine", kAccuracy, 2},
    {"slice", kSlice},
    {"sort", kSort},
    {"sqrt", kAccuracy, 2},
    {"subtract"},
    {"tan", kAccuracy, 2},
    {"tanh", kAccuracy, 2},
    {"torch_index_select", kIndexSelect},
    {"transpose", kTranspose},
    {"triangular_solve", kTriangularSolve},
    {"tuple"},
    {"unary_einsum", kEinsum},
    {"uniform_dequantize"},
    {"uniform_quantize"},
    {"while"},
    {"xor"},
};
static_assert(std::is_sorted(std::begin(kOperations), std::end(kOperations),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));

}  // namespace

const OperationRule* findRule(std::string_view operation) {
  const auto found =
      std::lower_bound(std::begin(kOperations), std::end(kOperations), operation,
                       [](const OperationRule& rule, std::string_view name) { return rule.name < name; });
  return found != std::end(kOperations) && found->name == operation ? found : nullptr;
}

std::vector<const AttributeRule*> attributesOfVersion(const OperationRule& rule, int version) {
  std::vector<const AttributeRule*> attributes;
  for (const AttributeRule& attribute : rule.attributes)
    if (attribute.since <= version && version <= attribute.until) attributes.push_back(&attribute);
  std::sort(attributes.begin(), attributes.end(),
            [](const AttributeRule* a, const AttributeRule* b) { return a->name < b->name; });
  return attributes;
}

}  // namespace kiln::stablehlo
