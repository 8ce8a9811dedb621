//! The operation table: one row per operation.
//!
//! A row declares everything that holds for each instance of an operation: its names in text, HLO and
//! artifacts, the numbers of operands, regions and results, its traits, and the names of its attributes. The
//! macro generates [`Opcode`] from the rows: an operation without its attributes. The tables of other modules
//! match `Opcode` without a `_` arm (the readers of [`crate::attributes`], the pretty forms of text, the
//! syntax of HLO), so the compiler points out the places that a new row needs. Functions of one and two
//! variables have their rows in [`super::elementwise`]. The other tables treat all of these functions alike,
//! so a new function needs only its row.
//!
//! A row has the opcode, the pattern that matches its operations, the name, arity, traits and attributes, and
//! the formats other than text.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::info::{Count, Formats, Kind, OpInfo, Traits, V1, arity, name_in_hlo};
use super::{Binary, Broadcasted, Broadcasting, Derived, FormOp, Op, Transfer, Unary};

/// Generates [`Opcode`] and [`FormOpcode`] from four groups of rows: variants of [`Op`], [`Transfer`],
/// [`Derived`] and [`FormOp`].
macro_rules! operations {
    (
        op { $($op:ident($op_is:pat) $op_name:literal, $op_row:tt;)* }
        transfer { $($transfer:ident($transfer_is:pat) $transfer_name:literal, $transfer_row:tt;)* }
        derived { $($derived:ident($derived_is:pat) $derived_name:literal, $derived_row:tt;)* }
        form { $($form:ident($form_is:pat) $form_name:literal, $form_row:tt;)* }
    ) => {
        /// An operation without its attributes.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[expect(missing_docs, reason = "each variant is the operation of the same name")]
        pub enum Opcode {
            Unary(Unary),
            Binary(Binary),
            /// `chlo.broadcast_add` and the like.
            Broadcasting(Binary),
            $($op,)*
            $($transfer,)*
            $($derived,)*
            /// Operations of the middle form.
            Form(FormOpcode),
        }

        /// A [`FormOp`] without its attributes.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[expect(missing_docs, reason = "each variant is the operation of the same name")]
        pub enum FormOpcode {
            $($form,)*
        }

        /// Opcodes of all operations except functions of one and two variables.
        const OTHERS: &[Opcode] = &[
            $(Opcode::$op,)* $(Opcode::$transfer,)* $(Opcode::$derived,)*
            $(Opcode::Form(FormOpcode::$form),)*
        ];

        impl Opcode {
            /// Returns the declaration of the operation.
            pub fn info(self) -> &'static OpInfo {
                match self {
                    Opcode::Unary(function) => &function.info().op,
                    Opcode::Binary(function) => &function.info().op,
                    Opcode::Broadcasting(function) => &function.info().broadcasting,
                    $(Opcode::$op => row!($op_name, $op_row),)*
                    $(Opcode::$transfer => row!($transfer_name, $transfer_row),)*
                    $(Opcode::$derived => row!($derived_name, $derived_row),)*
                    $(Opcode::Form(FormOpcode::$form) => row!($form_name, $form_row),)*
                }
            }
        }

        impl Op {
            /// Returns the operation without its attributes.
            pub fn opcode(&self) -> Opcode {
                match self {
                    Op::Unary(function) => Opcode::Unary(*function),
                    Op::Binary(function) => Opcode::Binary(*function),
                    Op::Transfer(transfer) => match **transfer {
                        $($transfer_is => Opcode::$transfer,)*
                    },
                    Op::Derived(Derived::Broadcasting(Broadcasting {
                        function: Broadcasted::Binary(function), ..
                    })) => Opcode::Broadcasting(*function),
                    $(Op::Derived($derived_is) => Opcode::$derived,)*
                    $(Op::Form($form_is) => Opcode::Form(FormOpcode::$form),)*
                    $($op_is => Opcode::$op,)*
                }
            }
        }
    };
}

/// Expands to a reference to the declaration in a row.
macro_rules! row {
    ($name:literal, ($arity:expr, $traits:expr, [$($attr:literal),*], $formats:expr)) => {{
        static INFO: OpInfo = $arity.row($name, $traits, &[$($attr),*], $formats, name_in_hlo!($name));
        &INFO
    }};
}

