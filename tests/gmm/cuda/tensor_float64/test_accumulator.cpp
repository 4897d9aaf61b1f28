// The statistics and predictions of the kernels for float64 products, against those of plain float64 loops.
#include <cmath>
#include <iterator>
#include <numbers>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/gmm/cuda/plain/plain.hpp>
#include <shoal/gmm/cuda/tensor_float64/chunks.hpp>
#include <shoal/gmm/cuda/tensor_float64/tensor_float64.hpp>
#include <shoal/gmm/parameters.hpp>

#include "../checks.hpp"

namespace {

namespace tensor_float64 = shoal::gmm::tensor_float64;
using checks::all_types;
using device_checks::on_devices;
using device_checks::problem;
using shoal::gmm::covariance_type;

struct shape {
  std::size_t rows, columns, components;
};

// Columns on both sides of every tile, numbers of rows on both sides of tiles, sections and chunks.
std::vector<shape> shapes() {
  std::vector<shape> result;
  constexpr std::size_t rows[] = {1, 7, 127, 128, 129, 255, 257};
  constexpr std::size_t components[] = {1, 2, 3, 5};
  std::size_t turn = 0;
  for (const std::size_t columns : {1,  2,  15, 16, 17, 24, 25, 31, 32,  33,  40,  41,  47,  48,  49, 56,
                                    57, 63, 64, 65, 80, 81, 96, 97, 112, 113, 127, 128, 129, 193, 257}) {
    result.push_back({rows[turn % 7], columns, components[turn % 4]});
    result.push_back({rows[(turn + 3) % 7], columns, components[(turn + 1) % 4]});
    ++turn;
  }
  for (const std::size_t count : {4095, 4096, 4097, 8209}) result.push_back({count, 20, 3});
  result.push_back({300, 18, 70});
  result.push_back({40, 400, 2});
  result.push_back({70, 17, 260});
  return result;
}

// So many rows that blocks go on to responsibilities, of as many components as they do that for, and of one more.
std::vector<shape> tall_shapes() { return {{33792, 8, 64}, {33791, 8, 64}, {33793, 8, 65}, {33800, 57, 2}}; }

template <class Scalar>
void check_shapes(const std::vector<shape>& of_these, bool weighted, double spread, double tolerance,
                  const std::vector<covariance_type>& types = {std::begin(all_types), std::end(all_types)}) {
  for (const covariance_type type : types) {
    for (const shape& s : of_these) {
      SCOPED_TRACE(fmt::format("{} {} {}x{} K={}", device_checks::name<Scalar>(), checks::name(type), s.rows, s.columns,
                               s.components));
      const auto model = reference::random_model(type, s.components, s.columns, spread, 3);
      problem<Scalar> of(reference::random_rows<Scalar>(model, s.rows, s.columns, 4), s.columns,
                         weighted ? device_checks::some_weights<Scalar>(s.rows) : std::vector<Scalar>());
      on_devices<Scalar> devices(of);
      const auto got = devices.sums(model, tensor_float64::make_accumulator<Scalar>);
      const auto weights = of.scaled_weights();
      const auto expected = reference::accumulate<Scalar>(model, shoal::gmm::prepare<Scalar>(model).centres, of.rows(),
                                                          weighted ? weights.data() : nullptr);
      checks::expect_close(checks::comparable(got), checks::comparable(expected), tolerance, "");
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Larger steps of many components are for GPUs that have room for them; a small one keeps what others have.
TEST(TensorFloat64, TakesLargeStepsWhereThereIsRoom) {
  constexpr std::size_t unit = 4096, rows = 1'000'000, usual = tensor_float64::workspace_bytes;
  constexpr std::size_t gibibyte = std::size_t{1} << 30;
  const auto of = [](std::size_t components, std::size_t free) {
    return tensor_float64::affordable_chunk_rows(components, rows, unit, usual, free);
  };
  for (const std::size_t components : {1, 256, 257, 1000, 2048, 5000, 65535}) {
    const std::size_t bytes = components * sizeof(double);
    EXPECT_EQ(of(components, 80 * gibibyte), tensor_float64::chunk_rows(components, rows, unit, usual));
    for (const std::size_t free : {std::size_t{0}, gibibyte / 8, gibibyte, 2 * gibibyte, 4 * gibibyte}) {
      const std::size_t got = of(components, free);
      EXPECT_EQ(got == rows ? 0 : got % unit, 0) << components << ", " << free;
      EXPECT_GE(got, std::min(rows, std::max(unit, usual / bytes / unit * unit)));
      EXPECT_LE(got * bytes, std::max({usual, free / 4, unit * bytes})) << components << ", " << free;
    }
  }
}

TEST(TensorFloat64, AgreesWithPlainLoops) {
  SHOAL_NEEDS_DEVICES(1);
  check_shapes<float>(shapes(), false, 1.5, checks::kernel_tolerance<float>);
  check_shapes<double>(shapes(), false, 1.5, checks::kernel_tolerance<double>);
  // Of the tied mixture that is drawn for 64 components of 8 columns every kernel differs from the reference by the
  // same 1.14e-12 in one sum: by what they are given, not by what they do.
  check_shapes<double>(tall_shapes(), false, 1.5, checks::kernel_tolerance<double>,
                       {covariance_type::full, covariance_type::diag, covariance_type::spherical});
}

TEST(TensorFloat64, AgreesWithPlainLoopsUnderWeights) {
  SHOAL_NEEDS_DEVICES(1);
  check_shapes<float>(shapes(), true, 3.0, checks::kernel_tolerance<float>);
  check_shapes<double>(shapes(), true, 3.0, checks::kernel_tolerance<double>);
  check_shapes<double>(tall_shapes(), true, 3.0, checks::kernel_tolerance<double>);
}

// Without matrices: components and columns on both sides of every tile, near the origin that they share, in deviations
// some of which are too far from it, and apart.
TEST(TensorFloat64, AgreesInAFrameAndApart) {
  SHOAL_NEEDS_DEVICES(1);
  const std::vector<covariance_type> types{covariance_type::diag, covariance_type::spherical};
  constexpr double spreads[] = {0.7, 3.0, 100.0};
  std::size_t turn = 0;
  for (const shape& s :
       std::vector<shape>{{17, 1, 1000}, {65, 2, 257},   {127, 3, 64},  {64, 4, 33},   {257, 16, 2},   {65, 16, 129},
                          {129, 17, 1},  {33, 17, 256},  {9, 32, 1000}, {65, 33, 65},  {63, 64, 64},   {129, 65, 33},
                          {17, 65, 257}, {20, 128, 128}, {65, 129, 31}, {33, 129, 64}, {15, 256, 129}, {127, 257, 2},
                          {17, 257, 65}, {10, 768, 33},  {65, 768, 1},  {9, 300, 130}, {200, 40, 70},  {300, 130, 5}}) {
    check_shapes<float>({s}, turn % 2 == 0, spreads[turn % 3], checks::kernel_tolerance<float>, types);
    check_shapes<double>({s}, turn % 2 == 1, spreads[turn % 3], checks::kernel_tolerance<double>, types);
    // Near each other, so that float32 rows go through products of float16 terms.
    check_shapes<float>({s}, turn % 2 == 1, 0.4, checks::kernel_tolerance<float>, types);
    ++turn;
  }
  // Several sections, blocks of columns, turns of a block, and blocks of components.
  check_shapes<float>({{9000, 200, 3}, {2300, 260, 70}}, true, 0.4, checks::kernel_tolerance<float>, types);
}

// float32 rows stay in a frame whose components are narrow beside their distances, as where each has one row alone.
// More components than a block has, in tiles of 128: near the origin, some too far from it, and rows that are.
TEST(TensorFloat64, AgreesInTilesOfManyComponents) {
  SHOAL_NEEDS_DEVICES(1);
  const std::vector<covariance_type> types{covariance_type::diag, covariance_type::spherical};
  std::size_t turn = 0;
  for (const std::size_t components : {128, 129, 192, 255, 256, 257, 385}) {
    constexpr std::size_t rows[] = {1, 63, 64, 65, 33, 70, 40};
    constexpr std::size_t columns[] = {129, 130, 131, 132, 129, 133, 129};
    const shape s{rows[turn % 7], columns[turn % 7], components};
    check_shapes<float>({s}, turn % 2 == 0, turn % 3 == 0 ? 1.2 : 0.3, checks::kernel_tolerance<float>, types);
    ++turn;
  }
  check_shapes<float>({{40, 129, 257}, {70, 140, 130}}, true, 6, checks::kernel_tolerance<float>, types);
  check_shapes<float>({{300, 130, 140}}, false, 0.3, checks::kernel_tolerance<float>, types);
}

// Of many components some that are so narrow that the frame leaves them out: as many as it does at most, and one more,
// which leave all to float64. Some rows lie in each, some are far from all, and pieces change no bit. Beside plain
// kernels, for plain loops would take minutes; below too.
TEST(TensorFloat64, LeavesNarrowComponentsOutOfAFrame) {
  SHOAL_NEEDS_DEVICES(1);
  constexpr std::size_t rows = 4096 + 300, columns = 140, components = 150;
  for (const covariance_type type : {covariance_type::diag, covariance_type::spherical}) {
    for (const std::size_t narrow : {1, 31, 32, 33}) {
      SCOPED_TRACE(fmt::format("{} {}", checks::name(type), narrow));
      auto model = reference::random_model(type, components, columns, 0.4, 7);
      auto values = reference::random_rows<float>(model, rows, columns, 8);
      const std::size_t each = model.covariances.size() / components;
      for (std::size_t i = 0; i < narrow; ++i) {
        const std::size_t k = (components - 1 - 4 * i) % components;
        for (std::size_t j = 0; j < each; ++j) model.covariances[k * each + j] = 1e-3;
        // As a component that has these rows alone: one, or two that lie beside each other.
        for (const std::size_t r : {97 * i + 1, 97 * i + 2}) {
          for (std::size_t j = 0; j < columns; ++j) {
            values[r * columns + j] = static_cast<float>(model.means[k * columns + j] + (r % 2 == 0 ? 0.02 : -0.02));
          }
        }
      }
      for (const std::size_t r : {3, 700, 4100}) values[r * columns + r % 7] = 3000.0F;
      const bool weighted = narrow % 2 == 0;
      const problem<float> of(values, columns,
                              weighted ? device_checks::some_weights<float>(rows) : std::vector<float>());
      on_devices<float> resident(of);
      on_devices<float> streamed(of, 2 * 4096 * (columns + 1) * sizeof(float));
      const auto got = resident.sums(model, tensor_float64::make_accumulator<float>);
      const auto expected = resident.sums(model, shoal::gmm::plain::make_accumulator<float>);
      checks::expect_close(checks::comparable(got), checks::comparable(expected), checks::kernel_tolerance<float>, "");
      checks::expect_same_bits(streamed.sums(model, tensor_float64::make_accumulator<float>), got, "streamed");
    }
  }
}

// Few rows whose columns several blocks share: both sides of where there are more stretches, rows that fill no tile,
// several tiles of components, weights, and far rows.
TEST(TensorFloat64, JoinsStretchesOfColumns) {
  SHOAL_NEEDS_DEVICES(1);
  std::size_t turn = 0;
  for (const shape& s : std::vector<shape>{{1, 385, 1},
                                           {63, 511, 33},
                                           {64, 512, 32},
                                           {65, 513, 5},
                                           {191, 768, 64},
                                           {192, 770, 65},
                                           {193, 1030, 2},
                                           {130, 2048, 3},
                                           {129, 2050, 33},
                                           {1000, 300, 5},
                                           {70, 1024, 129},
                                           {60, 1290, 300}}) {
    for (const covariance_type type : {covariance_type::diag, covariance_type::spherical}) {
      SCOPED_TRACE(fmt::format("{} {}x{} K={}", checks::name(type), s.rows, s.columns, s.components));
      const auto model = reference::random_model(type, s.components, s.columns, turn % 3 == 0 ? 0.6 : 0.2, 3);
      auto values = reference::random_rows<float>(model, s.rows, s.columns, 4);
      if (s.rows > 70) values[66 * s.columns + 3] = 3000;
      const problem<float> of(values, s.columns,
                              turn % 2 == 0 ? device_checks::some_weights<float>(s.rows) : std::vector<float>());
      on_devices<float> devices(of);
      const auto got = devices.sums(model, tensor_float64::make_accumulator<float>);
      const auto expected = devices.sums(model, shoal::gmm::plain::make_accumulator<float>);
      checks::expect_close(checks::comparable(got), checks::comparable(expected), checks::kernel_tolerance<float>, "");
      checks::expect_same_bits(devices.sums(model, tensor_float64::make_accumulator<float>), got, "again");
    }
    ++turn;
  }
}

TEST(TensorFloat64, TakesFarRowsOfManyComponents) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : {covariance_type::diag, covariance_type::spherical}) {
    for (const std::size_t components : {130, 270}) {
      const auto model = reference::random_model(type, components, 140, 0.4, 1);
      constexpr std::size_t rows = 150;
      auto values = reference::random_rows<float>(model, rows, 140, 2);
      for (const std::size_t r : {0, 3, 127, 128, 149}) values[r * 140 + r % 5] = 3000.0F + static_cast<float>(r);
      problem<float> of(values, 140);
      on_devices<float> devices(of);
      const auto got = devices.sums(model, tensor_float64::make_accumulator<float>);
      const auto expected = reference::accumulate<float>(model, shoal::gmm::prepare<float>(model).centres, of.rows());
      EXPECT_NEAR(got.log_likelihood(), expected.log_likelihood(), 1e-8 * std::abs(expected.log_likelihood()))
          << checks::name(type);
      checks::expect_close(checks::comparable(got), checks::comparable(expected), checks::kernel_tolerance<float>,
                           checks::name(type));
    }
  }
}

TEST(TensorFloat64, AgreesInAFrameOfNarrowComponents) {
  SHOAL_NEEDS_DEVICES(1);
  const std::vector<covariance_type> types{covariance_type::diag, covariance_type::spherical};
  for (const double spread : {30.0, 300.0, 1000.0}) {
    check_shapes<float>({{130, 33, 129}, {129, 200, 130}, {65, 40, 260}, {65, 300, 70}}, true, spread,
                        checks::kernel_tolerance<float>, types);
  }
}

// float64 rows take smaller tiles of few components: components and columns on both sides of every one, rows on both
// sides of the eights that parts of a block share, of steps, and of sections.
TEST(TensorFloat64, AgreesInTilesOfFewComponents) {
  SHOAL_NEEDS_DEVICES(1);
  constexpr std::size_t rows[] = {257, 1, 31, 1025, 63, 8, 129, 700, 65, 9, 33};
  constexpr std::size_t columns[] = {1,  33, 7,  64, 97,  15,  48, 16, 129, 8,   17, 96, 193,
                                     24, 49, 25, 65, 128, 300, 32, 40, 127, 257, 47, 63, 192};
  constexpr double spreads[] = {0.7, 3.0, 0.7, 100.0};
  std::size_t turn = 0;
  for (const std::size_t components :
       {1, 2, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 47, 48, 49, 64, 65, 80, 95, 96, 97}) {
    for (int more = 0; more < 5; ++more) {
      check_shapes<double>({{rows[turn % std::size(rows)], columns[turn % std::size(columns)], components}},
                           turn % 2 == 1, spreads[turn % 4], checks::kernel_tolerance<double>,
                           {turn / 4 % 2 == 0 ? covariance_type::diag : covariance_type::spherical});
      ++turn;
    }
  }
  check_shapes<double>({{9001, 33, 10}, {8193, 48, 16}, {4100, 130, 3}, {9000, 17, 33}, {5000, 100, 65}}, true, 0.7,
                       checks::kernel_tolerance<double>,
                       {covariance_type::diag, covariance_type::spherical, covariance_type::tied});
}

// float32 rows of more columns begin at any number of their lines of 16 bytes: both sides of every number of groups of
// columns, whole tiles and those that are filled up, far rows between others.
TEST(TensorFloat64, AgreesWhereRowsBeginAnywhere) {
  SHOAL_NEEDS_DEVICES(1);
  const std::vector<covariance_type> types{covariance_type::diag, covariance_type::spherical};
  constexpr std::size_t rows[] = {1, 127, 191, 192, 193, 384, 321}, components[] = {5, 32, 33, 64, 65, 10};
  std::size_t turn = 0;
  for (const std::size_t columns : {129, 130, 131, 159, 161, 191, 193, 257, 321}) {
    for (const std::size_t more : {0, 3}) {
      check_shapes<float>({{rows[(turn + more) % 7], columns, components[(turn + more) % 6]}}, turn % 2 == 1,
                          turn % 3 == 0 ? 1.2 : 0.4, checks::kernel_tolerance<float>, types);
    }
    ++turn;
  }
  // Few columns of many components, which are not read once.
  check_shapes<float>({{500, 33, 70}, {500, 67, 100}, {500, 30, 65}}, true, 0.4, checks::kernel_tolerance<float>,
                      types);
  check_shapes<float>({{9001, 129, 5}, {1001, 131, 100}}, false, 0.4, checks::kernel_tolerance<float>, types);
}

// float32 rows that are read once: both sides of every width, number of components and tile, lanes of several sections,
// and tiles with far rows between others.
TEST(TensorFloat64, AgreesWhereRowsAreReadOnce) {
  SHOAL_NEEDS_DEVICES(1);
  const std::vector<covariance_type> types{covariance_type::diag, covariance_type::spherical};
  std::size_t turn = 0;
  for (const std::size_t columns : {1, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 66, 96, 127, 128}) {
    for (const std::size_t components : {1, 2, 16, 17, 33, 40, 41, 64}) {
      constexpr std::size_t rows[] = {1, 63, 64, 65, 300};
      const double spread = turn % 3 == 0 ? 1.2 : 0.4;
      check_shapes<float>({{rows[turn % 5], columns, components}}, turn % 2 == 1, spread,
                          checks::kernel_tolerance<float>, types);
      ++turn;
    }
  }
  check_shapes<float>({{40001, 19, 5}, {9000, 100, 40}, {70000, 33, 3}}, true, 0.4, checks::kernel_tolerance<float>,
                      types);
}

// Components of different deviations, some near the limit of the frame in a column, as among rows without clusters.
TEST(TensorFloat64, KeepsDigitsOfThinComponents) {
  SHOAL_NEEDS_DEVICES(1);
  constexpr std::size_t rows = 20000, columns = 20, components = 12;
  for (const double deviation : {0.2, 0.11, 0.09, 0.05}) {
    SCOPED_TRACE(deviation);
    auto model = reference::random_model(covariance_type::diag, components, columns, 0.3, 3);
    for (std::size_t k = 0; k < components; ++k) {
      for (std::size_t j = 0; j < columns; ++j) model.covariances[k * columns + j] = 0.3;
      model.means[k * columns + k] = k % 2 == 0 ? 1 : -1;
      model.covariances[k * columns + k] = deviation * deviation;
    }
    const problem<float> of(reference::random_rows<float>(model, rows, columns, 4), columns);
    on_devices<float> devices(of);
    const auto got = devices.sums(model, tensor_float64::make_accumulator<float>);
    const auto centres = shoal::gmm::prepare<float>(model).centres;
    const auto expected = reference::accumulate<float>(model, centres, of.rows());
    checks::expect_close(got, expected, checks::kernel_tolerance<float>, "");
    for (std::size_t k = 0; k < components; ++k) {
      const auto variance = [&](const shoal::gmm::statistics& sums) {
        const double mean = sums.first(k, k) / sums.weight(k);
        return sums.second(k, k, k) / sums.weight(k) - mean * mean;
      };
      EXPECT_NEAR(variance(got), variance(expected), 1e-4 * variance(expected)) << "component " << k;
    }
  }
}

// Tied components too, to 128 columns: one matrix for all rows less what the centres account for, or one row and
// component after the other.
TEST(TensorFloat64, AgreesInATiedFrameAndApart) {
  SHOAL_NEEDS_DEVICES(1);
  constexpr double spreads[] = {0.7, 3.0, 100.0};
  std::size_t turn = 0;
  for (const shape& s : std::vector<shape>{{300, 1, 40},
                                           {129, 8, 33},
                                           {1000, 13, 33},
                                           {4097, 16, 31},
                                           {513, 17, 65},
                                           {300, 24, 64},
                                           {260, 32, 32},
                                           {700, 33, 10},
                                           {65, 40, 100},
                                           {129, 48, 129},
                                           {200, 57, 5},
                                           {999, 64, 2},
                                           {128, 65, 33},
                                           {400, 81, 3},
                                           {127, 100, 40},
                                           {300, 127, 1},
                                           {129, 128, 64},
                                           {300, 129, 3}}) {
    for (const double spread : spreads) {
      const bool weighted = turn++ % 2 == 0;
      check_shapes<float>({s}, weighted, spread, checks::kernel_tolerance<float>, {covariance_type::tied});
      check_shapes<double>({s}, weighted, spread, checks::kernel_tolerance<double>, {covariance_type::tied});
    }
  }
}

// So many rows that blocks go on to responsibilities, and so many that two components are in a frame. Beside plain
// kernels, which are given the same numbers and do not take as long as plain loops.
TEST(TensorFloat64, AgreesInATiedFrameOfManyRows) {
  SHOAL_NEEDS_DEVICES(1);
  for (const shape& s : std::vector<shape>{{33793, 16, 33},
                                           {33800, 40, 64},
                                           {33793, 20, 65},
                                           {33800, 100, 5},
                                           {524287, 3, 2},
                                           {524288, 3, 2},
                                           {262144, 2, 3}}) {
    SCOPED_TRACE(fmt::format("{}x{} K={}", s.rows, s.columns, s.components));
    const auto model = reference::random_model(covariance_type::tied, s.components, s.columns, 0.7, 3);
    const problem<double> of(reference::random_rows<double>(model, s.rows, s.columns, 4), s.columns,
                             device_checks::some_weights<double>(s.rows));
    on_devices<double> devices(of);
    const auto got = devices.sums(model, tensor_float64::make_accumulator<double>);
    const auto expected = devices.sums(model, shoal::gmm::plain::make_accumulator<double>);
    checks::expect_close(checks::comparable(got), checks::comparable(expected), checks::kernel_tolerance<double>, "");
  }
}

// One product of rounded factors for three. The bound is that of docs/tolerances.md.
TEST(TensorFloat64, MultipliesRoundedFactorsWhereThatIsAskedFor) {
  SHOAL_NEEDS_DEVICES(1);
  constexpr double coarse_tolerance = 1e-2;
  const auto coarse = [](shoal::gmm::accumulator_shape shape) {
    shape.precision = shoal::precision::tf32;
    return tensor_float64::make_accumulator<float>(shape);
  };
  for (const covariance_type type : {covariance_type::diag, covariance_type::spherical}) {
    for (const shape& s :
         {shape{700, 129, 8}, shape{300, 768, 9}, shape{600, 200, 10}, shape{2000, 130, 70}, shape{700, 33, 8},
          shape{900, 17, 40}, shape{900, 64, 64}, shape{500, 100, 16}, shape{700, 161, 33}, shape{577, 193, 64},
          shape{385, 321, 10}, shape{300, 129, 129}, shape{515, 150, 256}, shape{700, 132, 300}, shape{129, 150, 515},
          shape{300, 1030, 5}, shape{190, 2048, 33}, shape{129, 1290, 130}}) {
      SCOPED_TRACE(fmt::format("{} {}x{} K={}", checks::name(type), s.rows, s.columns, s.components));
      const auto model = reference::random_model(type, s.components, s.columns, 0.4, 3);
      const problem<float> of(reference::random_rows<float>(model, s.rows, s.columns, 4), s.columns,
                              device_checks::some_weights<float>(s.rows));
      on_devices<float> devices(of);
      const auto got = devices.sums(model, coarse);
      const auto fine = devices.sums(model, tensor_float64::make_accumulator<float>);
      EXPECT_NE(got.log_likelihood(), fine.log_likelihood());
      checks::expect_close(checks::comparable(got), checks::comparable(fine), coarse_tolerance, "tf32");
    }
  }
}

// Sums of one product go on from section to section: of one lane, of rows on both sides of what they are kept for, of
// tiles whose greatest weights rise and fall by many powers of two, and whatever the cut into pieces.
TEST(TensorFloat64, GoesOnFromSectionToSection) {
  SHOAL_NEEDS_DEVICES(1);
  SHOAL_NEEDS_PRODUCTS();
  constexpr double coarse_tolerance = 1e-2;
  constexpr std::size_t kept_rows = 8192;
  const auto coarse = [](shoal::gmm::accumulator_shape shape) {
    shape.precision = shoal::precision::tf32;
    shape.multiprocessors = 1;
    return tensor_float64::make_accumulator<float>(shape);
  };
  for (const covariance_type type : {covariance_type::diag, covariance_type::spherical}) {
    for (const shape& s :
         {shape{2 * kept_rows - 1, 130, 7}, shape{2 * kept_rows, 132, 33}, shape{2 * kept_rows + 1, 132, 33},
          shape{2 * kept_rows + 4097, 196, 9}, shape{3 * kept_rows + 70, 260, 64}, shape{kept_rows + 4500, 129, 65}}) {
      for (const bool weighted : {false, true}) {
        SCOPED_TRACE(fmt::format("{} {}x{} K={} {}", checks::name(type), s.rows, s.columns, s.components, weighted));
        const auto model = reference::random_model(type, s.components, s.columns, 0.4, 3);
        std::vector<float> weights;
        for (std::size_t r = 0; weighted && r < s.rows; ++r) {
          weights.push_back(std::ldexp(1.3F, -11 * static_cast<int>(r / 64 * 5 % 9)));
        }
        const problem<float> of(reference::random_rows<float>(model, s.rows, s.columns, 4), s.columns, weights);
        on_devices<float> resident(of);
        on_devices<float> streamed(of, 2 * 4096 * (s.columns + 1) * sizeof(float));
        ASSERT_FALSE(streamed.rows().resident());
        const auto got = resident.sums(model, coarse);
        const auto fine = resident.sums(model, tensor_float64::make_accumulator<float>);
        checks::expect_close(checks::comparable(got), checks::comparable(fine), coarse_tolerance, "tf32");
        checks::expect_same_bits(resident.sums(model, coarse), got, "again");
        checks::expect_same_bits(streamed.sums(model, coarse), got, "streamed");
      }
    }
  }
}

// An offset takes digits from the rows, and none from what is done with them.
template <class Scalar>
void check_offset(double offset) {
  for (const covariance_type type : {covariance_type::tied, covariance_type::diag, covariance_type::spherical}) {
    auto model = reference::random_model(type, 40, 70, sizeof(Scalar) == 8 ? 3.0 : 0.5, 9);
    for (double& mean : model.means) mean = std::round(mean * 1024) / 1024 + offset;
    const problem<Scalar> of(reference::random_rows<Scalar>(model, 700, 70, 10), 70);
    on_devices<Scalar> devices(of);
    const auto got = devices.sums(model, tensor_float64::make_accumulator<Scalar>);
    const auto expected = reference::accumulate<Scalar>(model, shoal::gmm::prepare<Scalar>(model).centres, of.rows());
    checks::expect_close(checks::comparable(got), checks::comparable(expected), checks::kernel_tolerance<Scalar>,
                         checks::name(type));
  }
}

TEST(TensorFloat64, KeepsDigitsFarFromZero) {
  SHOAL_NEEDS_DEVICES(1);
  check_offset<float>(1000);
  check_offset<double>(10000);
}

TEST(TensorFloat64, AgreesOnFewRows) {
  SHOAL_NEEDS_DEVICES(1);
  const std::vector<shape> few{{130, 33, 2}, {20, 129, 2}, {65, 17, 4}, {70, 80, 4}};
  check_shapes<float>(few, true, 1.0, checks::kernel_tolerance<float>);
  check_shapes<double>(few, true, 1.0, checks::kernel_tolerance<double>);
}

// float32 rows are multiplied in float64, so that far ones are as any others.
TEST(TensorFloat64, TakesFarRows) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types) {
    const auto model = reference::random_model(type, 3, 140, 1.0, 1);
    const std::size_t rows = 200;
    auto values = reference::random_rows<float>(model, rows, 140, 2);
    for (const std::size_t r : {0, 3, 127, 128, 199}) values[r * 140 + r % 5] = 3000.0F + static_cast<float>(r);
    problem<float> of(values, 140);
    on_devices<float> devices(of);
    const auto got = devices.sums(model, tensor_float64::make_accumulator<float>);
    const auto expected = reference::accumulate<float>(model, shoal::gmm::prepare<float>(model).centres, of.rows());
    EXPECT_NEAR(got.log_likelihood(), expected.log_likelihood(), 1e-9 * std::abs(expected.log_likelihood()))
        << checks::name(type);
    checks::expect_close(checks::comparable(got), checks::comparable(expected), 1e-7, checks::name(type));
  }
}

