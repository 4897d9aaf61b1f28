// Mixtures on any number of GPUs, of which each owns whole shards of rows: the same bits.
#include <filesystem>
#include <string>
#include <vector>

#include <shoal/gmm/backend_fit.hpp>
#include <shoal/gmm/check_options.hpp>
#include <shoal/gmm/cuda/backend.hpp>
#include <shoal/gmm/gmm.hpp>

#include "../../kmeans/kmeans_reference.hpp"
#include "../../sharded_rows.hpp"

namespace {

namespace gmm = shoal::gmm;
using gmm::covariance_type;
using kmeans_reference::clouds;
using sharded_rows::held_rows;
using sharded_rows::placing;

constexpr std::size_t rows = 14 * 4096 + 37;  // 15 units: as many shards as each count asks for

struct named_options {
  std::string name;
  gmm::options options;
};

gmm::options options_for(covariance_type type) {
  gmm::options options;
  options.components = 4;
  options.covariance_type = type;
  options.init = gmm::initialization::parallel;
  options.max_iterations = 9;
  options.tolerance = 1e-7;
  options.seed = 3;
  return options;
}

// Every algorithm, and every way to a first model that sums rows.
std::vector<named_options> all_options() {
  std::vector<named_options> all;
  for (const covariance_type type :
       {covariance_type::full, covariance_type::tied, covariance_type::diag, covariance_type::spherical}) {
    const std::string suffix = ", covariance type " + std::to_string(static_cast<int>(type));
    for (const gmm::algorithm algorithm :
         {gmm::algorithm::batch, gmm::algorithm::incremental, gmm::algorithm::asynchronous, gmm::algorithm::stepwise}) {
      named_options one{std::string(gmm::name_of(algorithm)) + suffix, options_for(type)};
      one.options.algorithm = algorithm;
      all.push_back(one);
    }
    named_options squarem{"squarem" + suffix, options_for(type)};
    squarem.options.acceleration = gmm::acceleration::squarem;
    all.push_back(squarem);
    for (const gmm::initialization init : {gmm::initialization::kmeans, gmm::initialization::random_responsibilities}) {
      named_options begun{"init " + std::to_string(static_cast<int>(init)) + suffix, options_for(type)};
      begun.options.init = init;
      all.push_back(begun);
    }
  }
  named_options moved{"asynchronous with a threshold", options_for(covariance_type::full)};
  moved.options.algorithm = gmm::algorithm::asynchronous;
  moved.options.chunks.threshold = 1e-3;
  all.push_back(moved);
  return all;
}

template <class Scalar>
class CudaShards : public cuda_devices::on_one_device {
 protected:
  using data = std::shared_ptr<shoal::device_data<Scalar>>;
  static gmm::fit_result fit(const data& on, const gmm::options& options) {
    return gmm::fit(*gmm::make_cuda_backend(on), options, {});
  }
  static void expect_same(const gmm::fit_result& got, const gmm::fit_result& expected) {
    EXPECT_EQ(got.history, expected.history);
    EXPECT_EQ(got.model.weights, expected.model.weights);
    EXPECT_EQ(got.model.means, expected.model.means);
    EXPECT_EQ(got.model.covariances, expected.model.covariances);
    EXPECT_EQ(got.mean_log_likelihood, expected.mean_log_likelihood);
    EXPECT_EQ(got.hardware, expected.hardware);
  }
};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(CudaShards, scalars);

// 5 columns go through the kernels for few columns, 40 through those for many.
TYPED_TEST(CudaShards, FitTheSameOnAnyNumberOfGpus) {
  const std::vector<named_options> all = all_options();
  for (const std::size_t columns : {5, 40}) {
    const auto made = clouds<TypeParam>(rows, columns, 4, 3.0);
    const held_rows<TypeParam> held(made.view(), sharded_rows::uneven_weights<TypeParam>(rows));
    for (const std::size_t shards : sharded_rows::counts) {
      const auto one = held.on({}, shards);
      std::vector<gmm::fit_result> expected;
      for (const named_options& of : all) expected.push_back(this->fit(one, of.options));
      for (const placing& where : sharded_rows::placings(held.row_bytes())) {
        const auto other = held.on(where, shards);
        for (std::size_t i = 0; i < all.size(); ++i) {
          SCOPED_TRACE(testing::Message()
                       << columns << " columns, " << shards << " shards, " << name(where) << ": " << all[i].name);
          this->expect_same(this->fit(other, all[i].options), expected[i]);
        }
      }
    }
  }
}

// Each rank has a GPU, and steps by itself to the bits of all.
TYPED_TEST(CudaShards, FitTheSameOnRanks) {
  for (const std::size_t columns : {5, 40}) {
    const auto made = clouds<TypeParam>(rows, columns, 4, 3.0);
    const held_rows<TypeParam> held(made.view(), sharded_rows::uneven_weights<TypeParam>(rows));
    for (const named_options& of : all_options()) {
      if (of.options.algorithm != gmm::algorithm::batch) continue;
      for (const sharded_rows::rank_counts& counts : sharded_rows::on_ranks) {
        const auto one = held.on({}, counts.shards);
        const gmm::fit_result expected = this->fit(one, of.options);
        std::vector<TypeParam> densities(rows), together(rows);
        const double score = gmm::make_cuda_backend(one)->predict(expected.model, {nullptr, nullptr, densities.data()});
        sharded_rows::run_on_ranks(held, counts, [&](const auto& data, const shoal::control& control) {
          SCOPED_TRACE(testing::Message() << columns << " columns, " << counts.shards << " shards, rank "
                                          << control.ranks->rank() << " of " << counts.ranks << ": " << of.name);
          const auto on = gmm::make_cuda_backend(data);
          this->expect_same(gmm::fit(*on, of.options, control), expected);
          // Each writes rows of its own.
          EXPECT_EQ(on->predict(expected.model, {nullptr, nullptr, together.data()}), score);
        });
        EXPECT_EQ(together, densities);
      }
    }
  }
}

TYPED_TEST(CudaShards, RefuseRanksWhereModelsMoveWithinAPass) {
  const auto made = clouds<TypeParam>(rows, 5, 4, 3.0);
  const held_rows<TypeParam> held(made.view());
  for (const gmm::algorithm algorithm :
       {gmm::algorithm::incremental, gmm::algorithm::asynchronous, gmm::algorithm::stepwise}) {
    gmm::options options = options_for(covariance_type::full);
    options.algorithm = algorithm;
    sharded_rows::run_on_ranks(held, {2, 2}, [&](const auto& data, const shoal::control& control) {
      EXPECT_THROW(gmm::fit(*gmm::make_cuda_backend(data), options, control), shoal::bad_argument);
    });
  }
}

// Rows that are too few to be cut are fitted by one GPU of those that are named.
TYPED_TEST(CudaShards, SmallRowsAreOneShard) {
  const auto made = clouds<TypeParam>(rows, 5, 4, 3.0);
  const held_rows<TypeParam> held(made.view());
  for (const named_options& of : all_options()) {
    SCOPED_TRACE(of.name);
    gmm::options through_the_door = of.options;
    through_the_door.device.cuda = {0};
    through_the_door.threads = 2;
    const gmm::fit_result expected = gmm::fit(held.rows(), through_the_door);
    this->expect_same(this->fit(held.on({}, 1), of.options), expected);
    this->expect_same(this->fit(held.on({{0, 0, 0}, 0}, 1), of.options), expected);
  }
}

// What differs between numbers of shards is the order of sums alone.
TYPED_TEST(CudaShards, AgreeForAnyNumberOfShards) {
  const auto made = clouds<TypeParam>(rows, 5, 4, 5.0);
  const held_rows<TypeParam> held(made.view());
  const gmm::options options = options_for(covariance_type::full);
  const gmm::fit_result one = this->fit(held.on({}, 1), options);
  for (const std::size_t shards : {2, 8}) {
    const gmm::fit_result many = this->fit(held.on({}, shards), options);
    EXPECT_NEAR(many.mean_log_likelihood, one.mean_log_likelihood, 1e-7 * std::abs(one.mean_log_likelihood));
  }
}

// A component that loses its rows is reseeded from the statistics of the step that found it.
TYPED_TEST(CudaShards, ReseedTheSame) {
  const auto made = clouds<TypeParam>(rows, 2, 3, 6.0);
  const held_rows<TypeParam> held(made.view());
  gmm::options options = options_for(covariance_type::full);
  options.init = gmm::initialization::model;
  options.components = 3;
  options.start = gmm::fit(held.rows(),
                           [&] {
                             gmm::options host = options_for(covariance_type::full);
                             host.components = 3;
                             return host;
                           }())
                      .model;
  options.start.means[0] = 1e7;
  for (const gmm::acceleration acceleration : {gmm::acceleration::none, gmm::acceleration::squarem}) {
    options.acceleration = acceleration;
    for (const std::size_t shards : sharded_rows::counts) {
      const gmm::fit_result expected = this->fit(held.on({}, shards), options);
      EXPECT_GT(expected.reseeded, 0u);
      for (const placing& where : sharded_rows::placings(held.row_bytes())) {
        SCOPED_TRACE(testing::Message() << shards << " shards, " << name(where));
        const gmm::fit_result got = this->fit(held.on(where, shards), options);
        EXPECT_EQ(got.reseeded, expected.reseeded);
        this->expect_same(got, expected);
      }
      sharded_rows::run_on_ranks(held, {3, shards}, [&](const auto& data, const shoal::control& control) {
        const gmm::fit_result got = gmm::fit(*gmm::make_cuda_backend(data), options, control);
        EXPECT_EQ(got.reseeded, expected.reseeded);
        this->expect_same(got, expected);
      });
    }
  }
}

// The parameters of the paper, whose blocks keep responsibilities, and rows stay resident.
TYPED_TEST(CudaShards, FitTheSameByBlocksWithModelsOfTheirOwn) {
  const auto made = clouds<TypeParam>(rows, 3, 4, 2.0);
  const held_rows<TypeParam> held(made.view());
  for (const covariance_type type : {covariance_type::full, covariance_type::diag}) {
    gmm::options options = options_for(type);
    gmm::set_async_em_2013(options);
    options.max_iterations = 9;
    for (const std::size_t shards : sharded_rows::counts) {
      const gmm::fit_result expected = this->fit(held.on({}, shards), options);
      for (const placing& where : sharded_rows::placings(held.row_bytes())) {
        if (where.memory != 0) continue;
        SCOPED_TRACE(testing::Message() << shards << " shards, " << name(where));
        this->expect_same(this->fit(held.on(where, shards), options), expected);
      }
    }
  }
}

TYPED_TEST(CudaShards, PredictAndSumTheSame) {
  for (const std::size_t columns : {5, 40}) {
    const auto made = clouds<TypeParam>(rows, columns, 4, 3.0);
    const held_rows<TypeParam> held(made.view(), sharded_rows::uneven_weights<TypeParam>(rows));
    for (const covariance_type type : {covariance_type::full, covariance_type::diag}) {
      const gmm::model model = this->fit(held.on({}, 1), options_for(type)).model;
      for (const std::size_t shards : sharded_rows::counts) {
        std::vector<TypeParam> expected(rows), got(rows);
        const auto on_one = gmm::make_cuda_backend(held.on({}, shards));
        const double score = on_one->predict(model, {nullptr, nullptr, expected.data()});
        const gmm::statistics sums = on_one->expectation(model);
        for (const placing& where : sharded_rows::placings(held.row_bytes())) {
          SCOPED_TRACE(testing::Message() << columns << " columns, " << shards << " shards, " << name(where));
          const auto on_many = gmm::make_cuda_backend(held.on(where, shards));
          std::fill(got.begin(), got.end(), TypeParam{0});
          EXPECT_EQ(on_many->predict(model, {nullptr, nullptr, got.data()}), score);
          EXPECT_EQ(got, expected);
          const gmm::statistics others = on_many->expectation(model);
          EXPECT_TRUE(std::equal(others.values().begin(), others.values().end(), sums.values().begin()));
        }
      }
    }
  }
}

// A checkpoint says the kind of GPUs, not how many.
TYPED_TEST(CudaShards, GoOnFromACheckpointOnOtherGpus) {
  const auto made = clouds<TypeParam>(rows, 3, 4, 2.0);
  const held_rows<TypeParam> held(made.view());
  const std::string file = testing::TempDir() + "shoal_cuda_shards.checkpoint";
  for (const gmm::algorithm algorithm : {gmm::algorithm::batch, gmm::algorithm::incremental}) {
    gmm::options options = options_for(covariance_type::full);
    options.algorithm = algorithm;
    options.tolerance = 0;
    options.max_iterations = 20;
    const gmm::fit_result whole = this->fit(held.on({}, 3), options);
    for (const placing& where : sharded_rows::placings(held.row_bytes())) {
      SCOPED_TRACE(testing::Message() << gmm::name_of(algorithm) << ", " << name(where));
      std::filesystem::remove(file);
      options.checkpoint = file;
      options.checkpoint_seconds = 0;
      // Streamed, so that a batch of steps is one, and the fit is stopped on its way.
      const auto interrupted = held.on({{0, 0}, 2 * shoal::cuda::piece_unit * held.row_bytes()}, 3);
      const auto backend = gmm::make_cuda_backend(interrupted);
      std::stop_source stop;
      const shoal::control interrupting{[&](const shoal::progress& now) {
                                          if (now.step >= 5) stop.request_stop();
                                        },
                                        stop.get_token()};
      EXPECT_THROW(gmm::fit(*backend, options, interrupting), shoal::interrupted);
      ASSERT_TRUE(std::filesystem::exists(file));
      this->expect_same(this->fit(held.on(where, 3), options), whole);
    }
  }
  std::filesystem::remove(file);
}

// By the rule that fits follow: 512 MiB are two shards, of which two GPUs have one each.
TEST(CudaShardsOfLargeRows, FitTheSameOnOneGpuAndOnTwo) {
  SHOAL_NEEDS_DEVICES(2);
  constexpr std::size_t many = std::size_t{1} << 24, columns = 8;
  ASSERT_EQ(shoal::cuda::shard_plan(many, columns * sizeof(float)).count(), 2u);
  std::vector<float> values(many * columns);
  kmeans_reference::uniform u(5);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(u() + static_cast<double>(i / columns % 3));
  const shoal::view_source<float> source({values.data(), many, columns});
  for (const covariance_type type : {covariance_type::full, covariance_type::diag}) {
    gmm::options options = options_for(type);
    options.threads = 2;
    options.max_iterations = 4;
    options.device.cuda = {0};
    const gmm::fit_result one = gmm::fit(source, options);
    options.device.cuda = {0, 1};
    const gmm::fit_result two = gmm::fit(source, options);
    EXPECT_EQ(two.history, one.history);
    EXPECT_EQ(two.model.means, one.model.means);
    EXPECT_EQ(two.model.covariances, one.model.covariances);
    EXPECT_EQ(two.hardware, one.hardware);
  }
}

}  // namespace
