#include <shoal/nearest/bounded_rows.hpp>

#include <array>
#include <cmath>
#include <cstring>

#include <shoal/execution/executor.hpp>

namespace shoal {

void byte_centroids::set(const centroid_index<float>& index, executor* workers) {
  shape_ = byte_shape(index.columns());
  const std::size_t clusters = index.clusters();
  bytes_.grow(clusters * shape_.centroid_bytes());
  facts_.grow(clusters);
  constexpr std::size_t parts = 16;
  const auto part = [&](std::size_t p) {
    for (std::size_t k = p * clusters / parts; k < (p + 1) * clusters / parts; ++k) set_one(index, k);
  };
  if (workers == nullptr) {
    for (std::size_t p = 0; p < parts; ++p) part(p);
  } else {
    workers->run(parts, 1, [&](std::size_t p, const team_member&) { part(p); });
  }
}

// The step is as small as bytes allow, and so large that no lane of 16 bits can overflow: |Σ X·C| ≤ 63 · Σ |C|.
void byte_centroids::set_one(const centroid_index<float>& index, std::size_t k) {
  const std::size_t columns = index.columns();
  constexpr std::size_t panel = centroid_index<float>::panel;
  const float* const row = index.negated() + k / panel * columns * panel + k % panel;  // a column in each `panel`
  constexpr std::size_t lanes = byte_shape::lanes;
  float farthest = 0, most_sum = 0;
  for (std::size_t first = 0; first < columns; first += shape_.chunk * byte_shape::vector) {
    const std::size_t end = std::min(columns, first + shape_.chunk * byte_shape::vector);
    std::array<float, lanes> sums{};
    for (std::size_t j = first; j < end; ++j) {
      const float size = std::abs(row[j * panel]);
      farthest = std::max(farthest, size);
      sums[j / 2 % lanes] += size;
    }
    most_sum = std::max(most_sum, *std::max_element(sums.begin(), sums.end()));
  }
  // A lane's columns are rounded by at most a half each.
  const float room = 32767.0F / most_row - static_cast<float>(shape_.chunk) - 1;
  const float step = std::max({farthest / 127, most_sum * 1.0001F / room, 1e-20F}), inverse = 1 / step;
  std::int8_t* to = bytes_.data() + k * shape_.centroid_bytes();
  double error = 0;
  for (std::size_t first = 0; first < shape_.row_bytes(); first += shape_.chunk * byte_shape::vector) {
    std::int8_t* const start = to;
    to += byte_shape::vector;
    std::array<int, lanes> sums{};
    for (std::size_t j = first; j < first + shape_.chunk * byte_shape::vector; ++j) {
      const float value = j < columns ? row[j * panel] : 0.0F;
      const float steps = value * inverse + 0x1.8p23F - 0x1.8p23F;
      const double left = static_cast<double>(value) - static_cast<double>(steps) * static_cast<double>(step);
      error += left * left;
      *to++ = static_cast<std::int8_t>(steps);
      sums[j / 2 % lanes] += static_cast<int>(steps);
    }
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const auto from = static_cast<std::uint16_t>(-row_offset * sums[lane]);
      std::memcpy(start + lane * sizeof(from), &from, sizeof(from));
    }
  }
  const float half_norm = index.half_norms()[k];
  facts_[k] = {half_norm, step, static_cast<float>(std::sqrt(2 * static_cast<double>(half_norm)) * 1.0001),
               static_cast<float>(std::sqrt(error) * 1.0001)};
}

void bounded_rows::grow(std::size_t rows, std::size_t clusters, std::size_t columns) {
  if (rows == rows_) return;
  rows_ = rows;
  clusters_ = clusters;
  stride_ = byte_shape(columns).row_bytes();
  padded_ = padded_clusters(clusters);
  bytes_.grow(rows * stride_);
  facts_.grow(rows);
  bounds_.grow(rows * padded_);
  drifts_.grow(padded_);
  std::fill_n(drifts_.data(), padded_, std::uint16_t{0});
  forget_bytes();
  forget_bounds(0);
}

void bounded_rows::forget_bytes() {
  for (std::size_t i = 0; i < rows_; ++i) facts_[i].step = 0;
}

void bounded_rows::clear_bounds(std::size_t first, std::size_t count) {
  for (std::size_t i = first; i < first + count; ++i) {
    std::fill_n(bounds(i), clusters_, std::uint16_t{0});
    std::fill_n(bounds(i) + clusters_, padded_ - clusters_, nobody);
  }
}

void bounded_rows::set_drifts(std::span<const double> moved) {
  for (std::size_t k = 0; k < moved.size(); ++k) {
    // Rounded up by more than what the distance and the division may have lost.
    const double units = moved[k] > 0 ? moved[k] / static_cast<double>(unit_) * (1 + 1e-6) + 1 : 0;
    drifts_[k] = static_cast<std::uint16_t>(std::min(units, 65535.0));
  }
}

}  // namespace shoal