// A score tile all of whose weights are tiny adds next to nothing, and takes nothing from the others.
TEST(TensorFloat64, TakesTilesOfTinyWeights) {
  SHOAL_NEEDS_DEVICES(1);
  constexpr std::size_t rows = 300, columns = 130;
  for (const covariance_type type : {covariance_type::diag, covariance_type::spherical}) {
    for (const float tiny : {1e-30F, 1e-36F, 1e-44F, 0.0F}) {
      SCOPED_TRACE(fmt::format("{} {}", checks::name(type), tiny));
      const auto model = reference::random_model(type, 5, columns, 0.4, 3);
      std::vector<float> weights(rows, 1.0F);
      for (std::size_t r = 64; r < 128; ++r) weights[r] = tiny;
      const problem<float> of(reference::random_rows<float>(model, rows, columns, 4), columns, weights);
      on_devices<float> devices(of);
      const auto got = devices.sums(model, tensor_float64::make_accumulator<float>);
      const auto scaled = of.scaled_weights();
      const auto expected =
          reference::accumulate<float>(model, shoal::gmm::prepare<float>(model).centres, of.rows(), scaled.data());
      checks::expect_close(checks::comparable(got), checks::comparable(expected), checks::kernel_tolerance<float>, "");
    }
  }
}

template <class Scalar>
struct predicted {
  std::vector<std::int32_t> labels;
  std::vector<Scalar> probabilities, log_density;
  double score;
};

