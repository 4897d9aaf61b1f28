// Rows of few columns, or of tens of them, beside few units, which are searched and added up in one pass: the bits of
// rows that are streamed in pieces too short for it, and the host's map.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/som/fit.hpp>

#include "../../cuda_devices.hpp"
#include "../som_reference.hpp"

namespace {

namespace som = shoal::som;
using som_reference::apart;
using som_reference::clouds;
using som_reference::options_from;
using som_reference::random_map;
using som_reference::table;

// Of rows of few columns, and of tens of them.
constexpr std::size_t least_folded_rows = 32768, least_longer_rows = 8192;

shoal::device_choice gpu(std::size_t memory = 0) { return {cuda_devices::first(1), memory}; }

template <class Scalar>
som::options narrow_fit(std::size_t columns, std::size_t units, double offset = 0) {
  som::options options =
      options_from(random_map(units, 1, columns, som::lattice::rectangular, false, som::metric::euclidean, offset));
  options.epochs = 2;
  options.radius = som::range{1, 1};
  return options;
}

template <class Scalar>
void expect_one_map(const table<Scalar>& rows, som::options options, const std::string& what) {
  const shoal::view_source<Scalar> source(rows.view());
  options.device = gpu();
  const som::fit_result at_once = som::fit(source, options);
  options.device = gpu(2 * 4096 * (rows.columns + 1) * sizeof(Scalar));
  const som::fit_result streamed = som::fit(source, options);
  EXPECT_EQ(at_once.history, streamed.history) << what;
  EXPECT_EQ(at_once.model.codebook, streamed.model.codebook) << what;
  EXPECT_EQ(at_once.quality.hits, streamed.quality.hits) << what;
}

template <class Scalar>
class DeviceMapFolds : public cuda_devices::on_one_device {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(DeviceMapFolds, scalars);

// Both sides of the columns and units that are folded, and of the ways of counting and of adding up; tiles that end
// within 16 bytes.
TYPED_TEST(DeviceMapFolds, HaveTheBitsOfStreamedRows) {
  for (const std::size_t columns : {1, 2, 3, 5, 6, 8, 9, 13, 16, 17, 18, 24, 25}) {
    const table<TypeParam> rows = clouds<TypeParam>(least_folded_rows + 4099, columns, 0, columns);
    for (const std::size_t units : {1, 2, 8, 9, 33, 64, 65, 100, 101, 128, 129, 256, 257}) {
      if (units > 33 && columns != 2 && columns != 8) continue;
      expect_one_map(rows, narrow_fit<TypeParam>(columns, units),
                     std::to_string(columns) + " columns, " + std::to_string(units) + " units");
    }
  }
}

// The same of tens of columns, of which a thread has up to four in a group of 32.
TYPED_TEST(DeviceMapFolds, OfTensOfColumnsHaveTheBitsOfStreamedRows) {
  for (const std::size_t columns : {25, 31, 32, 33, 47, 48, 63, 64, 65, 95, 96, 97, 127, 128, 129}) {
    const table<TypeParam> rows = clouds<TypeParam>(least_longer_rows + 4099, columns, 0, columns);
    for (const std::size_t units : {1, 2, 7, 8, 9, 16, 17, 20, 21}) {
      if (units > 9 && columns != 33 && columns != 64 && columns != 128) continue;
      expect_one_map(rows, narrow_fit<TypeParam>(columns, units),
                     std::to_string(columns) + " columns, " + std::to_string(units) + " units");
    }
  }
}

TYPED_TEST(DeviceMapFolds, BeginAtTheirFirstRowCount) {
  for (const std::size_t rows : {least_folded_rows - 1, least_folded_rows, least_folded_rows + 1}) {
    expect_one_map(clouds<TypeParam>(rows, 5), narrow_fit<TypeParam>(5, 10), std::to_string(rows));
  }
  for (const std::size_t rows : {least_longer_rows - 1, least_longer_rows, least_longer_rows + 1}) {
    expect_one_map(clouds<TypeParam>(rows, 37), narrow_fit<TypeParam>(37, 10), std::to_string(rows));
  }
}

// More tiles than blocks, whose rows stay in the order of their labels or do not.
TYPED_TEST(DeviceMapFolds, TakeManyTiles) {
  for (const std::size_t columns : {3, 30}) {
    for (const bool sorted : {false, true}) {
      table<TypeParam> rows = clouds<TypeParam>(columns == 3 ? 1'300'003 : 400'003, columns, 0, 5);
      if (sorted) {
        for (std::size_t i = 0; i < rows.rows; ++i) {
          for (std::size_t j = 0; j < columns; ++j) {
            rows.values[i * columns + j] += static_cast<TypeParam>(40 * (i * 7 / rows.rows));
          }
        }
      }
      expect_one_map(rows, narrow_fit<TypeParam>(columns, 40), sorted ? "sorted" : "mixed");
    }
  }
}

// Units that are the same or nearly so, units that are rows, far rows, and rows far from the origin, large and small.
TYPED_TEST(DeviceMapFolds, DecideWhatIsInDoubt) {
  const std::size_t units = 20;
  for (const std::size_t columns : {4, 41}) {
    const table<TypeParam> plain = clouds<TypeParam>(least_folded_rows + 77, columns);
    som::options options = narrow_fit<TypeParam>(columns, units);
    for (const double spread : {0.0, 1e-9, 1e-4}) {
      for (std::size_t i = 0; i < options.codebook.size(); ++i) {
        options.codebook[i] = 1 + spread * static_cast<double>(i / columns * 31 % 17 + i % columns);
      }
      expect_one_map(plain, options, "spread " + std::to_string(spread));
    }
    for (std::size_t i = 0; i < options.codebook.size(); ++i) {
      options.codebook[i] = static_cast<double>(plain.values[i / columns / 2 * columns + i % columns]);
    }
    expect_one_map(plain, options, "units that are rows, each twice");
    table<TypeParam> far = plain;
    for (std::size_t j = 0; j < columns; ++j) far.values[1000 * columns + j] = static_cast<TypeParam>(1e9);
    expect_one_map(far, options, "a far row");
    for (const double scale : {1e-30, 1e-12, 1e12, 1e30}) {
      if (sizeof(TypeParam) == 4 && (scale == 1e30 || scale == 1e-30)) continue;
      table<TypeParam> scaled = plain;
      for (auto& value : scaled.values) value = static_cast<TypeParam>(scale * static_cast<double>(value));
      som::options own = narrow_fit<TypeParam>(columns, units);
      for (auto& value : own.codebook) value *= scale;
      expect_one_map(scaled, own, "scale " + std::to_string(scale));
    }
    expect_one_map(clouds<TypeParam>(least_folded_rows + 5, columns, 1e4), narrow_fit<TypeParam>(columns, units, 1e4),
                   "offset");
  }
}

// Not folded: rows of more columns than a block has warps for are added by label, a bundle of columns after the other.
// Pieces are too short for that.
TYPED_TEST(DeviceMapFolds, OfThousandsOfColumnsHaveTheBitsOfStreamedRows) {
  for (const std::size_t columns : {2052, 2564, 4096}) {
    table<TypeParam> rows{least_longer_rows + 5, columns, {}};
    som_reference::uniform u(columns);
    for (std::size_t i = 0; i < rows.rows * columns; ++i) {
      rows.values.push_back(static_cast<TypeParam>(u() + static_cast<double>(i / columns % 3)));
    }
    expect_one_map(rows, narrow_fit<TypeParam>(columns, 10), std::to_string(columns));
  }
}

TYPED_TEST(DeviceMapFolds, GiveTheHostsMap) {
  for (const std::size_t columns : {1, 3, 8, 16, 33, 100}) {
    const table<TypeParam> rows = clouds<TypeParam>(least_folded_rows + 3, columns);
    const shoal::view_source<TypeParam> source(rows.view());
    for (const std::size_t units : {1, 2, 10, 100}) {
      som::options options = narrow_fit<TypeParam>(columns, units);
      const som::fit_result fact = som::fit(source, options);
      options.device = gpu();
      const som::fit_result got = som::fit(source, options);
      EXPECT_LE(apart(got.model.codebook, fact.model.codebook), 1e-11) << columns << ", " << units;
      EXPECT_NEAR(got.history.back(), fact.history.back(), 1e-12 * (1 + fact.history.back()));
    }
  }
}

}  // namespace
