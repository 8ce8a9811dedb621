//! Random numbers: counter-based generators (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
//! 1, 2, 3", SC 2011). Keys and counters have XLA's layout, so that the bits agree with XLA's.
//!
//! | algorithm | state | one block |
//! |-----------|-------|-----------|
//! | `THREE_FRY` | key, counter | 64-bit counter to two 32-bit words, 20 rounds |
//! | `PHILOX` | key, low counter\[, high counter (else the key)\] | 128-bit counter to four words, 10 rounds |
//! | `DEFAULT` | as `PHILOX` | as `PHILOX`, which is XLA:CPU's choice |
//!
//! An element narrower than 32 bits is the low bits of a separate word.

use farcall_sig::DType;

use super::index::{for_each, known_sizes, position, zeros};
use super::machine::Machine;
use super::{EvalError, EvalValue, one, tensor};
use crate::dims::strides;
use crate::interrupt::{self, Pace};
use crate::literal::Literal;
use crate::memory;
use crate::module::Inst;
use crate::op::{RngAlgorithm, RngDistribution};
use crate::scalar::Scalar;

/// `rng_bit_generator`: state. Returns the new state and random bits.
pub(super) fn rng_bit_generator(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
    algorithm: RngAlgorithm,
) -> Result<Vec<EvalValue>, EvalError> {
    let state = tensor(xs, 0)?;
    let ty = m.result_type(inst, 1)?;
    let sizes = known_sizes(&ty)?;
    let mut random = zeros(ty.dtype, sizes)?;
    let words: Vec<u64> = state.iter().map(|x| x.as_u64()).collect();
    let Some((bits, new_state)) = generate(algorithm, &words, ty.dtype, sizes) else {
        return Err(EvalError::new(format!("{} is not a state of {}", state.ty(), algorithm.name())));
    };
    let size = ty.dtype.size();
    for (element, bits) in Pace::until_due(random.bytes_mut().chunks_exact_mut(size).zip(bits)) {
        write_bits(bits, ty.dtype, element);
    }
    let new_state = Literal::from_fn(state.dtype(), state.dims(), |i| Scalar::Unsigned(new_state[i]));
    Ok(vec![EvalValue::Tensor(new_state), EvalValue::Tensor(random)])
}

/// `rng`: a, b, shape.
///
/// The specification leaves the bits to the implementation, and farcall guarantees the same bits for the same
/// inputs: all random numbers come from one fixed key, and each `rng` instruction of the program has separate
/// counters. Every call of a function, and every iteration of a loop, therefore gets the same random numbers.
pub(super) fn rng(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
    distribution: RngDistribution,
) -> Result<Vec<EvalValue>, EvalError> {
    let (a, b) = (tensor(xs, 0)?, tensor(xs, 1)?);
    let shape = tensor(xs, 2)?.iter().map(|x| usize::try_from(x.as_i64()));
    let dims: Vec<usize> =
        shape.collect::<Result<_, _>>().map_err(|_| EvalError::new("a dimension is negative"))?;
    let dtype = m.result_type(inst, 0)?.dtype;
    let mut out = zeros(dtype, &dims)?;
    // Memory for the random bits, whose number is known only at this point.
    memory::admit_scratch(out.len().saturating_mul(2 * size_of::<u64>()))?;
    let number = inst.results().first().map_or(0, |r| r.index());
    let counter = (number as u128) << 64;
    let n = out.len();
    let (bits, _) = philox_bits(RNG_KEY, counter, DType::U64, 2 * n);
    interrupt::complete()?;
    let (a, b) = (a.get(0), b.get(0));
    for i in Pace::until_due(0..n) {
        let (x, y) = (bits[2 * i], bits[2 * i + 1]);
        let value = match (distribution, dtype.is_float()) {
            (RngDistribution::Normal, true) => Scalar::Float(a.as_f64() + b.as_f64() * normal(x, y)),
            (RngDistribution::Uniform, true) => uniform_float(a.as_f64(), b.as_f64(), x, dtype),
            (RngDistribution::Uniform, false) => uniform_integer(a, b, x),
            (RngDistribution::Normal, false) => {
                return Err(EvalError::new(format!(
                    "the normal distribution is not defined for {dtype} elements"
                )));
            }
        };
        out.set(i, value);
    }
    one(out)
}

