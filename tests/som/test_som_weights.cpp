// Weights of maps: their unit and scalar, and rows that weigh nothing.
#include <shoal/som/som.hpp>

#include "../weighted_fits.hpp"

namespace {

using namespace weighted_fits;
namespace som = shoal::som;
using enum som::initialization;

auto fit_with(som::initialization init) {
  return [=]<class Scalar>(const shoal::row_source<Scalar>& rows, shoal::row_weights weights) {
    som::options options;
    options.width = 4;
    options.height = 3;
    options.init = init;
    options.epochs = 4;
    options.seed = 5;
    options.threads = 1;
    const som::fit_result result = som::fit(rows, options, weights);
    answer found{result.model.codebook, result.total_weight};
    return found;
  };
}

TEST(SomWeights, TheirUnitAndScalarDoNotMatter) {
  for (const auto init : {principal_plane, sampled_rows, random_values}) expect_any_unit(fit_with(init));
  expect_exact_counts(fit_with(principal_plane));
}

TEST(SomWeights, RowsOfWeightZeroAreAsIfAbsentForEveryStart) {
  for (const auto init : {principal_plane, sampled_rows, random_values}) {
    const std::string of = "start " + std::to_string(static_cast<int>(init));
    expect_absent(fit_with(init), of);
    expect_absent_in_float64(fit_with(init), of);
  }
}

}  // namespace