template <class Scalar, class Make>
predicted<Scalar> predict(const problem<Scalar>& of, const shoal::gmm::model& model, const Make& make) {
  on_devices<Scalar> devices(of);
  const shoal::gmm::statistics_layout layout(model.covariance_type, model.components, model.columns);
  shoal::gmm::device_parts<Scalar> parts(devices.group(), layout, 0);
  parts.prepare(model);
  const shoal::cuda::device_scope scope(devices.group()[0].device);
  const cudaStream_t stream = devices.group()[0].compute;
  const std::size_t rows = of.rows().rows();
  shoal::cuda::device_buffer<std::int32_t> labels(rows);
  shoal::cuda::device_buffer<Scalar> probabilities(rows * model.components), log_density(rows);
  const auto predictor = make(
      shoal::gmm::predictor_shape{layout, rows, devices.group()[0].multiprocessors, devices.group()[0].shared_bytes},
      stream);
  predictor->prepare(parts.parameters(0), stream);
  devices.rows().for_each_piece([&](std::size_t, const auto& piece) {
    predictor->add(piece, {labels.data(), probabilities.data(), log_density.data()}, stream);
  });
  const auto totals = predictor->totals(stream);
  return {labels.download(rows, stream), probabilities.download(rows * model.components, stream),
          log_density.download(rows, stream), totals.front().log_likelihood};
}