impl Opcode {
    /// Returns the opcodes of all operations.
    pub fn all() -> impl Iterator<Item = Opcode> {
        let unary = Unary::VARIANTS.into_iter().map(Opcode::Unary);
        let binary = Binary::VARIANTS.into_iter().map(Opcode::Binary);
        let broadcasting = Broadcasted::binary().map(Opcode::Broadcasting);
        unary.chain(binary).chain(broadcasting).chain(OTHERS.iter().copied())
    }

    /// Looks up an operation by its full name, or one of its [`ALIASES`].
    pub fn named(name: &str) -> Option<Opcode> {
        static NAMES: LazyLock<FxHashMap<&str, Opcode>> = LazyLock::new(|| Opcode::names().collect());
        NAMES.get(name).copied()
    }

    /// Returns the names that [`Opcode::named`] knows.
    pub fn names() -> impl Iterator<Item = (&'static str, Opcode)> {
        Opcode::all().map(|op| (op.info().name, op)).chain(ALIASES)
    }
}

impl Op {
    /// Returns the declaration of the operation.
    pub fn info(&self) -> &'static OpInfo {
        self.opcode().info()
    }
}

/// Other names of operations in text.
pub const ALIASES: [(&str, Opcode); 2] =
    [("func.return", Opcode::Return), ("chlo.constant", Opcode::Constant)];

const fn tensors(operands: Count, regions: usize, results: Count) -> OpInfo {
    arity(operands, Tensors, Exactly(regions), results)
}

/// Tensor operands and one tensor result.
const fn simple(operands: usize) -> OpInfo {
    tensors(Exactly(operands), 0, Exactly(1))
}

/// Any number of operands and results, no regions.
const fn any() -> OpInfo {
    arity(AtLeast(0), Anything, Exactly(0), AtLeast(0))
}

/// Takes a token, and has any number of results.
const INTO: OpInfo = arity(Exactly(1), Tokens, Exactly(0), AtLeast(0));
/// Takes any number of operands and a token, and returns a token.
const OUT_OF: OpInfo = arity(AtLeast(1), Anything, Exactly(0), Exactly(1));

use Count::{AtLeast, Exactly};
use Kind::{Anything, Futures, Tensors, Tokens, Tuples};

const NONE: Traits = Traits::EMPTY;
const ARITHMETIC: Traits = Traits::ARITHMETIC;
const OPAQUE: Traits = Traits::OPAQUE;
const DYNAMIC: Traits = Traits::DYNAMIC.and(Traits::MAY_FAIL);
const COLLECTIVE: Traits = Traits::COLLECTIVE;
const STRUCTURE: Traits = Traits::STRUCTURE;
const ELEMENTWISE: Traits = Traits::ELEMENTWISE;
const EXACT: Traits = Traits::EXACT;
const FUSES_INTO_LOADS: Traits = Traits::FUSES_INTO_LOADS;
const FORM: Traits = Traits::FORM;
const MAY_FAIL: Traits = Traits::MAY_FAIL;
const TRANSFER: Traits = Traits::SIDE_EFFECT.and(OPAQUE);

const TEXT: Formats = Formats::TEXT;
const HLO: Formats = Formats::HLO;
const VHLO: Formats = Formats::VHLO;
const HLO_VHLO: Formats = Formats::HLO_VHLO;

