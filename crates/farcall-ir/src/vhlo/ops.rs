//! The table of VHLO's operations.

use super::Version;

/// Names of an operation's properties, in the order of their encoding; `None` for an unknown operation.
pub(super) fn properties(name: &str) -> Option<&'static [&'static str]> {
    OPS.binary_search_by_key(&name, |(name, _)| name).ok().map(|i| OPS[i].1)
}

/// The versions of an operation, oldest first, with the names of their attributes.
pub(super) fn versions(base_name: &str) -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    let first = OPS.partition_point(|(name, _)| *name < base_name);
    let near = OPS[first..].iter().take_while(move |(name, _)| name.starts_with(base_name));
    near.filter(move |(name, _)| base(name) == base_name).copied()
}

/// First version of StableHLO that has this version of an operation.
pub(super) fn since(name: &str) -> Version {
    SINCE.iter().find(|(_, names)| names.contains(&name)).map_or((0, 9, 0), |(since, _)| *since)
}

/// Operations that the first version of VHLO, 0.9.0, did not have.
#[rustfmt::skip]
static SINCE: &[(Version, &[&str])] = &[
    ((0, 16, 0), &["collective_broadcast_v1"]),
    ((0, 19, 0), &["composite_v1"]),
    ((0, 20, 0), &["dynamic_conv_v2"]),
    ((1, 1, 0), &["dynamic_gather_v2", "gather_v2", "scatter_v2"]),
    ((1, 4, 0), &["tan_v1"]),
    ((1, 5, 0), &["all_gather_v2", "all_reduce_v2", "all_to_all_v2"]),
    ((1, 6, 0), &["dot_general_v2"]),
    ((1, 9, 0), &["exponential_v2"]),
    ((1, 10, 0), &["cbrt_v2", "cosine_v2", "exponential_minus_one_v2", "log_plus_one_v2", "log_v2", "logistic_v2", "rsqrt_v2", "sine_v2", "sqrt_v2", "tan_v2", "tanh_v2"]),
    ((1, 12, 0), &["recv_v2", "send_v2"]),
    ((1, 14, 0), &["composite_v2"]),
    ((1, 15, 0), &["async_done_v1", "async_start_v1"]),
    ((1, 18, 0), &["custom_call_v2"]),
    ((1, 19, 0), &["collective_reduce_v1"]),
    ((1, 20, 0), &["collective_broadcast_v2"]),
];

/// Removes the version from an operation's name.
pub(super) fn base(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((base, version)) if !version.is_empty() && version.bytes().all(|b| b.is_ascii_digit()) => base,
        _ => name,
    }
}