// In a frame and apart, by blocks that finish rows and by kernels of their own, by one thread to a row and by several.
TEST(TensorFloat64, RowsOfNoWeightMayHaveNoDensity) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types) {
    for (const shape& s : {shape{300, 20, 5}, shape{300, 18, 70}, shape{70, 17, 260}, shape{33792, 8, 4}}) {
      SCOPED_TRACE(fmt::format("{} {}x{} K={}", checks::name(type), s.rows, s.columns, s.components));
      const checks::weightless_rows rows(type, s.rows, s.columns, s.components);
      const problem<double> of(rows.rows, s.columns, rows.weights);
      on_devices<double> devices(of);
      const auto got = devices.sums(rows.model, tensor_float64::make_accumulator<double>);
      rows.expect(got);
      const double score = predict(of, rows.model, tensor_float64::make_predictor<double>).score;
      EXPECT_NEAR(score, got.log_likelihood(), 1e-11 * std::abs(score));
      if (HasFailure()) return;
    }
  }
}

TEST(TensorFloat64, GivesNothingToAComponentOfWeightZero) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types) {
    auto model = reference::random_model(type, 3, 20, 1.0, 6);
    model.weights = {0.25, 0.0, 0.75};
    problem<double> of(reference::random_rows<double>(model, 530, 20, 8), 20);
    on_devices<double> devices(of);
    const auto got = devices.sums(model, shoal::gmm::make_accumulator<double>);
    EXPECT_EQ(got.weight(1), 0.0);
    for (const double value : got.values()) ASSERT_TRUE(std::isfinite(value));
  }
}

