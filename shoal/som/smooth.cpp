#include <shoal/som/smooth.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace shoal::som {
namespace {

// Elements of a matrix by the index of the target and of the source.
template <class Element>
toeplitz make_toeplitz(std::size_t targets, std::size_t sources, const Element& element) {
  toeplitz matrix{targets, sources, std::vector<double>(targets + sources - 1), 0, 0};
  for (std::size_t i = targets; i-- > 0;) matrix.line[targets - 1 - i] = element(i, 0);
  for (std::size_t k = 0; k < sources; ++k) matrix.line[k + targets - 1] = element(0, k);
  while (matrix.end < matrix.line.size() && matrix.line[matrix.end] == 0) ++matrix.end;
  matrix.first = matrix.end;
  for (std::size_t i = matrix.end; i < matrix.line.size(); ++i) {
    if (matrix.line[i] != 0) matrix.end = i + 1;
  }
  return matrix;
}

// Whole cache lines of values that one task carries through all rows of the map.
constexpr std::size_t strip = 3 * stride_unit * 8;

}  // namespace

void smoother::operator()(executor& workers, const neighborhood_function& h, const double* in, double* out,
                          std::size_t stride, smoothing_options options) {
  std::fill_n(out, shape_.units() * stride, 0.0);
  if (h.separable() && h.radius > 0 && !options.dense) {
    smooth_separably(workers, h, in, out, stride);
  } else {
    smooth_densely(workers, h, in, out, stride, options.magnitudes);
  }
}

void smoother::smooth_separably(executor& workers, const neighborhood_function& h, const double* in, double* out,
                                std::size_t stride) {
  const std::uint32_t width = shape_.width, height = shape_.height;
  const std::size_t row_values = width * stride;
  const bool hexagonal = shape_.lattice == lattice::hexagonal && height > 1;

  // Along the rows of the map. On a hexagonal lattice rows of the other parity stand half a column aside, whichever
  // they are, so two sums of each row serve them all.
  const auto along = [&](bool odd_target, bool odd_source) {
    return make_toeplitz(width, width, [&](std::size_t target, std::size_t source) {
      const auto apart = column_offset(shape_, static_cast<std::uint32_t>(target), odd_target,
                                       static_cast<std::uint32_t>(source), odd_source);
      return h(squared_column_distance(shape_, {odd_target != odd_source ? 1U : 0U, apart}));
    });
  };
  const toeplitz same = along(false, false);
  const toeplitz to_even = along(false, true), to_odd = along(true, false);
  same_parity_.grow(shape_.units() * stride);
  std::fill_n(same_parity_.data(), shape_.units() * stride, 0.0);
  if (hexagonal) {
    other_parity_.grow(shape_.units() * stride);
    std::fill_n(other_parity_.data(), shape_.units() * stride, 0.0);
  }
  workers.run(height, 1, [&](std::size_t row, const team_member&) {
    add_product(same, in + row * row_values, stride, same_parity_.data() + row * row_values, stride, stride);
    if (!hexagonal) return;
    const toeplitz& other = row % 2 != 0 ? to_even : to_odd;
    add_product(other, in + row * row_values, stride, other_parity_.data() + row * row_values, stride, stride);
  });

  // Across them: rows of either parity apart on a hexagonal lattice, all at once on a rectangular one.
  struct pass {
    std::size_t first_target, first_source, step;
    toeplitz matrix;
  };
  std::vector<pass> passes;
  const std::uint32_t step = hexagonal ? 2 : 1;
  for (std::uint32_t target = 0; target < step; ++target) {
    for (std::uint32_t source = 0; source < step; ++source) {
      const auto count = [&](std::uint32_t first) { return (height - first + step - 1) / step; };
      passes.push_back(
          {target, source, step, make_toeplitz(count(target), count(source), [&](std::size_t i, std::size_t k) {
             const auto a = target + step * static_cast<std::uint32_t>(i);
             const auto b = source + step * static_cast<std::uint32_t>(k);
             return h(squared_row_distance(shape_, {row_offset(shape_, a, b), 0}));
           })});
    }
  }
  workers.run((row_values + strip - 1) / strip, 1, [&](std::size_t task, const team_member&) {
    const std::size_t first = task * strip, values = std::min(strip, row_values - first);
    for (const pass& part : passes) {
      const double* const smoothed =
          part.first_target == part.first_source ? same_parity_.data() : other_parity_.data();
      add_product(part.matrix, smoothed + part.first_source * row_values + first, part.step * row_values,
                  out + part.first_target * row_values + first, part.step * row_values, values);
    }
  });
}

void smoother::smooth_densely(executor& workers, const neighborhood_function& h, const double* in, double* out,
                              std::size_t stride, bool magnitudes) {
  const std::uint32_t width = shape_.width, height = shape_.height;
  const std::size_t row_values = width * stride;
  // For each row offset, targets in even rows first, then in odd ones: they differ on a hexagonal lattice alone.
  std::vector<toeplitz> lines;
  for (std::uint32_t rows = 0; rows < height; ++rows) {
    for (const bool odd_target : {false, true}) {
      const bool odd_source = odd_target != (rows % 2 != 0);
      lines.push_back(make_toeplitz(width, width, [&](std::size_t target, std::size_t source) {
        const auto apart = column_offset(shape_, static_cast<std::uint32_t>(target), odd_target,
                                         static_cast<std::uint32_t>(source), odd_source);
        const double value = h(squared_distance(shape_, {rows, apart}));
        return magnitudes ? std::abs(value) : value;
      }));
    }
  }
  workers.run(height, 1, [&](std::size_t target, const team_member&) {
    for (std::size_t source = 0; source < height; ++source) {
      const std::uint32_t rows =
          row_offset(shape_, static_cast<std::uint32_t>(target), static_cast<std::uint32_t>(source));
      add_product(lines[2 * rows + target % 2], in + source * row_values, stride, out + target * row_values, stride,
                  stride);
    }
  });
}

}  // namespace shoal::som
