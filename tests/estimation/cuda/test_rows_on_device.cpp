// Rows that already lie on a device: fits, predictions and checks are those of the same rows on the host.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/execution/cuda/readable_rows.hpp>
#include <shoal/execution/cuda/stream.hpp>
#include <shoal/gmm/fit.hpp>
#include <shoal/gmm/predict.hpp>
#include <shoal/kmeans/fit.hpp>
#include <shoal/kmeans/predict.hpp>

#include "../../cuda_devices.hpp"
#include "../../kmeans/kmeans_reference.hpp"

namespace {

using kmeans_reference::clouds;
using kmeans_reference::table;

enum class layout { contiguous, unaligned, gaps, column_major };
constexpr layout layouts[] = {layout::contiguous, layout::unaligned, layout::gaps, layout::column_major};

// A copy of a table in the memory of a device.
template <class Scalar>
struct rows_on_device {
  rows_on_device(const table<Scalar>& data, layout order, int device) {
    const shoal::cuda::device_scope scope(device);
    const std::size_t rows = data.rows, columns = data.columns;
    const std::size_t offset = order == layout::unaligned ? 1 : 0;
    std::size_t row_stride = columns, column_stride = 1;
    if (order == layout::gaps) row_stride = columns + 3;
    if (order == layout::column_major) {
      row_stride = 1;
      column_stride = rows + 5;
    }
    // What the rows do not cover must not be read as theirs.
    std::vector<Scalar> all(offset + rows * row_stride + columns * column_stride,
                            std::numeric_limits<Scalar>::quiet_NaN());
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        all[offset + i * row_stride + j * column_stride] = data.values[i * columns + j];
      }
    }
    memory.upload(all, stream);
    stream.synchronize();
    view = {memory.data() + offset, rows, columns, row_stride, column_stride, device};
  }

  shoal::cuda::stream stream;
  shoal::cuda::device_buffer<Scalar> memory;
  shoal::device_matrix_view<const Scalar> view;
};

template <class Scalar>
table<Scalar> weights_for(std::size_t rows, Scalar factor) {
  table<Scalar> weights{rows, 1, std::vector<Scalar>(rows)};
  for (std::size_t i = 0; i < rows; ++i)
    weights.values[i] = factor * static_cast<Scalar>(i % 5 == 0 ? 0.0 : 0.5 + i % 3);
  return weights;
}

template <class Scalar>
class RowsOnDevice : public cuda_devices::on_one_device {
 protected:
  static shoal::device_choice on(std::size_t gpus, std::size_t memory = 0) {
    return {cuda_devices::first(gpus), memory};
  }

  static shoal::gmm::options mixture(std::size_t gpus, std::size_t memory) {
    shoal::gmm::options options;
    options.components = 3;
    options.max_iterations = 5;
    options.tolerance = 0;
    options.threads = 2;
    options.device = on(gpus, memory);
    return options;
  }
  static void expect_same(const shoal::gmm::fit_result& one, const shoal::gmm::fit_result& other) {
    EXPECT_EQ(one.model.means, other.model.means);
    EXPECT_EQ(one.model.covariances, other.model.covariances);
    EXPECT_EQ(one.history, other.history);
  }
};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(RowsOnDevice, scalars);