// Neither the cut into pieces nor a second run changes a bit.
template <class Scalar>
void check_bits(std::size_t columns, std::size_t components = 5, double spread = 2,
                const std::vector<covariance_type>& types = {std::begin(all_types), std::end(all_types)}) {
  for (const covariance_type type : types) {
    const std::size_t rows = 3 * 4096 + 1234;
    const auto model = reference::random_model(type, components, columns, spread, 21);
    problem<Scalar> of(reference::random_rows<Scalar>(model, rows, columns, 22), columns,
                       device_checks::some_weights<Scalar>(rows));
    on_devices<Scalar> resident(of);
    on_devices<Scalar> streamed(of, 2 * 4096 * (columns + 1) * sizeof(Scalar));
    ASSERT_TRUE(resident.rows().resident());
    ASSERT_FALSE(streamed.rows().resident());
    const auto first = resident.sums(model, tensor_float64::make_accumulator<Scalar>);
    checks::expect_same_bits(resident.sums(model, tensor_float64::make_accumulator<Scalar>), first, "again");
    checks::expect_same_bits(streamed.sums(model, tensor_float64::make_accumulator<Scalar>), first, "streamed");
  }
}

TEST(TensorFloat64, GivesTheSameBitsStreamedAndAgain) {
  SHOAL_NEEDS_DEVICES(1);
  check_bits<float>(40);
  check_bits<double>(17);
  check_bits<double>(49);
}

