// Fits by kernels that have learnt the rows: the same bits on any number of GPUs, for rows kept and streamed, on ranks,
// and after a fit that was interrupted.
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/gmm/backend_fit.hpp>
#include <shoal/gmm/cuda/backend.hpp>
#include <shoal/gmm/cuda/tied/tied.hpp>
#include <shoal/gmm/gmm.hpp>

#include "../../../sharded_rows.hpp"
#include "../checks.hpp"
#include "../few_columns/checks.hpp"

namespace {

namespace gmm = shoal::gmm;
using checks::covariance_type;
using sharded_rows::held_rows;
using sharded_rows::placing;

constexpr std::size_t shards = 2, few_components = 6;
// So many that kernels which learn rows are the fastest.
template <class Scalar>
constexpr std::size_t rows = sizeof(Scalar) == 4 ? 840'011 : 1'570'011;

gmm::options options_for(gmm::acceleration acceleration, std::size_t components = few_components) {
  gmm::options options;
  options.components = components;
  options.covariance_type = covariance_type::tied;
  options.init = gmm::initialization::random_rows;
  options.max_iterations = 8;
  options.tolerance = 0;
  options.seed = 3;
  options.acceleration = acceleration;
  return options;
}

template <class Scalar>
std::vector<Scalar> make_rows(std::size_t columns, std::size_t components = few_components,
                              std::size_t count = rows<Scalar>) {
  const auto model = checks::rounded_model(covariance_type::tied, components, columns, 0.7, 5);
  const auto shape =
      checks::shape_of(gmm::statistics_layout(covariance_type::tied, components, columns), count / shards, false);
  EXPECT_TRUE(gmm::tied::suits<Scalar>(shape) || gmm::tied::suits_linear<Scalar>(shape));
  return reference::random_rows<Scalar>(model, count, columns, 6);
}

void expect_same(const gmm::fit_result& got, const gmm::fit_result& expected) {
  EXPECT_EQ(got.history, expected.history);
  EXPECT_EQ(got.model.weights, expected.model.weights);
  EXPECT_EQ(got.model.means, expected.model.means);
  EXPECT_EQ(got.model.covariances, expected.model.covariances);
  EXPECT_EQ(got.mean_log_likelihood, expected.mean_log_likelihood);
}

template <class Scalar>
class TiedFits : public cuda_devices::on_one_device {
 protected:
  void SetUp() override {
    SHOAL_NEEDS_DEVICES(1);
    SHOAL_NEEDS_PRODUCTS();
  }
  static gmm::fit_result fit(const held_rows<Scalar>& held, const placing& where, const gmm::options& options) {
    return gmm::fit(*gmm::make_cuda_backend(held.on(where, shards)), options, {});
  }
  void expect_the_same(std::size_t columns, std::size_t components, std::size_t count) {
    const std::vector<Scalar> values = make_rows<Scalar>(columns, components, count);
    const held_rows<Scalar> held({values.data(), count, columns});
    for (const gmm::acceleration acceleration : {gmm::acceleration::none, gmm::acceleration::squarem}) {
      const gmm::options options = options_for(acceleration, components);
      const gmm::fit_result expected = fit(held, {}, options);
      for (const placing& where : sharded_rows::placings(held.row_bytes())) {
        SCOPED_TRACE(testing::Message() << columns << " columns, " << components << " components, " << name(where));
        expect_same(fit(held, where, options), expected);
      }
      sharded_rows::run_on_ranks(held, {2, shards}, [&](const auto& data, const shoal::control& control) {
        expect_same(gmm::fit(*gmm::make_cuda_backend(data), options, control), expected);
      });
    }
  }
};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(TiedFits, scalars);

struct fit_shape {
  std::size_t columns, components, count;
};

TYPED_TEST(TiedFits, AreTheSameOnAnyNumberOfGpusAndRanks) {
  constexpr std::size_t many = rows<TypeParam>, some = 100'003;
  for (const auto& [columns, components, count] : sizeof(TypeParam) == 4
                                                      ? std::vector<fit_shape>{{16, few_components, many},
                                                                               {20, few_components, many},
                                                                               {20, 127, some},
                                                                               {20, 128, some},
                                                                               {20, 129, some},
                                                                               {16, 256, some},
                                                                               {16, 257, some},
                                                                               {16, 258, some}}
                                                      : std::vector<fit_shape>{{8, few_components, many}}) {
    this->expect_the_same(columns, components, count);
  }
}

// By linear functions of a row.
TYPED_TEST(TiedFits, OfFewRowsAreTheSameOnAnyNumberOfGpusAndRanks) {
  for (const auto& [columns, components, count] :
       std::vector<fit_shape>{{20, 5, 50'003}, {70, 20, 20'011}, {33, 2, 50'003}, {16, 100, 5'003}}) {
    EXPECT_TRUE(gmm::tied::suits_linear<TypeParam>(
        checks::shape_of(gmm::statistics_layout(covariance_type::tied, components, columns), count / shards, false)));
    this->expect_the_same(columns, components, count);
  }
}

TYPED_TEST(TiedFits, GoOnFromACheckpointAsIfNeverStopped) {
  constexpr std::size_t columns = sizeof(TypeParam) == 4 ? 16 : 8;
  const std::vector<TypeParam> values = make_rows<TypeParam>(columns);
  const held_rows<TypeParam> held({values.data(), rows<TypeParam>, columns});
  const std::string file = testing::TempDir() + "shoal_tied_fits" + std::to_string(sizeof(TypeParam)) + ".checkpoint";
  gmm::options options = options_for(gmm::acceleration::none);
  const gmm::fit_result whole = this->fit(held, {}, options);
  for (const placing& where : sharded_rows::placings(held.row_bytes())) {
    SCOPED_TRACE(name(where));
    std::filesystem::remove(file);
    options.checkpoint = file;
    options.checkpoint_seconds = 0;
    // Streamed, so that a batch of steps is one, and the fit is stopped on its way.
    const auto backend =
        gmm::make_cuda_backend(held.on({{0, 0}, 2 * shoal::cuda::piece_unit * held.row_bytes()}, shards));
    std::stop_source stop;
    const shoal::control interrupting{[&](const shoal::progress& now) {
                                        if (now.step >= 5) stop.request_stop();
                                      },
                                      stop.get_token()};
    EXPECT_THROW(gmm::fit(*backend, options, interrupting), shoal::interrupted);
    ASSERT_TRUE(std::filesystem::exists(file));
    expect_same(this->fit(held, where, options), whole);
  }
  std::filesystem::remove(file);
}

}  // namespace