TYPED_TEST(RowsOnDevice, AreUsedWhereTheyAreWhenTheyAreContiguousAndAligned) {
  const auto data = clouds<TypeParam>(10'007, 5, 3, 4.0);
  const auto workers = shoal::make_threads(1);
  shoal::cuda::device_group group(cuda_devices::first(1));
  for (const layout order : layouts) {
    const rows_on_device<TypeParam> held(data, order, 0);
    const shoal::device_source<TypeParam> source(held.view);
    const shoal::cuda::readable_rows<TypeParam> readable(&source);
    for (const std::size_t memory : {std::size_t{0}, 10 * shoal::cuda::piece_unit * sizeof(TypeParam)}) {
      shoal::cuda::device_rows<TypeParam> rows(group, {workers.get(), 0, {}}, {readable.get(), nullptr, 1}, memory);
      EXPECT_EQ(rows.resident(), memory == 0 || order == layout::contiguous);
      std::vector<TypeParam> seen(data.values.size());
      rows.for_each_piece([&](std::size_t, const shoal::cuda::device_piece<TypeParam>& piece) {
        EXPECT_EQ(piece.rows == held.view.data(), order == layout::contiguous);
        cudaMemcpyAsync(seen.data() + piece.first * 5, piece.rows, piece.count * 5 * sizeof(TypeParam),
                        cudaMemcpyDeviceToHost, group[0].compute);
      });
      group.synchronize();
      EXPECT_EQ(seen, data.values) << "layout " << static_cast<int>(order) << ", memory " << memory;
    }
  }
}

TYPED_TEST(RowsOnDevice, FitAndPredictLikeRowsOnTheHost) {
  const std::size_t rows = 20'011, columns = 4;
  const auto data = clouds<TypeParam>(rows, columns, 3, 4.0);
  const shoal::view_source<TypeParam> here(data.view());
  // 2³⁰: weights that are scaled, on the device too.
  for (const TypeParam factor : {TypeParam{0}, TypeParam{1}, static_cast<TypeParam>(1 << 30)}) {
    const auto weights = weights_for<TypeParam>(rows, factor);
    const shoal::view_source<TypeParam> weights_here(weights.view());
    const rows_on_device<TypeParam> held_weights(weights, layout::contiguous, 0);
    const shoal::device_source<TypeParam> weights_there(held_weights.view);
    const bool weighted = factor != 0;
    for (const std::size_t memory : {std::size_t{0}, 12 * shoal::cuda::piece_unit * sizeof(TypeParam)}) {
      const shoal::gmm::options options = this->mixture(1, memory);
      const auto expected = shoal::gmm::fit(here, options, weighted ? &weights_here : nullptr);
      for (const layout order : layouts) {
        SCOPED_TRACE(testing::Message() << "layout " << static_cast<int>(order) << ", memory " << memory << ", factor "
                                        << factor);
        const rows_on_device<TypeParam> held(data, order, 0);
        const shoal::device_source<TypeParam> there(held.view);
        this->expect_same(shoal::gmm::fit(there, options, weighted ? &weights_there : nullptr), expected);
        this->expect_same(shoal::gmm::fit(there, options, weighted ? &weights_here : nullptr), expected);
      }
      this->expect_same(shoal::gmm::fit(here, options, weighted ? &weights_there : nullptr), expected);
    }
  }
}

TYPED_TEST(RowsOnDevice, ArePredictedIntoDeviceMemory) {
  const std::size_t rows = 20'011, columns = 4, components = 3;
  const auto data = clouds<TypeParam>(rows, columns, components, 4.0);
  const rows_on_device<TypeParam> held(data, layout::contiguous, 0);
  const shoal::device_source<TypeParam> there(held.view);
  const auto fitted = shoal::gmm::fit(there, this->mixture(1, 0));

  std::vector<std::int32_t> labels(rows);
  std::vector<TypeParam> probabilities(rows * components), log_density(rows);
  const double mean = shoal::gmm::predict(
      fitted.model, there, {labels.data(), probabilities.data(), log_density.data()}, 2, 0, nullptr, {}, this->on(1));
  shoal::cuda::stream stream;
  shoal::cuda::device_buffer<std::int32_t> labels_there(rows);
  shoal::cuda::device_buffer<TypeParam> probabilities_there(rows * components), log_density_there(rows);
  EXPECT_EQ(shoal::gmm::predict(fitted.model, there,
                                {labels_there.data(), probabilities_there.data(), log_density_there.data()}, 2, 0,
                                nullptr, {}, this->on(1)),
            mean);
  EXPECT_EQ(labels_there.download(rows, stream), labels);
  EXPECT_EQ(probabilities_there.download(rows * components, stream), probabilities);
  EXPECT_EQ(log_density_there.download(rows, stream), log_density);

  shoal::kmeans::options options;
  options.clusters = components;
  options.device = this->on(1);
  const auto clustered = shoal::kmeans::fit(there, options);
  EXPECT_EQ(clustered.model.centroids,
            shoal::kmeans::fit(shoal::view_source<TypeParam>(data.view()), options).model.centroids);
  shoal::kmeans::predict(clustered.model, there, labels.data(), 2, 0, nullptr, {}, this->on(1));
  labels_there.fill_with_zeros(stream);
  stream.synchronize();
  shoal::kmeans::predict(clustered.model, there, labels_there.data(), 2, 0, nullptr, {}, this->on(1));
  EXPECT_EQ(labels_there.download(rows, stream), labels);
}

TYPED_TEST(RowsOnDevice, SeedEveryWay) {
  const auto data = clouds<TypeParam>(9001, 3, 4, 4.0);
  const rows_on_device<TypeParam> held(data, layout::gaps, 0);
  const shoal::device_source<TypeParam> there(held.view);
  using shoal::gmm::initialization;
  for (const initialization init : {initialization::kmeans, initialization::plus_plus, initialization::parallel,
                                    initialization::random_rows, initialization::random_responsibilities}) {
    shoal::gmm::options options = this->mixture(1, 0);
    options.init = init;
    this->expect_same(shoal::gmm::fit(there, options),
                      shoal::gmm::fit(shoal::view_source<TypeParam>(data.view()), options));
  }
}

TYPED_TEST(RowsOnDevice, GoToOtherDevicesToo) {
  SHOAL_NEEDS_DEVICES(2);
  const auto data = clouds<TypeParam>(20'011, 4, 3, 4.0);
  for (const std::size_t memory : {std::size_t{0}, 12 * shoal::cuda::piece_unit * sizeof(TypeParam)}) {
    const shoal::gmm::options options = this->mixture(2, memory);
    const auto expected = shoal::gmm::fit(shoal::view_source<TypeParam>(data.view()), options);
    for (const layout order : layouts) {
      const rows_on_device<TypeParam> held(data, order, 1);
      this->expect_same(shoal::gmm::fit(shoal::device_source<TypeParam>(held.view), options), expected);
    }
  }
}

TYPED_TEST(RowsOnDevice, AreRefusedWithTheirPosition) {
  auto data = clouds<TypeParam>(9001, 3, 4, 4.0);
  data.values[8000 * 3 + 1] = std::numeric_limits<TypeParam>::infinity();
  const rows_on_device<TypeParam> held(data, layout::column_major, 0);
  try {
    shoal::gmm::fit(shoal::device_source<TypeParam>(held.view), this->mixture(1, 0));
    FAIL() << "an infinite value was accepted";
  } catch (const shoal::bad_data& failure) {
    EXPECT_NE(std::string(failure.what()).find("row 8000, column 1"), std::string::npos) << failure.what();
  }
}

TYPED_TEST(RowsOnDevice, MustLieWhereTheySay) {
  const auto data = clouds<TypeParam>(100, 3, 4, 4.0);
  const auto refusal = [&](const TypeParam* address, int device) -> std::string {
    try {
      shoal::gmm::fit(shoal::device_source<TypeParam>({address, 100, 3, device}), this->mixture(1, 0));
    } catch (const shoal::bad_argument& failure) {
      return failure.what();
    }
    return "nothing was thrown";
  };
  EXPECT_NE(refusal(data.values.data(), 0).find("not memory of a device"), std::string::npos);
  EXPECT_NE(refusal(data.values.data(), 99).find("CUDA device 99"), std::string::npos);
}

}  // namespace