TEST(TensorFloat64, GivesTheSameBitsOfManyComponents) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t components : {130, 300}) {
    check_bits<float>(129, components, 0.3, {covariance_type::diag, covariance_type::spherical});
  }
  check_bits<float>(640, 5, 0.3, {covariance_type::diag, covariance_type::spherical});
}

// Predictions against those of the kernels that take any shape.
template <class Scalar>
void check_predictions(double tolerance) {
  for (const covariance_type type : all_types) {
    for (const shape& s : {shape{1, 17, 2}, shape{515, 33, 7}, shape{300, 129, 3}, shape{130, 20, 300}}) {
      SCOPED_TRACE(fmt::format("{} {} columns", checks::name(type), s.columns));
      const auto model = reference::random_model(type, s.components, s.columns, 0.5, 3);
      const problem<Scalar> of(reference::random_rows<Scalar>(model, s.rows, s.columns, 4), s.columns);
      const auto got = predict(of, model, tensor_float64::make_predictor<Scalar>);
      const auto expected = predict(of, model, shoal::gmm::plain::make_predictor<Scalar>);
      EXPECT_EQ(got.labels, expected.labels);
      for (std::size_t i = 0; i < got.log_density.size(); ++i) {
        ASSERT_NEAR(got.log_density[i], expected.log_density[i], tolerance * static_cast<double>(s.columns));
      }
      for (std::size_t i = 0; i < got.probabilities.size(); ++i) {
        ASSERT_NEAR(got.probabilities[i], expected.probabilities[i], tolerance * static_cast<double>(s.columns));
      }
      EXPECT_NEAR(got.score, expected.score, tolerance * static_cast<double>(s.columns * s.rows));
    }
  }
}

