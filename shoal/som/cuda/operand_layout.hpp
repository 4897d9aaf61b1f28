// Where a unit lies in the tiles that the tensor cores read.
#pragma once

#include <cstddef>

#include <shoal/execution/precision.hpp>

namespace shoal::som {

/// Units whose least score the search keeps: a tile. There are a multiple of tile_group of them, the last ones empty.
inline constexpr int unit_tile = 64;
inline constexpr int tile_group = 4;

/// Units have places, the units of a map first: 64 in turn are a tile, and 16 in turn the column of the tile that one
/// thread of the products sees for a row. The operand of the products, of a multiple of 64, that is a place's:
constexpr int operand_at(int place) {
  return place / unit_tile * unit_tile + place % 16 / 2 * 8 + place % unit_tile / 16 * 2 + place % 2;
}

/// Float32 rows of at most so many columns are searched on the tensor cores, which keep a row in registers.
inline constexpr int most_tensor_columns = 128;

/// Other rows of so many columns are searched by float16 products, which leave a few units of each to be measured.
template <class Scalar>
inline constexpr int least_float16_columns = sizeof(Scalar) == 4 ? most_tensor_columns + 1 : 16;

/// Columns come in chunks of 16, what one product of bf16 numbers takes. Four places more, the tail, hold half the
/// squared norm of a unit in three parts and a one, against ones and the offset of a row's scores; they are in the last
/// chunk where that has room, else in a chunk apart.
struct operand_shape {
  int chunks = 1;
  bool apart = false;
  constexpr int tail(int columns) const { return apart ? 16 * chunks : columns; }
};
/// There are kernels for 1, 2, 3, 4, 6 and 8 chunks.
constexpr operand_shape operands_for(int columns) {
  int chunks = (columns + 15) / 16;
  if (chunks > 4) chunks += chunks % 2;
  return {chunks, columns + 4 > 16 * chunks};
}

/// In float32 a number is the sum of two of bf16 (up to 2⁻¹⁷ of it); in the rougher precisions it is one of TF32 or
/// bf16.
constexpr int operand_bytes(precision precision) { return precision == precision::tf32 ? 4 : 2; }
/// One product takes 32 bytes of a unit: a chunk of bf16 numbers, or half of one of TF32 numbers. Products of first
/// parts and of the tail (of a chunk apart TF32 needs half), and of second parts.
constexpr int first_products(operand_shape shape, precision precision) {
  const int of_chunk = precision == precision::tf32 ? 2 : 1;
  return of_chunk * shape.chunks + (shape.apart ? 1 : 0);
}
constexpr int second_products(operand_shape shape, precision precision) {
  return precision == precision::float32 ? shape.chunks : 0;
}
constexpr int unit_bytes(operand_shape shape, precision precision) {
  return 32 * (first_products(shape, precision) + second_products(shape, precision));
}
constexpr std::size_t tile_bytes(operand_shape shape, precision precision) {
  return static_cast<std::size_t>(unit_tile) * static_cast<std::size_t>(unit_bytes(shape, precision));
}

/// The chunk of second parts that belongs to chunk 0.
constexpr int second_parts(operand_shape shape) { return shape.chunks + (shape.apart ? 1 : 0); }

/// Byte of place j of operand k, which counts the columns of the first parts, the tail, and from 16 · second_parts()
/// the columns of the second parts. Core matrices of 8 units × 16 bytes, those of 8 units one after another. Within a
/// chunk the order is that in which a thread's four neighbouring columns of a row feed the products: of bf16 numbers,
/// columns 4q and 4q + 1 are places 2q and 2q + 1, columns 4q + 2 and 4q + 3 those of the second eight; of TF32
/// numbers, columns 4q and 4q + 1 are places q and q + 4 of the chunk's first product, the others those of its second.
constexpr std::size_t operand_place(int k, int j, operand_shape shape, precision precision) {
  const int q = j % 16 / 4, e = j % 4, bytes = operand_bytes(precision), across = 16 / bytes;
  int place = j / 16 * 16 + e / 2 * 8;
  if (precision != precision::tf32) {
    place += 2 * q + e % 2;
  } else if (shape.apart && j >= 16 * shape.chunks) {
    place = j;
  } else {
    place += e % 2 * 4 + q;
  }
  return static_cast<std::size_t>(k / unit_tile) * tile_bytes(shape, precision) +
         static_cast<std::size_t>(k % unit_tile / 8 * 8 * unit_bytes(shape, precision) + place / across * 128 +
                                  k % 8 * 16 + place % across * bytes);
}

}  // namespace shoal::som
