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
  void check(std::size_t rows, std::size_t columns, const std::vector<int>& devices, std::size_t memory, bool weighted,
             std::size_t shards = 1) {
    const std::size_t gpus = devices.size();
    SCOPED_TRACE(testing::Message() << rows << " x " << columns << ", " << gpus << " GPUs, " << shards
                                    << " shards, memory " << memory);
    std::vector<float> values(rows * columns), weights(rows);
    std::iota(values.begin(), values.end(), 1.0F);
    std::iota(weights.begin(), weights.end(), 0.5F);
    const shoal::view_source<float> source({values.data(), rows, columns});
    const shoal::view_source<float> weight_source({weights.data(), rows, 1});
    const auto workers = shoal::make_threads(2);
    const shoal::fold_context context{workers.get(), 0, {}};
    device_group group(devices);
    device_rows<float> on(group, context, {&source, weighted ? &weight_source : nullptr, 1}, memory,
                          {.exactly = shards});
    check_shards(on, group, values);
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

  // Shard by shard, and a range of every shard: each row once, counted from its shard's first.
  void check_shards(device_rows<float>& on, device_group& group, const std::vector<float>& values) {
    const std::size_t columns = on.columns();
    for (const shoal::cuda::shard_range range :
         {shoal::cuda::shard_range{0, on.most_shard_rows()}, shoal::cuda::shard_range{piece_unit, piece_unit}}) {
      std::vector<float> seen(values.size(), -1), expected(values.size(), -1);
      for (std::size_t s = 0; s < on.shards().count(); ++s) {
        const std::size_t begin = std::min(range.first, on.shards().rows_of(s));
        const std::size_t end = std::min(range.first + range.count, on.shards().rows_of(s));
        const std::size_t first = on.shards().first_row(s);
        std::copy(values.begin() + static_cast<std::ptrdiff_t>((first + begin) * columns),
                  values.begin() + static_cast<std::ptrdiff_t>((first + end) * columns),
                  expected.begin() + static_cast<std::ptrdiff_t>((first + begin) * columns));
      }
      for (std::size_t turn = 0; turn < on.turns(); ++turn) {
        on.for_each_piece_of(turn, range, [&](std::size_t g, std::size_t shard, const auto& piece) {
          EXPECT_EQ(shard, on.first_shard(g) + turn);
          EXPECT_EQ(on.gpu_of(shard), g);
          EXPECT_EQ(piece.first, on.shards().first_row(shard) + piece.share_first);
          EXPECT_EQ(piece.share_first % piece_unit, 0u);
          cudaMemcpyAsync(seen.data() + piece.first * columns, piece.rows, piece.count * columns * sizeof(float),
                          cudaMemcpyDeviceToHost, group[g].compute);
        });
      }
      group.synchronize();
      EXPECT_EQ(seen, expected);
    }
    std::size_t next = 0;
    on.for_each_piece([&](std::size_t g, const auto& piece) {
      if (group.size() > 1) next = piece.first;
      on.for_each_shard_of(piece, [&](std::size_t shard, const auto& part) {
        EXPECT_EQ(on.gpu_of(shard), g);
        EXPECT_EQ(part.first, next);
        EXPECT_EQ(part.first, on.shards().first_row(shard) + part.share_first);
        EXPECT_EQ(part.rows, piece.rows + (part.first - piece.first) * columns);
        EXPECT_EQ(part.weights == nullptr, piece.weights == nullptr);
        EXPECT_LE(part.share_first + part.count, on.shards().rows_of(shard));
        next += part.count;
      });
      EXPECT_EQ(next, piece.first + piece.count);
    });
    group.synchronize();
  }
};

TEST_F(DeviceRows, ComeByOnceAndInOrder) {
  for (const std::size_t rows : {1ul, 4095ul, 4096ul, 4097ul, 50'021ul}) {
    for (const bool weighted : {false, true}) {
      for (const std::size_t shards : {1, 2, 5}) {
        check(rows, 3, {0}, 0, weighted, shards);
        check(rows, 3, {0}, 8 * piece_unit * sizeof(float), weighted, shards);
      }
    }
  }
}

// piece_unit rows of 4097 columns are more than the most that a piece is meant to be.
TEST_F(DeviceRows, OfAnyWidthAreStreamed) {
  for (const std::size_t columns : {4096ul, 4097ul}) {
    check(2 * piece_unit + 1, columns, {0}, 2 * piece_unit * columns * sizeof(float), false);
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
    check(rows, 5, {0, 1}, 0, true, 2);
    check(rows, 5, {0, 1}, 12 * piece_unit * sizeof(float), true, 2);
  }
}

// Members of a group may share a device, and may have nothing to do.
TEST_F(DeviceRows, AreDealtToMembersOfAGroup) {
  for (const std::size_t rows : {1ul, 4097ul, 50'021ul}) {
    for (const std::size_t shards : {1, 2, 3, 8}) {
      for (const std::size_t gpus : {2, 3, 8}) {
        check(rows, 5, std::vector<int>(gpus, 0), 0, true, shards);
        check(rows, 5, std::vector<int>(gpus, 0), 12 * piece_unit * sizeof(float), true, shards);
      }
    }
  }
}

// Numbers of many sizes, whose sum depends on the order: that of the parts, wherever they are.
TEST_F(DeviceRows, PartsAreAddedUpInTheirOrder) {
  std::vector<std::vector<int>> groups{{0}, {0, 0, 0}};
  if (cuda_devices::missing(2).empty()) groups.push_back({0, 1});
  constexpr std::size_t count = 1000;
  for (const std::vector<int>& devices : groups) {
    device_group group(devices);
    for (const std::size_t parts : {1, 2, 8, 16, 17, 40}) {
      std::vector<double> expected;
      std::vector<long long> expected_whole;
      std::vector<shoal::cuda::device_buffer<double>> there(parts);
      std::vector<shoal::cuda::device_buffer<long long>> whole_there(parts);
      std::vector<shoal::cuda::group_part<double>> given;
      std::vector<shoal::cuda::group_part<long long>> whole_given;
      for (std::size_t p = 0; p < parts; ++p) {
        std::vector<double> values;
        std::vector<long long> whole;
        for (std::size_t i = 0; i < count; ++i) {
          whole.push_back(static_cast<long long>((p + 1) * (i + 7) * 2654435761u));
          values.push_back(1.0 / static_cast<double>(whole.back() % 1009 + 1));
        }
        const std::size_t g = p * devices.size() / parts;
        const shoal::cuda::device_scope scope(group[g].device);
        there[p].upload(values, group[g].compute);
        whole_there[p].upload(whole, group[g].compute);
        group[g].compute.synchronize();
        given.push_back({g, there[p].data()});
        whole_given.push_back({g, whole_there[p].data()});
        if (p == 0) {
          expected = values;
          expected_whole = whole;
          continue;
        }
        for (std::size_t i = 0; i < count; ++i) {
          expected[i] += values[i];
          expected_whole[i] += whole[i];
        }
      }
      const shoal::cuda::device_scope scope(group[0].device);
      shoal::cuda::device_buffer<double> into(count);
      group.sum_on_first(given, into.data(), count);
      EXPECT_EQ(into.download(count, group[0].compute), expected) << parts;
      group.sum_on_first(given, there[0].data(), count);
      EXPECT_EQ(there[0].download(count, group[0].compute), expected) << parts;
      group.sum_on_first(whole_given, whole_there[0].data(), count);
      EXPECT_EQ(whole_there[0].download(count, group[0].compute), expected_whole) << parts;
      group.synchronize();
    }
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