/// Key of the random numbers of `rng`.
const RNG_KEY: u64 = 0x6661_7263_616c_6c21;

/// Returns random bits for a tensor, and the new state; `None` if the state has the wrong number of words.
fn generate(
    algorithm: RngAlgorithm,
    state: &[u64],
    dtype: DType,
    dims: &[usize],
) -> Option<(Vec<u64>, Vec<u64>)> {
    match (algorithm, state) {
        (RngAlgorithm::ThreeFry, [key, counter]) => {
            let (bits, counter) = threefry_bits(*key, *counter, dtype, dims);
            Some((bits, vec![*key, counter]))
        }
        (RngAlgorithm::Philox | RngAlgorithm::Default, [key, low, rest @ ..]) if rest.len() < 2 => {
            let high = rest.first().copied().unwrap_or(*key);
            let counter = u128::from(high) << 64 | u128::from(*low);
            let (bits, counter) = philox_bits(*key, counter, dtype, dims.iter().product());
            let mut new_state = vec![*key, counter as u64, (counter >> 64) as u64];
            new_state.truncate(state.len());
            Some((bits, new_state))
        }
        _ => None,
    }
}

/// Returns random bits for a tensor, and the counter of the next block.
///
/// An element of more than 32 bits takes a block of two words. For narrower types, the two words of a block
/// belong to neighbors along one dimension: the first dimension of even size, or else the largest dimension.
/// If the size of this dimension is odd, the second word of each last block along it is dropped.
fn threefry_bits(key: u64, counter: u64, dtype: DType, dims: &[usize]) -> (Vec<u64>, u64) {
    let block = |i: usize| threefry(key, counter.wrapping_add(i as u64)).map(u64::from);
    let elements: usize = dims.iter().product();
    if dtype.bits() > 32 {
        let bits = Pace::until_due(0..elements).map(|i| block(i)[0] | block(i)[1] << 32).collect();
        return (bits, counter.wrapping_add(elements as u64));
    }
    let largest = (0..dims.len()).rev().max_by_key(|d| dims[*d]);
    let Some(split) = dims.iter().position(|d| d % 2 == 0).or(largest) else {
        return (vec![block(0)[0]], counter.wrapping_add(1));
    };
    let mut half = dims.to_vec();
    half[split] = dims[split].div_ceil(2);
    let half_strides = strides(&half);
    let mut bits = Vec::with_capacity(elements);
    for_each(dims, |index| {
        let mut at = index.to_vec();
        at[split] /= 2;
        bits.push(block(position(&at, &half_strides))[index[split] % 2]);
    });
    (bits, counter.wrapping_add(half.iter().product::<usize>() as u64))
}

/// Threefry: encrypts the counter under the key to two words.
#[inline(always)]
pub fn threefry(key: u64, counter: u64) -> [u32; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    const PARITY: u32 = 0x1bd1_1bda;
    let [k0, k1] = halves(key);
    let keys = [k0, k1, PARITY ^ k0 ^ k1];
    let [mut x, mut y] = halves(counter);
    (x, y) = (x.wrapping_add(k0), y.wrapping_add(k1));
    for group in 0..5 {
        for rotation in ROTATIONS[group % 2] {
            x = x.wrapping_add(y);
            y = y.rotate_left(rotation) ^ x;
        }
        x = x.wrapping_add(keys[(group + 1) % 3]);
        y = y.wrapping_add(keys[(group + 2) % 3]).wrapping_add(group as u32 + 1);
    }
    [x, y]
}

