// Maps on any number of GPUs, of which each owns whole shards of rows: the same bits.
#include <vector>

#include <shoal/som/backend_fit.hpp>
#include <shoal/som/cuda/backend.hpp>
#include <shoal/som/som.hpp>

#include "../../sharded_rows.hpp"
#include "../som_reference.hpp"

namespace {

namespace som = shoal::som;
using sharded_rows::held_rows;
using sharded_rows::placing;
using som_reference::clouds;

constexpr std::size_t rows = 14 * 4096 + 37;  // 15 units: as many shards as each count asks for

template <class Scalar>
class SomShards : public cuda_devices::on_one_device {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(SomShards, scalars);

// The first codebook lies on the plane of the rows' covariance, which GPUs sum too.
TYPED_TEST(SomShards, TrainAndScoreTheSameOnAnyNumberOfGpus) {
  const auto made = clouds<TypeParam>(rows, 9);
  const held_rows<TypeParam> held(made.view(), sharded_rows::uneven_weights<TypeParam>(rows));
  for (const som::metric metric : som_reference::metrics) {
    for (const som::neighborhood kind : {som::neighborhood::gaussian, som::neighborhood::mexican_hat}) {
      som::options options;
      options.width = 12;
      options.height = 9;
      options.metric = metric;
      options.neighborhood = kind;
      options.epochs = 5;
      for (const std::size_t shards : sharded_rows::counts) {
        const auto one = som::make_cuda_backend(held.on({}, shards));
        const som::fit_result expected = som::fit(*one, options, {});
        for (const placing& where : sharded_rows::placings(held.row_bytes())) {
          SCOPED_TRACE(testing::Message() << "metric " << static_cast<int>(metric) << ", neighbourhood "
                                          << static_cast<int>(kind) << ", " << shards << " shards, " << name(where));
          const auto other = som::make_cuda_backend(held.on(where, shards));
          const som::fit_result got = som::fit(*other, options, {});
          EXPECT_EQ(got.model.codebook, expected.model.codebook);
          EXPECT_EQ(got.history, expected.history);
          EXPECT_EQ(got.quality.quantization_error, expected.quality.quantization_error);
          EXPECT_EQ(got.quality.topographic_error, expected.quality.topographic_error);
          EXPECT_EQ(got.quality.hits, expected.quality.hits);
          EXPECT_EQ(got.hardware, expected.hardware);
          som::model moved = expected.model, moved_there = expected.model;
          EXPECT_EQ(som::update(*one, moved, {}, nullptr), som::update(*other, moved_there, {}, nullptr));
          EXPECT_EQ(moved_there.codebook, moved.codebook);
        }
        sharded_rows::run_on_ranks(held, {3, shards}, [&](const auto& data, const shoal::control& control) {
          SCOPED_TRACE(testing::Message() << "metric " << static_cast<int>(metric) << ", " << shards << " shards, rank "
                                          << control.ranks->rank());
          const auto on = som::make_cuda_backend(data);
          const som::fit_result got = som::fit(*on, options, control);
          EXPECT_EQ(got.model.codebook, expected.model.codebook);
          EXPECT_EQ(got.history, expected.history);
          EXPECT_EQ(got.quality.topographic_error, expected.quality.topographic_error);
          EXPECT_EQ(got.quality.hits, expected.quality.hits);
        });
      }
    }
  }
}

// Sums of whole numbers depend on no cut; of what training needs, only the moments of the rows do.
TYPED_TEST(SomShards, PredictTheSameForAnyNumberOfShards) {
  const auto made = clouds<TypeParam>(rows, 9);
  const held_rows<TypeParam> held(made.view());
  const som::model map = som_reference::random_map(12, 9, 9, som::lattice::hexagonal, false);
  std::vector<std::int32_t> expected(rows, -1), got(rows, -2);
  const double error = som::make_cuda_backend(held.on({}, 1))->predict(map, expected.data());
  for (const std::size_t shards : sharded_rows::counts) {
    for (const placing& where : sharded_rows::placings(held.row_bytes())) {
      SCOPED_TRACE(testing::Message() << shards << " shards, " << name(where));
      EXPECT_NEAR(som::make_cuda_backend(held.on(where, shards))->predict(map, got.data()), error, 1e-12 * error);
      EXPECT_EQ(got, expected);
    }
    std::fill(got.begin(), got.end(), -2);
    sharded_rows::run_on_ranks(held, {2, shards}, [&](const auto& data, const shoal::control&) {
      som::make_cuda_backend(data)->predict(map, got.data());  // each writes rows of its own
    });
    EXPECT_EQ(got, expected);
  }
}

}  // namespace