#[rustfmt::skip]
operations! {
    op {
        // elementwise
        Compare(Op::Compare(_)) "stablehlo.compare",
            (simple(2), ARITHMETIC.and(ELEMENTWISE).and(EXACT), ["compare_type?", "comparison_direction"], HLO_VHLO);
        Select(Op::Select) "stablehlo.select",
            (simple(3), ARITHMETIC.and(ELEMENTWISE).and(EXACT), [], HLO_VHLO);
        Clamp(Op::Clamp) "stablehlo.clamp",
            (simple(3), ARITHMETIC.and(ELEMENTWISE).and(EXACT), [], HLO_VHLO);
        Convert(Op::Convert) "stablehlo.convert",
            (simple(1), ELEMENTWISE.and(EXACT), [], HLO_VHLO);
        BitcastConvert(Op::BitcastConvert) "stablehlo.bitcast_convert",
            (simple(1), EXACT, [], HLO_VHLO);
        Copy(Op::Copy) "mhlo.copy",
            (simple(1), EXACT.and(STRUCTURE), [], TEXT);
        ReducePrecision(Op::ReducePrecision { .. }) "stablehlo.reduce_precision",
            (simple(1), ARITHMETIC.and(ELEMENTWISE).and(MAY_FAIL), ["exponent_bits", "mantissa_bits"], HLO_VHLO);
        UniformQuantize(Op::UniformQuantize) "stablehlo.uniform_quantize",
            (simple(1), NONE, [], VHLO);
        UniformDequantize(Op::UniformDequantize) "stablehlo.uniform_dequantize",
            (simple(1), NONE, [], VHLO);

        // data
        Constant(Op::Constant(_) | Op::Elided(_)) "stablehlo.constant",
            (simple(0), NONE, ["value"], VHLO);
        Iota(Op::Iota { .. }) "stablehlo.iota",
            (simple(0), NONE, ["iota_dimension"], HLO_VHLO);
        DynamicIota(Op::DynamicIota { .. }) "stablehlo.dynamic_iota",
            (simple(1), DYNAMIC, ["iota_dimension"], VHLO);
        BroadcastInDim(Op::BroadcastInDim { .. }) "stablehlo.broadcast_in_dim",
            (simple(1), EXACT, ["broadcast_dimensions"], VHLO.opcode("broadcast"));
        DynamicBroadcastInDim(Op::DynamicBroadcastInDim { .. }) "stablehlo.dynamic_broadcast_in_dim",
            (
                simple(2),
                DYNAMIC,
                ["broadcast_dimensions", "known_expanding_dimensions?", "known_nonexpanding_dimensions?"],
                VHLO
            );
        Reshape(Op::Reshape) "stablehlo.reshape",
            (simple(1), EXACT, [], HLO_VHLO);
        DynamicReshape(Op::DynamicReshape) "stablehlo.dynamic_reshape",
            (simple(2), DYNAMIC, [], VHLO);
        Transpose(Op::Transpose { .. }) "stablehlo.transpose",
            (simple(1), EXACT, ["permutation"], HLO_VHLO);
        Slice(Op::Slice(_)) "stablehlo.slice",
            (simple(1), EXACT.and(FUSES_INTO_LOADS), ["limit_indices", "start_indices", "strides"], HLO_VHLO);
        Concatenate(Op::Concatenate { .. }) "stablehlo.concatenate",
            (tensors(AtLeast(0), 0, Exactly(1)), EXACT.and(FUSES_INTO_LOADS), ["dimension"], HLO_VHLO);
        Pad(Op::Pad(_)) "stablehlo.pad",
            (
                simple(2),
                EXACT.and(FUSES_INTO_LOADS),
                ["edge_padding_high", "edge_padding_low", "interior_padding"],
                HLO_VHLO
            );
        DynamicPad(Op::DynamicPad) "stablehlo.dynamic_pad",
            (simple(5), DYNAMIC, [], VHLO);
        Reverse(Op::Reverse { .. }) "stablehlo.reverse",
            (simple(1), EXACT, ["dimensions"], HLO_VHLO);
        GetDimensionSize(Op::GetDimensionSize { .. }) "stablehlo.get_dimension_size",
            (simple(1), STRUCTURE, ["dimension"], HLO_VHLO);
        SetDimensionSize(Op::SetDimensionSize { .. }) "stablehlo.set_dimension_size",
            (simple(2), DYNAMIC, ["dimension"], HLO_VHLO);

        // indexing
        DynamicSlice(Op::DynamicSlice { .. }) "stablehlo.dynamic_slice",
            (tensors(AtLeast(1), 0, Exactly(1)), EXACT, ["slice_sizes"], HLO_VHLO);
        DynamicUpdateSlice(Op::DynamicUpdateSlice) "stablehlo.dynamic_update_slice",
            (tensors(AtLeast(2), 0, Exactly(1)), EXACT, [], HLO_VHLO);
        RealDynamicSlice(Op::RealDynamicSlice) "stablehlo.real_dynamic_slice",
            (simple(4), DYNAMIC, [], VHLO);
        Gather(Op::Gather(_)) "stablehlo.gather",
            (
                simple(2),
                NONE,
                ["dimension_numbers", "indices_are_sorted?", "slice_sizes"],
                HLO_VHLO.versions(&[V1, (1, 1, 0)])
            );
        DynamicGather(Op::DynamicGather(_)) "stablehlo.dynamic_gather",
            (
                simple(3),
                DYNAMIC,
                ["dimension_numbers", "indices_are_sorted?"],
                VHLO.versions(&[V1, (1, 1, 0)])
            );
        Scatter(Op::Scatter(_)) "stablehlo.scatter",
            (
                tensors(AtLeast(0), 1, AtLeast(0)),
                NONE,
                ["indices_are_sorted?", "scatter_dimension_numbers", "unique_indices?"],
                HLO_VHLO.versions(&[V1, (1, 1, 0)])
            );

        // reduction
        Reduce(Op::Reduce { .. }) "stablehlo.reduce",
            (tensors(AtLeast(0), 1, AtLeast(0)), NONE, ["dimensions"], HLO_VHLO);
        ReduceWindow(Op::ReduceWindow(_)) "stablehlo.reduce_window",
            (
                tensors(AtLeast(0), 1, AtLeast(0)),
                NONE,
                ["base_dilations?", "padding?", "window_dilations?", "window_dimensions", "window_strides?"],
                HLO_VHLO
            );
        SelectAndScatter(Op::SelectAndScatter(_)) "stablehlo.select_and_scatter",
            (
                tensors(Exactly(3), 2, Exactly(1)),
                NONE,
                ["padding?", "window_dimensions?", "window_strides?"],
                HLO_VHLO
            );
        Map(Op::Map { .. }) "stablehlo.map",
            (tensors(AtLeast(0), 1, Exactly(1)), NONE, ["dimensions"], HLO_VHLO);
        Scan(Op::Scan(_)) "chlo.scan",
            (
                tensors(AtLeast(0), 1, AtLeast(0)),
                NONE,
                [
                    "dimension",
                    "is_associative?",
                    "is_reverse?",
                    "operandSegmentSizes",
                    "resultSegmentSizes",
                    "scan_dim_size?"
                ],
                TEXT
            );
        Sort(Op::Sort { .. }) "stablehlo.sort",
            (tensors(AtLeast(0), 1, AtLeast(0)), NONE, ["dimension?", "is_stable?"], HLO_VHLO);
        TopK(Op::TopK { .. }) "chlo.top_k",
            (tensors(Exactly(1), 0, Exactly(2)), NONE, ["k"], TEXT);

        // contraction
        DotGeneral(Op::DotGeneral(_)) "stablehlo.dot_general",
            (
                simple(2),
                ARITHMETIC,
                ["algorithm?", "dot_dimension_numbers", "precision_config?"],
                VHLO.opcode("dot").versions(&[V1, (1, 6, 0)])
            );
        Convolution(Op::Convolution(_)) "stablehlo.convolution",
            (
                simple(2),
                ARITHMETIC,
                [
                    "batch_group_count",
                    "dimension_numbers",
                    "feature_group_count",
                    "lhs_dilation?",
                    "padding?",
                    "precision_config?",
                    "rhs_dilation?",
                    "window_reversal?",
                    "window_strides?"
                ],
                HLO_VHLO
            );
        DynamicConvolution(Op::DynamicConvolution(_)) "stablehlo.dynamic_conv",
            (
                simple(3),
                ARITHMETIC.and(DYNAMIC),
                [
                    "batch_group_count",
                    "dimension_numbers",
                    "feature_group_count",
                    "lhs_dilation?",
                    "padding?",
                    "precision_config?",
                    "rhs_dilation?",
                    "window_reversal?",
                    "window_strides?"
                ],
                VHLO.versions(&[V1, (0, 20, 0)])
            );

        // linalg
        Cholesky(Op::Cholesky { .. }) "stablehlo.cholesky",
            (simple(1), ARITHMETIC, ["lower?"], HLO_VHLO);
        TriangularSolve(Op::TriangularSolve(_)) "stablehlo.triangular_solve",
            (simple(2), ARITHMETIC, ["left_side", "lower", "transpose_a", "unit_diagonal"], HLO_VHLO);
        Fft(Op::Fft { .. }) "stablehlo.fft",
            (simple(1), MAY_FAIL, ["fft_length", "fft_type"], HLO_VHLO);

        // random
        RngBitGenerator(Op::RngBitGenerator(_)) "stablehlo.rng_bit_generator",
            (tensors(Exactly(1), 0, Exactly(2)), NONE, ["rng_algorithm"], HLO_VHLO);
        Rng(Op::Rng(_)) "stablehlo.rng",
            (simple(3), OPAQUE.and(DYNAMIC), ["rng_distribution"], VHLO);

        // control
        If(Op::If) "stablehlo.if",
            (tensors(Exactly(1), 2, AtLeast(0)), NONE, [], VHLO);
        Case(Op::Case) "stablehlo.case",
            (arity(Exactly(1), Tensors, AtLeast(0), AtLeast(0)), NONE, [], VHLO);
        While(Op::While) "stablehlo.while",
            (arity(AtLeast(0), Anything, Exactly(2), AtLeast(0)), NONE, [], VHLO);
        Call(Op::Call { .. }) "func.call",
            (any(), STRUCTURE, ["callee"], VHLO);
        Composite(Op::Composite(_)) "stablehlo.composite",
            (
                arity(AtLeast(0), Anything, AtLeast(0), AtLeast(0)),
                STRUCTURE,
                ["composite_attributes?", "decomposition", "name", "version?"],
                VHLO.versions(&[(0, 19, 0), (1, 14, 0)])
            );
        Return(Op::Return) "stablehlo.return",
            (arity(AtLeast(0), Anything, Exactly(0), Exactly(0)), Traits::TERMINATOR, [], VHLO);
        OptimizationBarrier(Op::OptimizationBarrier) "stablehlo.optimization_barrier",
            (any(), STRUCTURE, [], VHLO.opcode("opt-barrier"));
        AfterAll(Op::AfterAll) "stablehlo.after_all",
            (arity(AtLeast(0), Tokens, Exactly(0), Exactly(1)), OPAQUE.and(STRUCTURE), [], HLO_VHLO);
        CreateToken(Op::CreateToken) "stablehlo.create_token",
            (arity(Exactly(0), Anything, Exactly(0), Exactly(1)), OPAQUE.and(STRUCTURE), [], VHLO);
        Tuple(Op::Tuple) "stablehlo.tuple",
            (arity(AtLeast(0), Anything, Exactly(0), Exactly(1)), STRUCTURE, [], VHLO);
        GetTupleElement(Op::GetTupleElement { .. }) "stablehlo.get_tuple_element",
            (arity(Exactly(1), Tuples, Exactly(0), Exactly(1)), STRUCTURE, ["index"], VHLO);
        AsyncStart(Op::AsyncStart) "stablehlo.async_start",
            (tensors(AtLeast(0), 1, Exactly(1)), STRUCTURE, [], VHLO.versions(&[(1, 15, 0)]));
        AsyncDone(Op::AsyncDone) "stablehlo.async_done",
            (
                arity(Exactly(1), Futures, Exactly(0), AtLeast(0)),
                STRUCTURE,
                [],
                VHLO.versions(&[(1, 15, 0)])
            );
        PartitionId(Op::PartitionId) "stablehlo.partition_id",
            (simple(0), OPAQUE, [], HLO_VHLO);
        ReplicaId(Op::ReplicaId) "stablehlo.replica_id",
            (simple(0), OPAQUE, [], HLO_VHLO);

        // collective
        AllGather(Op::AllGather(_)) "stablehlo.all_gather",
            (
                tensors(AtLeast(0), 0, AtLeast(0)),
                COLLECTIVE,
                ["all_gather_dim", "channel_handle?", "replica_groups", "use_global_device_ids?"],
                HLO_VHLO.versions(&[V1, (1, 5, 0)])
            );
        AllReduce(Op::AllReduce(_)) "stablehlo.all_reduce",
            (
                tensors(AtLeast(0), 1, AtLeast(0)),
                COLLECTIVE,
                ["channel_handle?", "replica_groups", "use_global_device_ids?"],
                HLO_VHLO.versions(&[V1, (1, 5, 0)])
            );
        ReduceScatter(Op::ReduceScatter(_)) "stablehlo.reduce_scatter",
            (
                tensors(Exactly(1), 1, Exactly(1)),
                COLLECTIVE,
                ["channel_handle?", "replica_groups", "scatter_dimension", "use_global_device_ids?"],
                HLO_VHLO
            );
        AllToAll(Op::AllToAll(_)) "stablehlo.all_to_all",
            (
                tensors(AtLeast(0), 0, AtLeast(0)),
                COLLECTIVE,
                ["channel_handle?", "concat_dimension", "replica_groups", "split_count", "split_dimension"],
                HLO_VHLO.versions(&[V1, (1, 5, 0)])
            );
        CollectiveBroadcast(Op::CollectiveBroadcast(_)) "stablehlo.collective_broadcast",
            (
                tensors(AtLeast(0), 0, AtLeast(0)),
                COLLECTIVE,
                ["channel_handle?", "has_dynamic_root?", "replica_groups"],
                HLO_VHLO.versions(&[(0, 16, 0), (1, 20, 0)])
            );
        CollectiveReduce(Op::CollectiveReduce(_)) "stablehlo.collective_reduce",
            (
                tensors(AtLeast(0), 1, AtLeast(0)),
                COLLECTIVE,
                ["channel_handle?", "has_dynamic_root?", "replica_groups", "use_global_device_ids?"],
                VHLO.versions(&[(1, 19, 0)])
            );
        CollectivePermute(Op::CollectivePermute(_)) "stablehlo.collective_permute",
            (simple(1), COLLECTIVE, ["channel_handle?", "source_target_pairs"], HLO_VHLO);

        // call
        CustomCall(Op::CustomCall(_)) "stablehlo.custom_call",
            (
                any(),
                OPAQUE,
                [
                    "api_version?",
                    "backend_config?",
                    "call_target_name",
                    "called_computations?",
                    "has_side_effect?",
                    "operand_layouts?",
                    "output_operand_aliases?",
                    "result_layouts?",
                    "result_tilings?"
                ],
                VHLO.versions(&[V1, (1, 18, 0)])
            );
    }
    transfer {
        Infeed(Transfer::Infeed { .. }) "stablehlo.infeed",
            (INTO, TRANSFER, ["infeed_config?", "layout?"], HLO_VHLO);
        Outfeed(Transfer::Outfeed { .. }) "stablehlo.outfeed",
            (OUT_OF, TRANSFER, ["outfeed_config?"], HLO_VHLO);
        Send(Transfer::Send(_)) "stablehlo.send",
            (
                OUT_OF,
                TRANSFER,
                ["channel_handle", "is_host_transfer?", "source_target_pairs?"],
                VHLO.versions(&[V1, (1, 12, 0)])
            );
        Recv(Transfer::Recv(_)) "stablehlo.recv",
            (
                INTO,
                TRANSFER,
                ["channel_handle", "is_host_transfer?", "source_target_pairs?"],
                VHLO.versions(&[V1, (1, 12, 0)])
            );
    }
    derived {
        Broadcast(Derived::Broadcast { .. }) "stablehlo.broadcast",
            (simple(1), NONE, ["broadcast_sizes"], VHLO);
        BroadcastCompare(Derived::Broadcasting(Broadcasting { function: Broadcasted::Compare(_), .. }))
            "chlo.broadcast_compare",
            (
                simple(2),
                ARITHMETIC,
                ["broadcast_dimensions?", "compare_type?", "comparison_direction"],
                TEXT
            );
        BroadcastSelect(Derived::Broadcasting(Broadcasting { function: Broadcasted::Select, .. }))
            "chlo.broadcast_select",
            (simple(3), ARITHMETIC, [], TEXT);
        ConstantLike(Derived::ConstantLike(_)) "chlo.constant_like",
            (simple(1), NONE, ["value"], TEXT);
        Dot(Derived::Dot { .. }) "stablehlo.dot",
            (simple(2), ARITHMETIC, ["precision_config?"], VHLO);
        Einsum(Derived::Einsum { .. }) "stablehlo.einsum",
            (simple(2), ARITHMETIC, ["einsum_config"], VHLO);
        UnaryEinsum(Derived::UnaryEinsum { .. }) "stablehlo.unary_einsum",
            (simple(1), ARITHMETIC, ["einsum_config"], VHLO);
        TorchIndexSelect(Derived::TorchIndexSelect { .. }) "stablehlo.torch_index_select",
            (simple(2), NONE, ["batch_dims", "dim"], VHLO);
        BatchNormInference(Derived::BatchNormInference(_)) "stablehlo.batch_norm_inference",
            (simple(5), ARITHMETIC, ["epsilon", "feature_index"], HLO_VHLO);
        BatchNormTraining(Derived::BatchNormTraining(_)) "stablehlo.batch_norm_training",
            (tensors(Exactly(3), 0, Exactly(3)), ARITHMETIC, ["epsilon", "feature_index"], HLO_VHLO);
        BatchNormGrad(Derived::BatchNormGrad(_)) "stablehlo.batch_norm_grad",
            (tensors(Exactly(5), 0, Exactly(3)), ARITHMETIC, ["epsilon", "feature_index"], HLO_VHLO);
        RaggedDot(Derived::RaggedDot(_)) "chlo.ragged_dot",
            (simple(3), NONE, ["precision_config?", "ragged_dot_dimension_numbers"], HLO);
        SinCos(Derived::SinCos) "chlo.sin_cos",
            (tensors(Exactly(1), 0, Exactly(2)), NONE, [], TEXT);
    }
    form {
        Fusion(FormOp::Fusion) "farcall.fusion",
            (tensors(AtLeast(0), 1, AtLeast(0)), FORM, [], TEXT);
        Copy(FormOp::Copy) "farcall.copy",
            (simple(1), EXACT.and(FORM), [], TEXT);
        PartialSort(FormOp::PartialSort { .. }) "farcall.partial_sort",
            (tensors(AtLeast(0), 1, AtLeast(0)), FORM, ["dimension", "is_stable?", "part"], TEXT);
        WrappingGather(FormOp::WrappingGather(_)) "farcall.wrapping_gather",
            (
                simple(2),
                FORM,
                ["dimension_numbers", "indices_are_sorted?", "slice_sizes", "wrap"],
                TEXT
            );
        WrappingScatter(FormOp::WrappingScatter(_)) "farcall.wrapping_scatter",
            (
                tensors(AtLeast(0), 1, AtLeast(0)),
                FORM,
                ["indices_are_sorted?", "scatter_dimension_numbers", "unique_indices?", "wrap"],
                TEXT
            );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_attributes_sorted() {
        let mut names: Vec<&str> = Opcode::names().map(|(name, _)| name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "an operation is declared twice");
        for info in Opcode::all().map(Opcode::info) {
            let attributes: Vec<&str> = info.attribute_names().collect();
            assert!(
                attributes.is_sorted_by(|a, b| a < b),
                "{}: unsorted or repeated: {attributes:?}",
                info.name
            );
            assert!(
                info.vhlo.is_sorted_by(|a, b| a < b),
                "{}: unsorted or repeated: {:?}",
                info.name,
                info.vhlo
            );
        }
    }

    #[test]
    fn dynamic_operations_may_fail() {
        let dynamic = Opcode::all().map(Opcode::info).filter(|info| info.is(Traits::DYNAMIC));
        assert!(dynamic.into_iter().all(|info| info.is(Traits::MAY_FAIL)));
    }

    #[test]
    fn names_in_hlo_have_dashes() {
        let opcode = |op: Opcode| op.info().hlo;
        assert_eq!(opcode(Opcode::ReducePrecision), Some("reduce-precision"));
        assert_eq!(opcode(Opcode::OptimizationBarrier), Some("opt-barrier"));
        assert_eq!(opcode(Opcode::Unary(Unary::RoundNearestAfz)), Some("round-nearest-afz"));
        assert_eq!(opcode(Opcode::TopK), None);
    }
}
