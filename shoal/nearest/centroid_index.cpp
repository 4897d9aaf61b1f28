#include <shoal/nearest/centroid_index.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

namespace shoal {

namespace {

// Numbers in all centroids that are worth calling the other threads for, and the parts that they are cut into then.
constexpr std::size_t least_shared_values = std::size_t{1} << 13;
constexpr std::size_t shared_parts = 16;

// The nearest whole number, for numbers far below 2⁵¹ and 2²², in less than a call.
double nearest_whole(double value) { return value + 0x1.8p52 - 0x1.8p52; }
float nearest_whole(float value) { return value + 0x1.8p23F - 0x1.8p23F; }

}  // namespace

template <class Scalar>
template <class Work>
void centroid_index<Scalar>::for_panels(executor* workers, const Work& work) {
  const bool shared = workers != nullptr && clusters_ * columns_ >= least_shared_values;
  const std::size_t parts = shared ? std::min(panels_, shared_parts) : 1;
  const auto do_part = [&](std::size_t part) {
    for (std::size_t p = part * panels_ / parts; p < (part + 1) * panels_ / parts; ++p) work(p);
  };
  if (parts == 1) return do_part(0);
  workers->run(parts, 1, [&](std::size_t part, const team_member&) { do_part(part); });
}

template <class Scalar>
void centroid_index<Scalar>::set(std::span<const double> centroids, std::size_t clusters, std::size_t columns,
                                 std::size_t rows, executor* workers, std::span<const Scalar> origin,
                                 bool few_compared) {
  clusters_ = clusters;
  columns_ = columns;
  panels_ = (clusters + panel - 1) / panel;
  // The origin need not be anything in particular, only near the centroids; their mean is, and belongs to them.
  std::vector<double> mean(columns, 0.0);
  const double share = 1 / static_cast<double>(clusters);
  for (std::size_t k = 0; k < clusters; ++k) {
    for (std::size_t j = 0; j < columns; ++j) {
      const double value = centroids[k * columns + j];
      if (!std::isfinite(value)) throw numerical_error(fmt::format("centroid {}, column {} is {}", k, j, value));
      mean[j] += value * share;
    }
  }
  origin_.grow(columns);
  for (std::size_t j = 0; j < columns; ++j) {
    const auto rounded = origin.empty() ? static_cast<Scalar>(mean[j]) : origin[j];
    origin_[j] = std::isfinite(rounded) ? rounded : Scalar{0};
  }

  const std::size_t exact_panels = (clusters + exact_panel - 1) / exact_panel;
  negated_.grow(panels_ * columns * panel);
  half_norms_.grow(panels_ * panel);
  exact_.grow(exact_panels * columns * exact_panel);
  // Lanes beyond the last centroid are in the last panels.
  std::fill_n(negated_.data() + (panels_ - 1) * columns * panel, columns * panel, Scalar{0});
  std::fill_n(half_norms_.data() + (panels_ - 1) * panel, panel, std::numeric_limits<Scalar>::max() / 8);
  std::fill_n(exact_.data() + (exact_panels - 1) * columns * exact_panel, columns * exact_panel,
              std::numeric_limits<double>::infinity());
  std::vector<double> largest(panels_, 0.0);
  for_panels(workers, [&](std::size_t p) {
    for (std::size_t k = p * panel; k < std::min(clusters, (p + 1) * panel); ++k) {
      Scalar* lane = negated_.data() + p * columns * panel + k % panel;
      double* exact = exact_.data() + k / exact_panel * columns * exact_panel + k % exact_panel;
      double norm = 0;
      for (std::size_t j = 0; j < columns; ++j) {
        const double value = centroids[k * columns + j];
        const auto shifted = static_cast<Scalar>(value - static_cast<double>(origin_[j]));
        exact[j * exact_panel] = value;
        lane[j * panel] = -shifted;
        norm += static_cast<double>(shifted) * static_cast<double>(shifted);
      }
      half_norms_[k] = static_cast<Scalar>(norm / 2);
      largest[p] = std::max(largest[p], norm);
    }
  });
  largest_norm_ = static_cast<Scalar>(*std::max_element(largest.begin(), largest.end()) * 1.0001);

  // Unit roundoff times: one for each column's multiply-add, one each for the start and ‖c′‖²/2, two for the inputs x′
  // and c′, and a few for the bound's own arithmetic. In float64 the definition rounds as often again.
  const double unit = static_cast<double>(std::numeric_limits<Scalar>::epsilon()) / 2;
  const double roundings = static_cast<double>(sizeof(Scalar) == 4 ? columns + 8 : 2 * columns + 12);
  const double factor = 1.05 * roundings * unit;
  error_factor_ = factor < 0.01 ? static_cast<Scalar>(factor) : std::numeric_limits<Scalar>::infinity();
  coarse_step_ = 0, has_bytes_ = false;
  if (!few_compared) set_coarse(workers), set_bytes(workers);
  cells_.set<Scalar>(centroids, clusters, columns, few_compared ? 0 : rows, workers);
}

template <class Scalar>
void centroid_index<Scalar>::set_coarse(executor* workers) {
  // Fewer columns or clusters: rounding a row costs as much as it saves.
  constexpr std::size_t least_columns = 5, most_columns = 1 << 16, least_clusters = 16;
  coarse_step_ = 0;
  if (sizeof(Scalar) != 4 || clusters_ < least_clusters || columns_ < least_columns || columns_ > most_columns ||
      !(largest_norm_ > 1e-24F) || !(largest_norm_ < 1e24F)) {
    return;
  }
  const double step = std::sqrt(static_cast<double>(largest_norm_)) / static_cast<double>(coarse_range);
  const double inverse = 1 / step;
  const std::size_t pairs = (columns_ + 1) / 2;
  coarse_.grow(panels_ * pairs * panel);
  std::vector<double> largest(panels_, 0.0);
  for_panels(workers, [&](std::size_t panel_number) {
    for (std::size_t k = 0; k < panel; ++k) {
      const Scalar* from = negated_.data() + panel_number * columns_ * panel + k;
      std::int32_t* to = coarse_.data() + panel_number * pairs * panel + k;
      double error = 0;
      const auto rounded = [&](std::size_t j) {
        const auto value = static_cast<double>(from[j * panel]);
        const double steps = nearest_whole(value * inverse);
        error += (value - steps * step) * (value - steps * step);
        return static_cast<std::uint32_t>(static_cast<std::int32_t>(steps));
      };
      for (std::size_t p = 0; p < pairs; ++p) {
        const std::uint32_t even = rounded(2 * p), odd = 2 * p + 1 < columns_ ? rounded(2 * p + 1) : 0;
        to[p * panel] = static_cast<std::int32_t>(odd << 16 | (even & 0xffff));
      }
      largest[panel_number] = std::max(largest[panel_number], error);
    }
  });
  coarse_step_ = static_cast<float>(step);
  coarse_error_ = static_cast<float>(std::sqrt(*std::max_element(largest.begin(), largest.end())) * 1.0001);
}

template <class Scalar>
void centroid_index<Scalar>::set_bytes(executor* workers) {
  // Less: looking for what the rounding leaves costs as much as the products save (measured on a Zen 4).
  constexpr std::size_t least_columns = 32, most_columns = 8192, least_values = 1 << 14;
  has_bytes_ =
      coarse_step_ > 0 && columns_ >= least_columns && columns_ <= most_columns && clusters_ * columns_ >= least_values;
  if (!has_bytes_) return;
  constexpr std::size_t line = 64 / sizeof(Scalar);
  row_stride_ = (columns_ + line - 1) / line * line;
  const std::size_t quads = (columns_ + 3) / 4, padded = panels_ * panel;
  negated_rows_.grow(clusters_ * row_stride_);
  bytes_.grow(padded * quads);
  byte_starts_.grow(padded);
  byte_steps_.grow(padded);
  byte_errors_.grow(padded);
  byte_lengths_.grow(padded);
  tiles_ = has_tile_products() ? tile_cut(clusters_, quads) : tile_cut();
  tile_bytes_.grow(tiles_.tiles * tiles_.tile_bytes());
  std::fill_n(tile_bytes_.data(), tiles_.tiles * tiles_.tile_bytes(), std::int8_t{0});
  for_panels(workers, [&](std::size_t p) {
    std::fill_n(bytes_.data() + p * panel * quads, panel * quads, 0);
    for (std::size_t k = p * panel; k < (p + 1) * panel; ++k) {
      byte_starts_[k] = 0, byte_steps_[k] = byte_errors_[k] = byte_lengths_[k] = 0;
      if (k >= clusters_) continue;
      const Scalar* from = negated_.data() + p * columns_ * panel + k % panel;
      Scalar* row = negated_rows_.data() + k * row_stride_;
      float farthest = 0;
      for (std::size_t j = 0; j < columns_; ++j) {
        row[j] = from[j * panel];
        farthest = std::max(farthest, std::abs(static_cast<float>(row[j])));
      }
      std::fill(row + columns_, row + row_stride_, Scalar{0});
      const float step = std::max(farthest, 1e-18F) / 127, inverse = 1 / step;
      std::int32_t* to = bytes_.data() + p * quads * panel + k % panel;
      double error = 0;
      std::int32_t sum = 0;
      for (std::size_t q = 0; q < quads; ++q) {
        std::uint32_t packed = 0;
        for (std::size_t j = 4 * q; j < std::min(columns_, 4 * q + 4); ++j) {
          const auto steps = static_cast<std::int32_t>(nearest_whole(static_cast<float>(row[j]) * inverse));
          const double left = static_cast<double>(row[j]) - static_cast<double>(steps) * static_cast<double>(step);
          error += left * left;
          sum += steps;
          packed |= (static_cast<std::uint32_t>(steps) & 0xff) << (j % 4 * 8);
        }
        to[q * panel] = static_cast<std::int32_t>(packed);
      }
      if (tiles_.tiles > 0) copy_to_tile(k, to);
      byte_starts_[k] = -128 * sum;
      byte_steps_[k] = step;
      byte_errors_[k] = static_cast<float>(std::sqrt(error) * 1.0001);
      byte_lengths_[k] = static_cast<float>(std::sqrt(2 * static_cast<double>(half_norms_[k])) * 1.0001);
    }
  });
}

// The fours of centroid k, which are `panel` apart at `fours`, to its row of each tile.
template <class Scalar>
void centroid_index<Scalar>::copy_to_tile(std::size_t k, const std::int32_t* fours) {
  std::int8_t* to =
      tile_bytes_.data() + k / tiles_.height * tiles_.tile_bytes() + k % tiles_.height * tile_cut::row_bytes;
  for (std::size_t step = 0; step < tiles_.steps; ++step, to += tiles_.height * tile_cut::row_bytes) {
    const std::size_t first = tiles_.first_four(step), own = step * tiles_.depth;
    for (std::size_t q = own; q < first + tiles_.depth; ++q) {
      std::memcpy(to + 4 * (q - first), fours + q * panel, sizeof(std::int32_t));
    }
  }
}

template class centroid_index<float>;
template class centroid_index<double>;

}  // namespace shoal