/// Returns random bits for `elements` elements, and the counter of the next block. Each block of four words
/// yields four elements, or two 64-bit elements.
fn philox_bits(key: u64, counter: u128, dtype: DType, elements: usize) -> (Vec<u64>, u128) {
    let per_block = if dtype.bits() > 32 { 2 } else { 4 };
    let blocks = elements.div_ceil(per_block);
    let mut bits = Vec::with_capacity(blocks * per_block);
    for i in Pace::until_due(0..blocks) {
        let words = philox(key, counter.wrapping_add(i as u128)).map(u64::from);
        if per_block == 2 {
            bits.extend([words[0] | words[1] << 32, words[2] | words[3] << 32]);
        } else {
            bits.extend(words);
        }
    }
    bits.truncate(elements);
    (bits, counter.wrapping_add(blocks as u128))
}

/// Philox: encrypts the counter under the key to four words.
#[inline(always)]
pub fn philox(key: u64, counter: u128) -> [u32; 4] {
    const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];
    const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
    let [mut k0, mut k1] = halves(key);
    let ([a, b], [c, d]) = (halves(counter as u64), halves((counter >> 64) as u64));
    let mut x = [a, b, c, d];
    for _ in 0..10 {
        let [low0, high0] = halves(u64::from(x[0]) * u64::from(MULTIPLIERS[0]));
        let [low1, high1] = halves(u64::from(x[2]) * u64::from(MULTIPLIERS[1]));
        x = [high1 ^ x[1] ^ k0, low1, high0 ^ x[3] ^ k1, low0];
        (k0, k1) = (k0.wrapping_add(WEYL[0]), k1.wrapping_add(WEYL[1]));
    }
    x
}

/// Splits a word into its low and high half.
#[inline(always)]
fn halves(x: u64) -> [u32; 2] {
    [x as u32, (x >> 32) as u32]
}

/// Writes the low bits of a word as an element.
fn write_bits(bits: u64, dtype: DType, element: &mut [u8]) {
    if dtype.is_integer() {
        Scalar::Unsigned(bits).write(dtype, element);
    } else {
        let masked = if dtype.bits() < 64 { bits & ((1 << dtype.bits()) - 1) } else { bits };
        let n = element.len().min(8);
        element[..n].copy_from_slice(&masked.to_le_bytes()[..n]);
    }
}

/// Converts 53 random bits to a number in `[0, 1)`.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// A number in `[a, b)`, rounded once to the type.
fn uniform_float(a: f64, b: f64, bits: u64, dtype: DType) -> Scalar {
    let x = Scalar::Float(a + unit(bits) * (b - a)).round_to(dtype);
    // Rounding may reach `b`, which is outside of the interval.
    if x.as_f64() < b { x } else { Scalar::Float(a) }
}

/// An integer in `[a, b)`; `a` if the interval is empty. `pred` counts as 0 and 1.
fn uniform_integer(a: Scalar, b: Scalar, bits: u64) -> Scalar {
    let width = b.as_i64().wrapping_sub(a.as_i64()).cast_unsigned();
    let offset = if width == 0 { 0 } else { ((u128::from(bits) * u128::from(width)) >> 64) as i64 };
    match a {
        Scalar::Unsigned(a) => Scalar::Unsigned(a.wrapping_add(offset.cast_unsigned())),
        a => Scalar::Signed(a.as_i64().wrapping_add(offset)),
    }
}

