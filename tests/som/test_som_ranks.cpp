// Self-organizing maps on any number of ranks: training, updates and matches to the bits of one process.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/som/backend.hpp>
#include <shoal/som/backend_fit.hpp>
#include <shoal/som/result.hpp>

#include "../kmeans/kmeans_reference.hpp"
#include "../ranks.hpp"

namespace {

namespace som = shoal::som;
using kmeans_reference::clouds;
using ranks::bits;

constexpr std::size_t many = 32001;  // 63 lanes

som::options small_map(som::initialization init) {
  som::options options;
  options.width = 4;
  options.height = 3;
  options.epochs = 2;
  options.init = init;
  return options;
}

template <class Scalar>
class MapsOnRanks : public testing::Test {
 protected:
  kmeans_reference::table<Scalar> data = clouds<Scalar>(many, 3, 5, 3);
  shoal::view_source<Scalar> rows{data.view()};
};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(MapsOnRanks, scalars);

TYPED_TEST(MapsOnRanks, TrainToTheSameBits) {
  for (const auto init : {som::initialization::principal_plane, som::initialization::sampled_rows}) {
    const som::options options = small_map(init);
    ranks::expect_same_bits([&](const shoal::fold_context& context) {
      const auto on = som::make_backend<TypeParam>({}, {context, &this->rows});
      const som::fit_result result = som::fit(*on, options, {});
      return bits() << result.model.codebook << result.history << result.quality.quantization_error
                    << result.quality.topographic_error << result.quality.hits;
    });
  }
}

TYPED_TEST(MapsOnRanks, UpdateAndMatchEachRowOnce) {
  som::model map;
  map.width = 3;
  map.height = 2;
  map.columns = 3;
  for (std::size_t i = 0; i < 18; ++i) map.codebook.push_back(static_cast<double>(i * 7 % 11));
  struct answer {
    std::vector<std::int32_t> units = std::vector<std::int32_t>(many, -1);
    std::vector<std::int32_t> scored = std::vector<std::int32_t>(many, -1);
    std::vector<std::int32_t> updated = std::vector<std::int32_t>(many, -1);
    std::vector<TypeParam> distances = std::vector<TypeParam>(many * 6, -1);
  };
  const auto work = [&](const shoal::fold_context& context, answer& into) {
    const auto on = som::make_backend<TypeParam>({}, {context, &this->rows});
    som::model moved = map;
    bits numbers;
    numbers << on->predict(map, into.units.data()) << on->score(map, into.scored.data()).topographic_error;
    on->distances(map, into.distances.data());
    numbers << som::update(*on, moved, som::update_options{}, into.updated.data()) << moved.codebook;
    return numbers;
  };
  const auto alone = shoal::make_sequential();
  answer expected;
  const bits numbers = work({alone.get(), 0, {}}, expected);
  for (const std::size_t count : ranks::numbers) {
    answer got;  // one for all ranks, each of which writes its own rows
    for (const bits& rank :
         ranks::results(count, [&](const shoal::fold_context& context) { return work(context, got); })) {
      EXPECT_TRUE(rank == numbers) << count << " ranks";
    }
    EXPECT_EQ(got.units, expected.units) << count << " ranks";
    EXPECT_EQ(got.scored, expected.scored) << count << " ranks";
    EXPECT_EQ(got.updated, expected.updated) << count << " ranks";
    EXPECT_EQ(got.distances, expected.distances) << count << " ranks";
  }
}

TYPED_TEST(MapsOnRanks, RefuseOnlineTraining) {
  som::options options = small_map(som::initialization::principal_plane);
  options.training = som::training::online;
  for (const int refused : ranks::results(2, [&](const shoal::fold_context& context) {
         const auto on = som::make_backend<TypeParam>({}, {context, &this->rows});
         try {
           som::fit(*on, options, {});
         } catch (const shoal::bad_argument& failure) {
           return std::string(failure.what()).find("training='batch'") != std::string::npos ? 1 : 0;
         }
         return 0;
       })) {
    EXPECT_EQ(refused, 1);
  }
}

}  // namespace
