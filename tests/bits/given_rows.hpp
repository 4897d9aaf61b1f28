// Rows and weights with the same bits wherever they are made: integers of random streams, scaled by powers of two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include <shoal/io/row_source.hpp>
#include <shoal/random/stream.hpp>

#include "../copying_source.hpp"

namespace bits {

struct shape {
  std::size_t rows, columns;
  std::size_t clusters = 6;  ///< that the rows lie in
  bool weighted = false;     ///< from 0 to 4, every eleventh 0
  bool streamed = false;     ///< rows that are read by copying, in pieces
};

/// Row i lies about the centre of cluster i mod clusters. Centres are integers of ±16, and what is added to them is the
/// sum of four uniforms, with a standard deviation of 2.3. Every bit of a float's mantissa is in use, and of a double's
/// all but three.
template <class Scalar>
class given_rows {
 public:
  explicit given_rows(const shape& shape) : shape_(shape) {
    values_.reserve(shape.rows * shape.columns);
    for (std::size_t i = 0; i < shape.rows; ++i) {
      shoal::random::stream words(row_seed, i);
      for (std::size_t j = 0; j < shape.columns; ++j) values_.push_back(near(centre(i % shape.clusters, j), words));
      if (!shape.weighted) continue;
      weights_.push_back(i % 11 == 5 ? Scalar(0) : static_cast<Scalar>(words.next_u32() >> 8) * Scalar(0x1p-22));
    }
    rows_ = source(values_, shape.columns);
    if (shape.weighted) weights_source_ = source(weights_, 1);
  }

  const shoal::row_source<Scalar>& rows() const { return *rows_; }
  const shoal::row_source<Scalar>* weights() const { return weights_source_.get(); }
  const std::vector<Scalar>& values() const { return values_; }

 private:
  static constexpr std::uint64_t row_seed = 1938, centre_seed = 1877;

  static std::int64_t centre(std::size_t cluster, std::size_t column) {
    return static_cast<std::int64_t>(shoal::random::stream(centre_seed, cluster, column).next_u32() % 33) - 16;
  }

  // In units of 2⁻¹⁷ this is an integer below 2²², and for doubles 28 more bits follow.
  static Scalar near(std::int64_t centre, shoal::random::stream& words) {
    std::int64_t integer = centre * (std::int64_t{1} << 17) - (std::int64_t{1} << 20);
    for (int k = 0; k < 4; ++k) integer += words.next_u32() >> 13;
    auto value = static_cast<Scalar>(integer);
    if constexpr (std::is_same_v<Scalar, double>) value += static_cast<double>(words.next_u32() >> 4) * 0x1p-28;
    return value * Scalar(0x1p-17);
  }

  std::unique_ptr<shoal::row_source<Scalar>> source(const std::vector<Scalar>& values, std::size_t columns) const {
    if (shape_.streamed) return std::make_unique<copied_rows::copying_source<Scalar>>(values, columns);
    return std::make_unique<shoal::view_source<Scalar>>(
        shoal::matrix_view<const Scalar>(values.data(), shape_.rows, columns));
  }

  bits::shape shape_;
  std::vector<Scalar> values_, weights_;
  std::unique_ptr<shoal::row_source<Scalar>> rows_, weights_source_;
};

}  // namespace bits