/// A normally distributed number, by Box and Muller's method.
fn normal(x: u64, y: u64) -> f64 {
    let radius = (-2.0 * (1.0 - unit(x)).ln()).sqrt();
    radius * (std::f64::consts::TAU * unit(y)).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that the generators' authors publish.
    #[test]
    fn known_answers() {
        assert_eq!(threefry(0, 0), [0x6b20_0159, 0x99ba_4efe]);
        assert_eq!(threefry(u64::MAX, u64::MAX), [0x1cb9_96fc, 0xbb00_2be7]);
        assert_eq!(threefry(0x0370_7344_1319_8a2e, 0x85a3_08d3_243f_6a88), [0xc492_3a9c, 0x483d_f7a0]);
        assert_eq!(philox(0, 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox(u64::MAX, u128::MAX), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    }

    #[test]
    fn the_words_of_a_block_are_neighbours_along_the_first_even_dimension() {
        let (bits, counter) = threefry_bits(7, 5, DType::U32, &[3, 4]);
        assert_eq!(counter, 11);
        let block = |counter| threefry(7, counter).map(u64::from);
        assert_eq!(bits[..4], [block(5), block(6)].concat());
        let (bits, counter) = threefry_bits(7, 5, DType::U32, &[3, 5]);
        assert_eq!((bits.len(), counter), (15, 14));
        assert_eq!(bits[4], block(7)[0]);
        assert_eq!(threefry_bits(7, 5, DType::U32, &[]), (vec![block(5)[0]], 6));
    }

    /// Compares with results of XLA:CPU (jaxlib 0.10.2). `counter` is the last word of the new state.
    /// `digest` is the number whose digits in base 31 are the elements, modulo 2^64.
    #[test]
    fn bits_are_those_of_xla() {
        let state = [0x1234_5678_9abc_def0, 0xffff_ffff_ffff_fffe];
        let check = |algorithm, dims: &[usize], dtype: DType, counter: u64, digest: u64| {
            let (bits, new_state) = generate(algorithm, &state, dtype, dims).unwrap();
            let mask = u64::MAX >> (64 - dtype.bits());
            let found = bits.iter().fold(0u64, |h, b| h.wrapping_mul(31).wrapping_add(b & mask));
            assert_eq!((new_state[0], new_state[1]), (state[0], counter), "{algorithm:?} {dtype} {dims:?}");
            assert_eq!(found, digest, "{algorithm:?} {dtype} {dims:?}");
        };
        check(RngAlgorithm::ThreeFry, &[3, 5], DType::U32, 7, 0xcca3_e483_fa3f_7361);
        check(RngAlgorithm::ThreeFry, &[2, 3], DType::U16, 1, 0x90_6021_722b);
        check(RngAlgorithm::ThreeFry, &[5], DType::U8, 1, 0x6cd_bf68);
        check(RngAlgorithm::ThreeFry, &[3], DType::U64, 1, 0x45d_fc91_5ba6_9370);
        check(RngAlgorithm::ThreeFry, &[], DType::U32, u64::MAX, 0x3c3b_507a);
        check(RngAlgorithm::ThreeFry, &[3, 3, 4], DType::U32, 16, 0xcdb3_aab9_a124_eb74);
        for algorithm in [RngAlgorithm::Philox, RngAlgorithm::Default] {
            check(algorithm, &[3, 5], DType::U32, 2, 0x718b_ee3e_f6f3_ca7a);
            check(algorithm, &[2, 3], DType::U16, 0, 0xa0_8f62_2900);
            check(algorithm, &[5], DType::U8, 0, 0xe55_5c8c);
            check(algorithm, &[3], DType::U64, 0, 0x513f_a97a_9843_0d86);
            check(algorithm, &[], DType::U32, u64::MAX, 0xbbd8_56ff);
            check(algorithm, &[3, 3, 4], DType::U32, 7, 0x4717_263f_225c_2cdd);
        }
        assert_eq!(generate(RngAlgorithm::ThreeFry, &[1, 2, 3], DType::U32, &[1]), None);
    }

    #[test]
    fn philox_carries_into_the_high_counter() {
        let (bits, counter) = philox_bits(1, u128::from(u64::MAX), DType::U64, 3);
        assert_eq!((bits.len(), counter), (3, (1 << 64) + 1));
    }

    #[test]
    fn uniform_numbers_stay_in_their_interval() {
        for bits in [0, 1 << 63, u64::MAX] {
            let x = uniform_float(1.0, 2.0, bits, DType::BF16).as_f64();
            assert!((1.0..2.0).contains(&x), "{x}");
            let i = uniform_integer(Scalar::Signed(-3), Scalar::Signed(4), bits).as_i64();
            assert!((-3..4).contains(&i), "{i}");
        }
        assert_eq!(uniform_integer(Scalar::Signed(-3), Scalar::Signed(4), u64::MAX), Scalar::Signed(3));
    }
}
