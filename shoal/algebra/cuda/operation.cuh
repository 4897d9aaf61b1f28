// What an operation must be to run on a GPU, and how threads of a warp hand its values to one another.
#pragma once

#include <concepts>
#include <cstring>
#include <type_traits>

#include <shoal/algebra/group.hpp>

namespace shoal::algebra::gpu {

/// The values are plain bytes, at most 128 of them, that a thread can hold, hand on and make without arguments.
template <class Structure>
concept has_values_of_plain_bytes = std::is_trivially_copyable_v<value_of<Structure>> &&
                                    std::default_initializable<value_of<Structure>> &&
                                    sizeof(value_of<Structure>) <= 128;

/// The structure is handed to kernels as an argument, byte by byte.
template <class Structure>
concept is_plain_bytes = std::is_trivially_copyable_v<Structure>;

/// The identity is the very same value on both sides: what is missing behind the end is filled up with it.
template <class Structure>
concept declares_identity_law_exact = Structure::laws.identity == law::exact;

/// A semigroup whose values can be in a GPU's memory. Whether its operation can be called there no concept can tell: an
/// operation that is neither `constexpr` nor marked `__device__` fails to compile in combine_on_device, whose name the
/// compiler's message has. (nvcc takes constexpr functions with --expt-relaxed-constexpr.)
template <class Structure>
concept device_semigroup = semigroup<Structure> && is_plain_bytes<Structure> && has_values_of_plain_bytes<Structure>;

/// The same with an identity that is one to the bit.
template <class Structure>
concept device_monoid = device_semigroup<Structure> && monoid<Structure> && declares_identity_law_exact<Structure>;

/// a·b on the GPU. It is for the device alone, so that an operation of the host is an error here, not a warning.
template <device_semigroup Structure>
__device__ __forceinline__ value_of<Structure> combine_on_device(const Structure& structure,
                                                                 const value_of<Structure>& a,
                                                                 const value_of<Structure>& b) {
  if constexpr (combines_values<Structure>) {
    return structure.combine(a, b);
  } else {
    value_of<Structure> result = a;
    structure.combine_into(result, b);
    return result;
  }
}

namespace detail {

inline constexpr unsigned whole_warp = 0xffffffffu;

// Values travel between lanes as words of 32 bits.
template <class Value, class Move>
__device__ __forceinline__ Value moved(const Value& value, const Move& move) {
  constexpr int words = (sizeof(Value) + 3) / 4;
  unsigned bits[words] = {};
  memcpy(bits, &value, sizeof(Value));
#pragma unroll
  for (int w = 0; w < words; ++w) bits[w] = move(bits[w]);
  Value result;
  memcpy(&result, bits, sizeof(Value));
  return result;
}

template <class Value>
__device__ __forceinline__ Value from_lane_across(const Value& value, unsigned bit) {
  return moved(value, [&](unsigned word) { return __shfl_xor_sync(whole_warp, word, bit); });
}
template <class Value>
__device__ __forceinline__ Value from_lane_before(const Value& value, unsigned distance) {
  return moved(value, [&](unsigned word) { return __shfl_up_sync(whole_warp, word, distance); });
}
template <class Value>
__device__ __forceinline__ Value from_lane_behind(const Value& value, unsigned distance) {
  return moved(value, [&](unsigned word) { return __shfl_down_sync(whole_warp, word, distance); });
}

// `yes` or `no`, word by word: to choose between the addresses of two values would put both into local memory.
template <class Value>
__device__ __forceinline__ Value chosen(bool which, const Value& yes, const Value& no) {
  constexpr int words = (sizeof(Value) + 3) / 4;
  unsigned bits[words] = {}, others[words] = {};
  memcpy(bits, &yes, sizeof(Value));
  memcpy(others, &no, sizeof(Value));
#pragma unroll
  for (int w = 0; w < words; ++w) bits[w] = which ? bits[w] : others[w];
  Value result;
  memcpy(&result, bits, sizeof(Value));
  return result;
}

// Combines `mine` with what the lane across `bit` has of it, the lower lane's on the left.
template <class Structure>
__device__ __forceinline__ value_of<Structure> in_order_of_lanes(const Structure& structure,
                                                                 const value_of<Structure>& mine,
                                                                 const value_of<Structure>& other, bool right) {
  const value_of<Structure> left_value = chosen(right, other, mine), right_value = chosen(right, mine, other);
  return combine_on_device(structure, left_value, right_value);
}

// Combines what two lanes hold whose numbers differ in `bit`, the lower lane's on the left; both get the result.
template <class Structure>
__device__ __forceinline__ value_of<Structure> meet(const Structure& structure, const value_of<Structure>& mine,
                                                    unsigned lane, unsigned bit) {
  return in_order_of_lanes(structure, mine, from_lane_across(mine, bit), (lane & bit) != 0);
}

}  // namespace detail
}  // namespace shoal::algebra::gpu