// The unit of rows and model, a power of two, changes nothing but the densities' unit: neither where squares of rows
// would leave float64's range nor where reciprocals of variances would.
TEST(TensorFloat64, PredictsAtTheEndsOfFloat64) {
  SHOAL_NEEDS_DEVICES(1);
  constexpr std::size_t rows = 200, columns = 9, far = 100;
  for (const covariance_type type : {covariance_type::diag, covariance_type::spherical}) {
    const auto model = reference::random_model(type, 30, columns, 0.5, 3);
    auto values = reference::random_rows<double>(model, rows, columns, 4);
    values[far * columns + 4] = 3e5;
    const auto plain = predict(problem<double>(values, columns), model, tensor_float64::make_predictor<double>);
    for (const int exponent : {-490, -470, -460, -300, 66, 67, 300, 498, 505}) {
      SCOPED_TRACE(fmt::format("{} 2^{}", checks::name(type), exponent));
      auto scaled_model = model;
      auto scaled = values;
      for (auto* const of : {&scaled, &scaled_model.means}) {
        for (double& value : *of) value = std::ldexp(value, exponent);
      }
      for (double& value : scaled_model.covariances) value = std::ldexp(value, 2 * exponent);
      const auto got = predict(problem<double>(scaled, columns), scaled_model, tensor_float64::make_predictor<double>);
      EXPECT_EQ(got.labels, plain.labels);
      for (std::size_t r = 0; r < rows; ++r) {
        const double expected = plain.log_density[r] - static_cast<double>(columns) * exponent * std::numbers::ln2;
        ASSERT_NEAR(got.log_density[r], expected, 1e-11 * (1000 + std::abs(expected))) << r;
        // Those of the far row follow from differences between log-densities near 1e10.
        for (std::size_t k = 0; k < model.components; ++k) {
          const std::size_t at = r * model.components + k;
          ASSERT_NEAR(got.probabilities[at], plain.probabilities[at], r == far ? 1e-4 : 1e-10) << r;
        }
      }
    }
  }
}

TEST(TensorFloat64, PredictsWhatThePlainKernelsDo) {
  SHOAL_NEEDS_DEVICES(1);
  check_predictions<float>(1e-5);
  check_predictions<double>(1e-13);
}

}  // namespace
