// Rows on devices: every row comes by once, in order, with its weight, resident or streamed, on one GPU or more.
#include <algorithm>
#include <numeric>
#include <vector>

#include <shoal/execution/automatic_device.hpp>
#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/execution/device_choice.hpp>

#include "../../cuda_devices.hpp"

namespace {

using shoal::cuda::device_group;
using shoal::cuda::device_rows;
using shoal::cuda::piece_unit;

class DeviceRows : public cuda_devices::on_one_device {
 protected:
  // Reads all pieces back; expects them to be the rows, in order, cut at multiples of piece_unit.
  void check(std::size_t rows, std::size_t columns, std::size_t gpus, std::size_t memory, bool weighted) {
    SCOPED_TRACE(testing::Message() << rows << " x " << columns << ", " << gpus << " GPUs, memory " << memory);
    std::vector<float> values(rows * columns), weights(rows);
    std::iota(values.begin(), values.end(), 1.0F);
    std::iota(weights.begin(), weights.end(), 0.5F);
    const shoal::view_source<float> source({values.data(), rows, columns});
    const shoal::view_source<float> weight_source({weights.data(), rows, 1});
    const auto workers = shoal::make_threads(2);
    const shoal::fold_context context{workers.get(), 0, {}};
    device_group group(cuda_devices::first(gpus));
    device_rows<float> on(group, context, {&source, weighted ? &weight_source : nullptr, 1}, memory);
    for (int pass = 0; pass < 2; ++pass) {
      std::vector<float> seen(values.size(), -1), seen_weights(rows, -1);
      std::vector<std::size_t> next(gpus, 0);
      std::size_t pieces = 0;
      on.for_each_piece([&](std::size_t g, const shoal::cuda::device_piece<float>& piece) {
        ++pieces;
        EXPECT_EQ(piece.share_first, next[g]);
        EXPECT_EQ(piece.share_first % piece_unit, 0u);
        EXPECT_EQ(piece.first, on.share_first(g) + piece.share_first);
        EXPECT_LE(piece.count, on.most_piece_rows());
        EXPECT_EQ(piece.weights != nullptr, weighted);
        next[g] += piece.count;
        cudaMemcpyAsync(seen.data() + piece.first * columns, piece.rows, piece.count * columns * sizeof(float),
                        cudaMemcpyDeviceToHost, group[g].compute);
        if (weighted) {
          cudaMemcpyAsync(seen_weights.data() + piece.first, piece.weights, piece.count * sizeof(float),
                          cudaMemcpyDeviceToHost, group[g].compute);
        }
      });
      group.synchronize();
      EXPECT_EQ(seen, values);
      if (weighted) {
        EXPECT_EQ(seen_weights, weights);
      }
      if (memory != 0 && !on.resident()) {
        EXPECT_GT(pieces, gpus);
      }
    }
  }
};

TEST_F(DeviceRows, ComeByOnceAndInOrder) {
  for (const std::size_t rows : {1ul, 4095ul, 4096ul, 4097ul, 50'021ul}) {
    for (const bool weighted : {false, true}) {
      check(rows, 3, 1, 0, weighted);
      check(rows, 3, 1, 8 * piece_unit * sizeof(float), weighted);
    }
  }
}

TEST_F(DeviceRows, ComeFromPageLockedMemoryToo) {
  const std::size_t count = 20'011, columns = 4;
  shoal::cuda::pinned_buffer<float> values(count * columns);
  for (std::size_t i = 0; i < count * columns; ++i) values[i] = static_cast<float>(i);
  std::vector<float> weights(count, 2.0F);
  const shoal::view_source<float> source({values.data(), count, columns}), weight_source({weights.data(), count, 1});
  const auto workers = shoal::make_threads(2);
  device_group group(cuda_devices::first(1));
  for (const bool weighted : {false, true}) {
    device_rows<float> on(group, {workers.get(), 0, {}}, {&source, weighted ? &weight_source : nullptr, 1},
                          10 * piece_unit * sizeof(float));
    std::vector<float> seen(count * columns), seen_weights(count, weighted ? 0.0F : 2.0F);
    on.for_each_piece([&](std::size_t, const shoal::cuda::device_piece<float>& piece) {
      cudaMemcpyAsync(seen.data() + piece.first * columns, piece.rows, piece.count * columns * sizeof(float),
                      cudaMemcpyDeviceToHost, group[0].compute);
      if (piece.weights != nullptr) {
        cudaMemcpyAsync(seen_weights.data() + piece.first, piece.weights, piece.count * sizeof(float),
                        cudaMemcpyDeviceToHost, group[0].compute);
      }
    });
    group.synchronize();
    EXPECT_TRUE(std::equal(seen.begin(), seen.end(), values.data()));
    EXPECT_EQ(seen_weights, weights);
  }
}

TEST_F(DeviceRows, AreDealtToSeveralDevices) {
  SHOAL_NEEDS_DEVICES(2);
  for (const std::size_t rows : {1ul, 4097ul, 50'021ul}) {
    check(rows, 5, 2, 0, true);
    check(rows, 5, 2, 12 * piece_unit * sizeof(float), true);
  }
}

TEST_F(DeviceRows, SayHowMuchMemoryTheyNeed) {
  std::vector<float> values(100'000);
  const shoal::view_source<float> source({values.data(), 10'000, 10});
  const auto workers = shoal::make_threads(1);
  device_group group(cuda_devices::first(1));
  try {
    device_rows<float>(group, {workers.get(), 0, {}}, {&source, nullptr, 1}, 1000);
    FAIL() << "1000 bytes were enough";
  } catch (const shoal::out_of_memory& failure) {
    EXPECT_NE(std::string(failure.what()).find("327680 bytes of device memory"), std::string::npos) << failure.what();
  }
}

TEST_F(DeviceRows, StopOnRequest) {
  std::vector<float> values(100'000);
  const shoal::view_source<float> source({values.data(), 50'000, 2});
  const auto workers = shoal::make_threads(1);
  std::stop_source stop;
  device_group group(cuda_devices::first(1));
  device_rows<float> on(group, {workers.get(), 0, stop.get_token()}, {&source, nullptr, 1}, 200'000);
  stop.request_stop();
  EXPECT_THROW(on.for_each_piece([](std::size_t, const shoal::cuda::device_piece<float>&) {}), shoal::interrupted);
}

TEST_F(DeviceRows, AnUnknownDeviceIsRefused) {
  EXPECT_THROW(shoal::choose_device("cuda:99"), shoal::bad_argument);
  EXPECT_THROW(shoal::choose_device("cuda:0,0"), shoal::bad_argument);
  EXPECT_EQ(shoal::device_name(shoal::choose_device("cuda")), "cuda:0");
  EXPECT_EQ(shoal::choose_device("cuda:all").cuda.size(), shoal::cuda_devices().size());
  EXPECT_EQ(shoal::device_name(shoal::choose_device("auto")), "cuda:0");
}

TEST_F(DeviceRows, AutoTakesTheFirstDeviceForMuchWork) {
  const auto chosen = shoal::choose_automatically({1e14, 1e9, 100}, 16, 12345);
  EXPECT_EQ(shoal::device_name(chosen.choice), "cuda:0");
  EXPECT_EQ(chosen.choice.memory, 12345u);
  EXPECT_NE(chosen.reason.find(shoal::cuda_devices()[0].name), std::string::npos) << chosen.reason;
}

}  // namespace