/// Every operation of every version up to [`super::NEWEST`], sorted by name, with its attributes, sorted by
/// name. All attributes are always present.
#[rustfmt::skip]
static OPS: &[(&str, &[&str])] = &[
    ("abs_v1", &[]),
    ("add_v1", &[]),
    ("after_all_v1", &[]),
    ("all_gather_v1", &["all_gather_dim", "channel_id", "replica_groups", "use_global_device_ids"]),
    ("all_gather_v2", &["all_gather_dim", "channel_id", "replica_groups", "use_global_device_ids"]),
    ("all_reduce_v1", &["channel_id", "replica_groups", "use_global_device_ids"]),
    ("all_reduce_v2", &["channel_id", "replica_groups", "use_global_device_ids"]),
    ("all_to_all_v1", &["channel_id", "concat_dimension", "replica_groups", "split_count", "split_dimension"]),
    ("all_to_all_v2", &["channel_id", "concat_dimension", "replica_groups", "split_count", "split_dimension"]),
    ("and_v1", &[]),
    ("async_done_v1", &[]),
    ("async_start_v1", &[]),
    ("atan2_v1", &[]),
    ("batch_norm_grad_v1", &["epsilon", "feature_index"]),
    ("batch_norm_inference_v1", &["epsilon", "feature_index"]),
    ("batch_norm_training_v1", &["epsilon", "feature_index"]),
    ("bitcast_convert_v1", &[]),
    ("broadcast_in_dim_v1", &["broadcast_dimensions"]),
    ("broadcast_v1", &["broadcast_sizes"]),
    ("call_v1", &["callee"]),
    ("case_v1", &[]),
    ("cbrt_v1", &[]),
    ("cbrt_v2", &["result_accuracy"]),
    ("ceil_v1", &[]),
    ("cholesky_v1", &["lower"]),
    ("clamp_v1", &[]),
    ("collective_broadcast_v1", &["channel_id", "replica_groups"]),
    ("collective_broadcast_v2", &["channel_id", "has_dynamic_root", "replica_groups"]),
    ("collective_permute_v1", &["channel_id", "source_target_pairs"]),
    ("collective_reduce_v1", &["channel_id", "has_dynamic_root", "replica_groups", "use_global_device_ids"]),
    ("compare_v1", &["compare_type", "comparison_direction"]),
    ("complex_v1", &[]),
    ("composite_v1", &["composite_attributes", "decomposition", "name", "version"]),
    ("composite_v2", &["composite_attributes", "decomposition", "name", "version"]),
    ("concatenate_v1", &["dimension"]),
    ("constant_v1", &["value"]),
    ("convert_v1", &[]),
    ("convolution_v1", &["batch_group_count", "feature_group_count", "input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions", "kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions", "lhs_dilation", "output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions", "padding", "precision_config", "rhs_dilation", "window_reversal", "window_strides"]),
    ("cosine_v1", &[]),
    ("cosine_v2", &["result_accuracy"]),
    ("count_leading_zeros_v1", &[]),
    ("create_token_v1", &[]),
    ("cross-replica-sum_v1", &["replica_groups"]),
    ("custom_call_v1", &["api_version", "backend_config", "call_target_name", "called_computations", "has_side_effect", "operand_layouts", "output_operand_aliases", "result_layouts"]),
    ("custom_call_v2", &["api_version", "backend_config", "call_target_name", "called_computations", "has_side_effect", "operand_layouts", "output_operand_aliases", "result_layouts", "result_tilings"]),
    ("divide_v1", &[]),
    ("dot_general_v1", &["lhs_batching_dimensions", "lhs_contracting_dimensions", "precision_config", "rhs_batching_dimensions", "rhs_contracting_dimensions"]),
    ("dot_general_v2", &["accumulation_type", "allow_imprecise_accumulation", "lhs_batching_dimensions", "lhs_component_count", "lhs_contracting_dimensions", "lhs_precision_type", "num_primitive_operations", "precision_config", "rhs_batching_dimensions", "rhs_component_count", "rhs_contracting_dimensions", "rhs_precision_type"]),
    ("dot_v1", &["precision_config"]),
    ("dynamic_broadcast_in_dim_v1", &["broadcast_dimensions", "known_expanding_dimensions", "known_nonexpanding_dimensions"]),
    ("dynamic_conv_v1", &["batch_group_count", "feature_group_count", "input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions", "kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions", "lhs_dilation", "output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions", "padding", "precision_config", "rhs_dilation", "window_reversal", "window_strides"]),
    ("dynamic_conv_v2", &["batch_group_count", "feature_group_count", "input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions", "kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions", "lhs_dilation", "output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions", "precision_config", "rhs_dilation", "window_reversal", "window_strides"]),
    ("dynamic_gather_v1", &["collapsed_slice_dims", "index_vector_dim", "indices_are_sorted", "offset_dims", "start_index_map"]),
    ("dynamic_gather_v2", &["collapsed_slice_dims", "index_vector_dim", "indices_are_sorted", "offset_dims", "operand_batching_dims", "start_index_map", "start_indices_batching_dims"]),
    ("dynamic_iota_v1", &["iota_dimension"]),
    ("dynamic_pad_v1", &[]),
    ("dynamic_reshape_v1", &[]),
    ("dynamic_slice_v1", &["slice_sizes"]),
    ("dynamic_update_slice_v1", &[]),
    ("einsum_v1", &["einsum_config"]),
    ("exponential_minus_one_v1", &[]),
    ("exponential_minus_one_v2", &["result_accuracy"]),
    ("exponential_v1", &[]),
    ("exponential_v2", &["result_accuracy"]),
    ("fft_v1", &["fft_length", "fft_type"]),
    ("floor_v1", &[]),
    ("func_v1", &["arg_attrs", "function_type", "res_attrs", "sym_name", "sym_visibility"]),
    ("gather_v1", &["collapsed_slice_dims", "index_vector_dim", "indices_are_sorted", "offset_dims", "slice_sizes", "start_index_map"]),
    ("gather_v2", &["collapsed_slice_dims", "index_vector_dim", "indices_are_sorted", "offset_dims", "operand_batching_dims", "slice_sizes", "start_index_map", "start_indices_batching_dims"]),
    ("get_dimension_size_v1", &["dimension"]),
    ("get_tuple_element_v1", &["index"]),
    ("if_v1", &[]),
    ("imag_v1", &[]),
    ("infeed_v1", &["infeed_config", "layout"]),
    ("iota_v1", &["iota_dimension"]),
    ("is_finite_v1", &[]),
    ("log_plus_one_v1", &[]),
    ("log_plus_one_v2", &["result_accuracy"]),
    ("log_v1", &[]),
    ("log_v2", &["result_accuracy"]),
    ("logistic_v1", &[]),
    ("logistic_v2", &["result_accuracy"]),
    ("map_v1", &["dimensions"]),
    ("maximum_v1", &[]),
    ("minimum_v1", &[]),
    ("multiply_v1", &[]),
    ("negate_v1", &[]),
    ("not_v1", &[]),
    ("optimization_barrier_v1", &[]),
    ("or_v1", &[]),
    ("outfeed_v1", &["outfeed_config"]),
    ("pad_v1", &["edge_padding_high", "edge_padding_low", "interior_padding"]),
    ("partition_id_v1", &[]),
    ("popcnt_v1", &[]),
    ("power_v1", &[]),
    ("real_dynamic_slice_v1", &[]),
    ("real_v1", &[]),
    ("recv_v1", &["channel_id", "channel_type", "is_host_transfer"]),
    ("recv_v2", &["channel_id", "channel_type", "is_host_transfer", "source_target_pairs"]),
    ("reduce_precision_v1", &["exponent_bits", "mantissa_bits"]),
    ("reduce_scatter_v1", &["channel_id", "replica_groups", "scatter_dimension", "use_global_device_ids"]),
    ("reduce_v1", &["dimensions"]),
    ("reduce_window_v1", &["base_dilations", "padding", "window_dilations", "window_dimensions", "window_strides"]),
    ("remainder_v1", &[]),
    ("replica_id_v1", &[]),
    ("reshape_v1", &[]),
    ("return_v1", &[]),
    ("reverse_v1", &["dimensions"]),
    ("rng_bit_generator_v1", &["rng_algorithm"]),
    ("rng_v1", &["rng_distribution"]),
    ("round_nearest_afz_v1", &[]),
    ("round_nearest_even_v1", &[]),
    ("rsqrt_v1", &[]),
    ("rsqrt_v2", &["result_accuracy"]),
    ("scatter_v1", &["index_vector_dim", "indices_are_sorted", "inserted_window_dims", "scatter_dims_to_operand_dims", "unique_indices", "update_window_dims"]),
    ("scatter_v2", &["index_vector_dim", "indices_are_sorted", "input_batching_dims", "inserted_window_dims", "scatter_dims_to_operand_dims", "scatter_indices_batching_dims", "unique_indices", "update_window_dims"]),
    ("select_and_scatter_v1", &["padding", "window_dimensions", "window_strides"]),
    ("select_v1", &[]),
    ("send_v1", &["channel_id", "channel_type", "is_host_transfer"]),
    ("send_v2", &["channel_id", "channel_type", "is_host_transfer", "source_target_pairs"]),
    ("set_dimension_size_v1", &["dimension"]),
    ("shift_left_v1", &[]),
    ("shift_right_arithmetic_v1", &[]),
    ("shift_right_logical_v1", &[]),
    ("sign_v1", &[]),
    ("sine_v1", &[]),
    ("sine_v2", &["result_accuracy"]),
    ("slice_v1", &["limit_indices", "start_indices", "strides"]),
    ("sort_v1", &["dimension", "is_stable"]),
    ("sqrt_v1", &[]),
    ("sqrt_v2", &["result_accuracy"]),
    ("subtract_v1", &[]),
    ("tan_v1", &[]),
    ("tan_v2", &["result_accuracy"]),
    ("tanh_v1", &[]),
    ("tanh_v2", &["result_accuracy"]),
    ("torch_index_select_v1", &["batch_dims", "dim"]),
    ("transpose_v1", &["permutation"]),
    ("triangular_solve_v1", &["left_side", "lower", "transpose_a", "unit_diagonal"]),
    ("tuple_v1", &[]),
    ("unary_einsum_v1", &["einsum_config"]),
    ("uniform_dequantize_v1", &[]),
    ("uniform_quantize_v1", &[]),
    ("while_v1", &[]),
    ("xor_v1", &[]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted() {
        assert!(OPS.is_sorted_by(|a, b| a.0 < b.0));
        assert!(OPS.iter().all(|(_, attrs)| attrs.is_sorted_by(|a, b| a < b)));
        assert_eq!(properties("cholesky_v1"), Some(&["lower"][..]));
        assert_eq!(properties("cholesky_v2"), None);
        assert_eq!((base("add_v1"), base("add_v"), base("add")), ("add", "add_v", "add"));
    }
}
