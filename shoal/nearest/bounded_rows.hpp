// What a fit keeps of rows and centroids for bounded_search.hpp: both as bytes, and a bound for every pair of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/nearest/centroid_index.hpp>

namespace shoal {

class executor;

/// Rows and centroids as bytes that a search by bounds multiplies: columns in vectors of 32, and these in chunks of
/// equally many, which 16 bits sum. Bytes behind the last column are as good as zero.
struct byte_shape {
  static constexpr std::size_t vector = 32;
  static constexpr std::size_t most_chunk = 8;  ///< vectors
  static constexpr std::size_t lanes = 16;      ///< of 16 bits in a vector, each of two columns

  explicit byte_shape(std::size_t columns = 1)
      : chunks((columns + most_chunk * vector - 1) / (most_chunk * vector)),
        chunk((columns + chunks * vector - 1) / (chunks * vector)) {}
  std::size_t row_bytes() const { return chunks * chunk * vector; }
  /// Of a centroid: where the lanes' sums of a chunk start lies before its bytes.
  std::size_t centroid_bytes() const { return chunks * (chunk + 1) * vector; }

  std::size_t chunks;
  std::size_t chunk;  ///< vectors
};

/// Centroids as signed bytes, each with its own step, about the origin of an index.
class byte_centroids {
 public:
  /// What a score needs of one centroid.
  struct facts {
    float half_norm;  ///< ‖c′‖²/2
    float step;
    float length;  ///< ‖c′‖, rounded up
    float error;   ///< ‖c′ − its rounded value‖, rounded up
  };
  /// Rows are at most so many of their steps long in each column, and lie so high above zero as unsigned bytes.
  static constexpr int most_row = 63, row_offset = 64;

  /// False where values are so large or so small that products of steps would leave the range of float32.
  template <class Scalar>
  static bool may_be(const centroid_index<Scalar>& index) {
    return index.largest_norm() > Scalar{1e-24F} && index.largest_norm() < Scalar{1e24F};
  }
  void set(const centroid_index<float>& index, executor* workers);

  const byte_shape& shape() const { return shape_; }
  /// [clusters][chunks]: for each lane of 16 bits −row_offset · the sum of the bytes that it adds, then [chunk][32]
  /// bytes −c′/step.
  const std::int8_t* bytes() const { return bytes_.data(); }
  const facts* about() const { return facts_.data(); }

 private:
  void set_one(const centroid_index<float>& index, std::size_t k);

  byte_shape shape_;
  aligned_buffer<std::int8_t> bytes_;
  aligned_buffer<facts> facts_;
};

/// Of the first rows of a fit: bytes, and lower bounds of the distance to each centroid (Elkan 2003) as whole numbers
/// of one unit.
class bounded_rows {
 public:
  struct facts {
    float norm;    ///< ‖x′‖²
    float length;  ///< ‖x′‖, rounded up
    float step;    ///< of its bytes; 0: they are not made yet, negative: the row cannot be made bytes
    float lost;    ///< ‖x′ − its rounded value‖, rounded up
  };
  /// Bounds are at most this, so that the one of a place that no centroid has is beyond all others.
  static constexpr std::uint16_t most_bound = 65534, nobody = 65535;

  void grow(std::size_t rows, std::size_t clusters, std::size_t columns);
  /// Bytes that grow() takes for each row.
  static std::size_t bytes_of_row(std::size_t clusters, std::size_t columns) {
    return padded_clusters(clusters) * sizeof(std::uint16_t) + byte_shape(columns).row_bytes() + sizeof(facts);
  }

  /// The origin of the rows' bytes has moved.
  void forget_bytes();
  /// No bound says anything any more; the next ones are multiples of `unit`. Those of each row are cleared by whoever
  /// comes to it first.
  void forget_bounds(float unit) { unit_ = unit, forgotten_ = true; }
  void keep_bounds() { forgotten_ = false; }
  bool forgotten() const { return forgotten_; }
  void clear_bounds(std::size_t first, std::size_t count);
  float unit() const { return unit_; }  ///< 0: none yet

  /// How far each centroid has moved since bounds were left: [clusters], rounded up.
  void set_drifts(std::span<const double> moved);
  const std::uint16_t* drifts() const { return drifts_.data(); }

  std::size_t rows() const { return rows_; }
  std::size_t padded() const { return padded_; }
  std::uint8_t* bytes(std::size_t row) { return bytes_.data() + row * stride_; }
  facts* about(std::size_t row) { return facts_.data() + row; }
  std::uint16_t* bounds(std::size_t row) { return bounds_.data() + row * padded_; }

 private:
  static std::size_t padded_clusters(std::size_t clusters) { return (clusters + 31) / 32 * 32; }

  std::size_t rows_ = 0;
  std::size_t stride_ = 0;
  std::size_t padded_ = 0;
  std::size_t clusters_ = 0;
  float unit_ = 0;
  bool forgotten_ = true;
  aligned_buffer<std::uint8_t> bytes_;
  aligned_buffer<facts> facts_;
  aligned_buffer<std::uint16_t> bounds_;
  aligned_buffer<std::uint16_t> drifts_;
};

}  // namespace shoal
