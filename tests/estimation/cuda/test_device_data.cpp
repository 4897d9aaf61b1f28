// Checks and seeding on devices against those on the host.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <shoal/estimation/cuda/device_data.hpp>
#include <shoal/estimation/seed_draw.hpp>
#include <shoal/estimation/seeding_passes.hpp>
#include <shoal/random/stream.hpp>

#include "../../cuda_devices.hpp"
#include "../../kmeans/kmeans_reference.hpp"
#include "../../sharded_rows.hpp"

namespace {

using kmeans_reference::clouds;
using kmeans_reference::table;

template <class Scalar>
std::vector<Scalar> uneven_weights(std::size_t rows) {
  std::vector<Scalar> weights(rows);
  for (std::size_t i = 0; i < rows; ++i) weights[i] = static_cast<Scalar>(i % 5 == 0 ? 0.0 : 0.25 + i % 7);
  return weights;
}

template <class Scalar>
class DeviceData : public cuda_devices::on_one_device {
 protected:
  std::unique_ptr<shoal::executor> workers_ = shoal::make_threads(2);
  shoal::fold_context context_{workers_.get(), 0, {}};

  shoal::device_data<Scalar> on_device(const shoal::row_source<Scalar>& rows, const shoal::row_source<Scalar>* weights,
                                       std::size_t memory = 0, std::size_t gpus = 1) {
    return shoal::device_data<Scalar>(context_, {cuda_devices::first(gpus), memory}, rows, weights, true);
  }
};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(DeviceData, scalars);

void expect_close(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t j = 0; j < a.size(); ++j) EXPECT_NEAR(a[j], b[j], tolerance * (1 + std::abs(b[j]))) << j;
}

TYPED_TEST(DeviceData, SummaryIsTheHosts) {
  for (const std::size_t rows : {1ul, 31ul, 4096ul, 4097ul, 30'011ul}) {
    for (const std::size_t columns : {1ul, 2ul, 7ul, 33ul, 300ul}) {
      if (rows * columns > 2'000'000) continue;
      const auto data = clouds<TypeParam>(rows, columns, 3, 4.0, 0, rows + columns);
      const auto weights = uneven_weights<TypeParam>(rows);
      const shoal::view_source<TypeParam> source(data.view()), weight_source({weights.data(), rows, 1});
      for (const auto* const weighted : {static_cast<decltype(&weight_source)>(nullptr), &weight_source}) {
        if (weighted != nullptr && rows == 1) continue;  // its weight is zero
        const shoal::data_summary host = shoal::check_data<TypeParam>(this->context_, source, weighted, true);
        for (const std::size_t memory : {0ul, 2 * 4096 * (columns + 1) * sizeof(TypeParam)}) {
          auto device = this->on_device(source, weighted, memory);
          const shoal::data_summary& summary = device.summary();
          EXPECT_EQ(summary.rows, host.rows);
          EXPECT_EQ(summary.positive_rows, host.positive_rows);
          EXPECT_EQ(summary.fingerprint, host.fingerprint);
          EXPECT_EQ(summary.largest_weight, host.largest_weight);
          EXPECT_NEAR(summary.total_weight, host.total_weight, 1e-12 * host.total_weight);
          EXPECT_EQ(summary.minimum, host.minimum);
          EXPECT_EQ(summary.maximum, host.maximum);
          expect_close(summary.mean, host.mean, 1e-12);
          expect_close(summary.variance, host.variance, 1e-11);
        }
      }
    }
  }
}

TYPED_TEST(DeviceData, StreamedRowsGiveTheSameBits) {
  const auto data = clouds<TypeParam>(50'021, 5, 3, 4.0);
  const shoal::view_source<TypeParam> source(data.view());
  const auto resident = this->on_device(source, nullptr).summary();
  const auto streamed = this->on_device(source, nullptr, 3 * 4096 * 5 * sizeof(TypeParam)).summary();
  EXPECT_EQ(resident.mean, streamed.mean);
  EXPECT_EQ(resident.variance, streamed.variance);
}

TYPED_TEST(DeviceData, RefusesWhatTheHostRefusesWithItsWords) {
  const auto message = [&](const shoal::row_source<TypeParam>& rows, const shoal::row_source<TypeParam>* weights,
                           bool host) -> std::string {
    try {
      if (host) {
        shoal::check_data<TypeParam>(this->context_, rows, weights, false);
      } else {
        this->on_device(rows, weights);
      }
    } catch (const shoal::error& failure) {
      return failure.what();
    }
    return "nothing was thrown";
  };
  auto data = clouds<TypeParam>(10'000, 4, 3, 4.0);
  auto weights = uneven_weights<TypeParam>(10'000);
  const shoal::view_source<TypeParam> source(data.view()), weight_source({weights.data(), 10'000, 1});
  const auto expect_same = [&](const char* part) {
    const std::string host = message(source, &weight_source, true);
    EXPECT_NE(host.find(part), std::string::npos) << host;
    EXPECT_EQ(message(source, &weight_source, false), host);
  };
  data.values[7000 * 4 + 2] = std::numeric_limits<TypeParam>::quiet_NaN();
  data.values[9000 * 4 + 1] = std::numeric_limits<TypeParam>::infinity();
  expect_same("row 7000, column 2");
  data.values[7000 * 4 + 2] = 0;
  expect_same("row 9000, column 1");
  weights[8191] = -1;
  expect_same("weight of row 8191");
  weights.assign(weights.size(), 0);
  data.values[9000 * 4 + 1] = 0;
  expect_same("all weights are zero");
}

TYPED_TEST(DeviceData, SeedsTheRowsThatTheHostSeeds) {
  for (const std::size_t columns : {1ul, 3ul, 16ul, 40ul}) {
    const auto data = clouds<TypeParam>(20'011, columns, 6, 4.0, 0, columns);
    const auto weights = uneven_weights<TypeParam>(20'011);
    const shoal::view_source<TypeParam> source(data.view()), weight_source({weights.data(), 20'011, 1});
    for (const auto* const weighted : {static_cast<decltype(&weight_source)>(nullptr), &weight_source}) {
      for (const std::size_t memory : {0ul, 2 * 4096 * (columns + 1) * sizeof(TypeParam)}) {
        auto device = this->on_device(source, weighted, memory);
        const shoal::weighted_rows<TypeParam>& rows = device.rows().data();
        for (const std::size_t clusters : {1ul, 2ul, 7ul, 100ul}) {
          const shoal::seeding_request request{clusters, 5, clusters};
          const auto host = [&](const shoal::make_passes& passes, bool parallel) {
            return parallel ? shoal::seed_parallel(this->context_, rows, device.summary(), request, passes)
                            : shoal::seed_plus_plus(this->context_, rows, device.summary(), request, passes);
          };
          // Sums of masses round in different orders, so a draw that falls between two rows may differ: seldom.
          for (const bool parallel : {false, true}) {
            EXPECT_EQ(host(device.seeding(), parallel), host({}, parallel))
                << columns << " columns, " << clusters << " clusters, parallel " << parallel;
          }
        }
      }
    }
  }
}

// Bytes rule most points out, and steps follow each other without the host: neither shows in the rows that are chosen,
// however far rows lie out, near together or away from zero, for any number of trials. Rows of 140 columns are too many
// for one launch.
TYPED_TEST(DeviceData, SeedsAwkwardRowsAsTheHostDoes) {
  for (const std::size_t columns : {1ul, 4ul, 5ul, 17ul, 33ul, 140ul}) {
    for (const std::size_t rows : {1ul, 70ul, 513ul, 3001ul}) {
      for (const char* const kind : {"far", "offset", "steep", "twice"}) {
        auto data = clouds<TypeParam>(rows, columns, 3, 4.0, kind == std::string_view("offset") ? 1e4 : 0, rows);
        for (std::size_t i = 0; i < data.values.size(); ++i) {
          TypeParam& value = data.values[i];
          const std::size_t row = i / columns;
          if (kind == std::string_view("far") && row % 200 == 7) value *= 3000;
          if (kind == std::string_view("steep"))
            value *= static_cast<TypeParam>(std::exp2(static_cast<double>(row % 20)));
          if (kind == std::string_view("twice") && row % 2 == 1) value = data.values[i - columns];
        }
        const auto weights = uneven_weights<TypeParam>(rows);
        const shoal::view_source<TypeParam> source(data.view()), weight_source({weights.data(), rows, 1});
        auto device = this->on_device(source, rows == 1 ? nullptr : &weight_source);
        const auto& held = device.rows().data();
        for (const std::size_t trials : {1ul, 7ul, 8ul, 15ul, 16ul}) {
          const shoal::seeding_request request{std::min(rows, 40ul), 5, columns, trials};
          // Which of two equal rows a draw falls on may differ, since sums of masses round in different orders.
          const auto values_of = [&](const std::vector<std::size_t>& chosen) {
            std::vector<TypeParam> values;
            for (const std::size_t row : chosen) {
              const auto* const first = data.values.data() + row * columns;
              values.insert(values.end(), first, first + columns);
            }
            return values;
          };
          EXPECT_EQ(
              values_of(shoal::choose_plus_plus(this->context_, held, device.summary(), request, device.seeding())),
              values_of(shoal::choose_plus_plus(this->context_, held, device.summary(), request)))
              << kind << ", " << rows << " x " << columns << ", " << trials << " trials";
        }
      }
    }
  }
}

// As many blocks as a GPU of 132 multiprocessors has at once, in one launch, and one more; and where nothing but the
// order in which they come could make a difference, none is made.
TYPED_TEST(DeviceData, SeedsAllBlocksAtOnceAsTheHostDoes) {
  for (const std::size_t columns : {2ul, 8ul}) {
    for (const std::size_t rows : {67'584ul, 67'585ul, 135'168ul, 135'169ul}) {
      const auto data = clouds<TypeParam>(rows, columns, 6, 4.0, 0, columns);
      const auto weights = uneven_weights<TypeParam>(rows);
      const shoal::view_source<TypeParam> source(data.view()), weight_source({weights.data(), rows, 1});
      auto device = this->on_device(source, &weight_source);
      const auto& held = device.rows().data();
      for (const bool parallel : {false, true}) {
        const shoal::seeding_request request{40, 5, columns};
        const auto seeds = [&](const shoal::make_passes& passes) {
          return parallel ? shoal::seed_parallel(this->context_, held, device.summary(), request, passes)
                          : shoal::seed_plus_plus(this->context_, held, device.summary(), request, passes);
        };
        const std::vector<double> expected = seeds({});
        for (int time = 0; time < 5; ++time) {
          EXPECT_EQ(seeds(device.seeding()), expected) << rows << " x " << columns << ", parallel " << parallel;
        }
      }
    }
  }
}

// Clusters of blocks keep rows in their shared memory: on both sides of what one cluster and all of them hold, with
// blocks and whole warps none of whose rows has any mass, and with squares at both ends of float32. Trials are ruled
// out by bytes in one cluster and in several, distances of candidates in float32.
TYPED_TEST(DeviceData, SeedsInClustersOfBlocksAsTheHostDoes) {
  for (const std::size_t columns : {1ul, 7ul, 64ul}) {
    for (const std::size_t rows : {33ul, 511ul, 16'384ul, 16'385ul, 114'688ul, 114'689ul}) {
      if (columns == 64 && rows > 16'385) continue;
      for (const double scale : {1.0, 1e-25, 1e15}) {
        auto data = clouds<TypeParam>(rows, columns, 6, 4.0, 0, rows + columns);
        for (TypeParam& value : data.values) value *= static_cast<TypeParam>(scale);
        auto weights = uneven_weights<TypeParam>(rows);
        std::fill(weights.begin() + static_cast<std::ptrdiff_t>(rows / 3),
                  weights.begin() + static_cast<std::ptrdiff_t>(rows / 2), TypeParam{0});
        const shoal::view_source<TypeParam> source(data.view()), weight_source({weights.data(), rows, 1});
        auto device = this->on_device(source, &weight_source);
        const auto& held = device.rows().data();
        for (const std::size_t trials : {1ul, 4ul, 5ul, 8ul, 9ul, 16ul}) {
          const shoal::seeding_request request{rows < 100 ? 12ul : 60ul, 5, columns, trials};
          const auto seeds = [&](bool parallel, const shoal::make_passes& passes) {
            return parallel ? shoal::seed_parallel(this->context_, held, device.summary(), request, passes)
                            : shoal::seed_plus_plus(this->context_, held, device.summary(), request, passes);
          };
          for (const bool parallel : {false, true}) {
            if (rows * columns > 50'000 && (trials != 8 || (parallel && rows > 20'000))) continue;
            EXPECT_EQ(seeds(parallel, device.seeding()), seeds(parallel, {}))
                << rows << " x " << columns << " times " << scale << ", " << trials << " trials, parallel " << parallel;
          }
        }
      }
    }
  }
}

// Of more values than one launch takes few warps are a block, and their sums are another kernel's.
TYPED_TEST(DeviceData, SeedsManyWideRowsAsTheHostDoes) {
  const std::size_t rows = 540'673, columns = 64;  // more than 8 units for each of 132 multiprocessors
  const auto data = clouds<TypeParam>(rows, columns, 6, 4.0, 0, columns);
  const auto weights = uneven_weights<TypeParam>(rows);
  const shoal::view_source<TypeParam> source(data.view()), weight_source({weights.data(), rows, 1});
  auto device = this->on_device(source, &weight_source);
  const auto& held = device.rows().data();
  for (const std::size_t trials : {7ul, 8ul}) {
    const shoal::seeding_request request{4, 5, columns, trials};
    EXPECT_EQ(shoal::choose_plus_plus(this->context_, held, device.summary(), request, device.seeding()),
              shoal::choose_plus_plus(this->context_, held, device.summary(), request))
        << trials << " trials";
  }
}

// Blocks of one launch have several units each, and hear of those of others by groups: on both sides of a block, a unit
// and a group of units, and of where rows are too many for shared memory.
TYPED_TEST(DeviceData, SeedsManyRowsAsTheHostDoes) {
  for (const std::size_t columns : {3ul, 17ul}) {
    for (const std::size_t rows : {163'840ul, 163'841ul, 540'672ul, 540'673ul, 557'057ul}) {
      const auto data = clouds<TypeParam>(rows, columns, 6, 4.0, 0, columns);
      const auto weights = uneven_weights<TypeParam>(rows);
      const shoal::view_source<TypeParam> source(data.view()), weight_source({weights.data(), rows, 1});
      for (const auto* const weighted : {static_cast<decltype(&weight_source)>(nullptr), &weight_source}) {
        auto device = this->on_device(source, weighted);
        const auto& held = device.rows().data();
        for (const std::size_t trials : {4ul, 8ul, 9ul}) {
          const shoal::seeding_request request{8, 5, columns, trials};
          EXPECT_EQ(shoal::choose_plus_plus(this->context_, held, device.summary(), request, device.seeding()),
                    shoal::choose_plus_plus(this->context_, held, device.summary(), request))
              << rows << " x " << columns << ", " << trials << " trials, weights " << (weighted != nullptr);
        }
        const shoal::seeding_request request{40, 5, columns};
        EXPECT_EQ(shoal::seed_parallel(this->context_, held, device.summary(), request, device.seeding()),
                  shoal::seed_parallel(this->context_, held, device.summary(), request))
            << rows << " x " << columns << ", weights " << (weighted != nullptr);
      }
    }
  }
}

// All multiprocessors share rows that are too many for clusters of blocks: on both sides of what their threads hold one
// each, with rows far out, away from zero and twice, weights of zero over whole warps and blocks, and any number of
// trials.
TYPED_TEST(DeviceData, SeedsRowsOfAllMultiprocessorsAsTheHostDoes) {
  for (const std::size_t columns : {1ul, 4ul, 5ul, 16ul, 33ul}) {
    for (const std::size_t rows : {135'168ul, 135'169ul}) {
      for (const char* const kind : {"far", "offset", "twice"}) {
        auto data = clouds<TypeParam>(rows, columns, 3, 4.0, kind == std::string_view("offset") ? 1e4 : 0, columns);
        for (std::size_t i = 0; i < data.values.size(); ++i) {
          TypeParam& value = data.values[i];
          const std::size_t row = i / columns;
          if (kind == std::string_view("far") && row % 5000 == 7) value *= 3000;
          if (kind == std::string_view("twice") && row % 2 == 1) value = data.values[i - columns];
        }
        auto weights = uneven_weights<TypeParam>(rows);
        std::fill(weights.begin() + static_cast<std::ptrdiff_t>(rows / 3),
                  weights.begin() + static_cast<std::ptrdiff_t>(rows / 2), TypeParam{0});
        const shoal::view_source<TypeParam> source(data.view()), weight_source({weights.data(), rows, 1});
        auto device = this->on_device(source, kind == std::string_view("offset") ? nullptr : &weight_source);
        const auto& held = device.rows().data();
        for (const std::size_t trials : {1ul, 4ul, 5ul, 16ul}) {
          const shoal::seeding_request request{6, 5, columns, trials};
          const auto values_of = [&](const std::vector<std::size_t>& chosen) {
            std::vector<TypeParam> values;
            for (const std::size_t row : chosen) {
              const auto* const first = data.values.data() + row * columns;
              values.insert(values.end(), first, first + columns);
            }
            return values;
          };
          EXPECT_EQ(
              values_of(shoal::choose_plus_plus(this->context_, held, device.summary(), request, device.seeding())),
              values_of(shoal::choose_plus_plus(this->context_, held, device.summary(), request)))
              << kind << ", " << rows << " x " << columns << ", " << trials << " trials";
        }
      }
    }
  }
}

// Steps that draw ahead: at the first of them and its neighbours, on both sides of the columns that bytes rule out,
// where masses fall so fast that most of what is drawn is thinned out, where lists have no room for half of the rows,
// which are near to each other and far from none, and where the rows run out.
struct ahead_shape {
  std::size_t rows, columns, clusters;
  const char* kind;
};
template <class Scalar>
table<Scalar> rows_of(const ahead_shape& one) {
  auto data = clouds<Scalar>(one.rows, one.columns, 90, 4.0, 0, one.rows);
  for (std::size_t i = 0; i < data.values.size(); ++i) {
    Scalar& value = data.values[i];
    const std::size_t row = i / one.columns;
    const std::string_view kind = one.kind;
    if (kind == "far" && row % 200 == 7) value *= 3000;
    if (kind == "steep") value *= static_cast<Scalar>(std::exp2(static_cast<double>(row % 101) / 2));
    if (kind == "twice" && row % 2 == 1) value = data.values[i - one.columns];
    if (kind == "few") value = static_cast<Scalar>(row % 90);
    if (kind == "late") value = row < 200 ? static_cast<Scalar>(1000 * (row + 1)) : value / 1000 + row % 2;
  }
  return data;
}

template <class Scalar>
class DrawsAhead : public DeviceData<Scalar> {
 protected:
  void expect_the_hosts(const ahead_shape& one, const std::vector<std::size_t>& all_trials) {
    const auto data = rows_of<Scalar>(one);
    const auto weights = uneven_weights<Scalar>(one.rows);
    const shoal::view_source<Scalar> source(data.view()), weight_source({weights.data(), one.rows, 1});
    for (const auto* const weighted : {static_cast<decltype(&weight_source)>(nullptr), &weight_source}) {
      auto device = this->on_device(source, weighted);
      const auto& held = device.rows().data();
      for (const std::size_t trials : all_trials) {
        const shoal::seeding_request request{one.clusters, 5, one.columns, trials};
        // Which of two equal rows a draw falls on may differ, since sums of masses round in different orders.
        const auto values_of = [&](const std::vector<std::size_t>& chosen) {
          std::vector<Scalar> values;
          for (const std::size_t row : chosen) {
            const auto* const first = data.values.data() + row * one.columns;
            values.insert(values.end(), first, first + one.columns);
          }
          return values;
        };
        EXPECT_EQ(values_of(shoal::choose_plus_plus(this->context_, held, device.summary(), request, device.seeding())),
                  values_of(shoal::choose_plus_plus(this->context_, held, device.summary(), request)))
            << one.kind << ", " << one.rows << " x " << one.columns << ", " << one.clusters << " clusters, " << trials
            << " trials, weights " << (weighted != nullptr);
      }
    }
  }
};
TYPED_TEST_SUITE(DrawsAhead, scalars);

TYPED_TEST(DrawsAhead, AmongFewRowsAsTheHostDoes) {
  this->expect_the_hosts({513, 5, 97, "apart"}, {0});
  this->expect_the_hosts({450, 2, 97, "late"}, {0});
}

TYPED_TEST(DrawsAhead, WithAnyNumberOfTrialsAsTheHostDoes) {
  for (const ahead_shape& one : {ahead_shape{513, 5, 200, "apart"}, ahead_shape{512, 2, 300, "steep"},
                                 ahead_shape{1021, 33, 129, "far"}, ahead_shape{1021, 2, 200, "few"}}) {
    this->expect_the_hosts(one, {0, 1, 16, 17});
  }
}

// 32,768 rows are the most that one block goes through.
TYPED_TEST(DrawsAhead, AmongManyRowsAsTheHostDoes) {
  for (const ahead_shape& one :
       {ahead_shape{3001, 4, 64, "apart"}, ahead_shape{3001, 4, 65, "apart"}, ahead_shape{3001, 5, 97, "apart"},
        ahead_shape{2003, 17, 130, "steep"}, ahead_shape{2003, 3, 130, "twice"}, ahead_shape{4001, 1, 300, "apart"},
        ahead_shape{3001, 2, 260, "late"}, ahead_shape{32'768, 3, 100, "apart"}, ahead_shape{32'769, 3, 100, "apart"},
        ahead_shape{32'769, 16, 100, "steep"}, ahead_shape{40'001, 2, 260, "late"},
        ahead_shape{100'003, 8, 150, "apart"}}) {
    this->expect_the_hosts(one, {0});
  }
}

// The race is decided on the host, to the last bit.
TYPED_TEST(DeviceData, RacesToTheRowsThatWinOnTheHost) {
  const std::size_t rows = 50'021;
  const auto data = clouds<TypeParam>(rows, 2, 6, 4.0);
  const shoal::view_source<TypeParam> source(data.view());
  auto uneven = uneven_weights<TypeParam>(rows);
  std::vector<TypeParam> few(rows, 0), steep(rows);
  few[17] = few[4099] = few[50'020] = 1;
  for (std::size_t i = 0; i < rows; ++i) steep[i] = static_cast<TypeParam>(std::exp2(-static_cast<double>(i % 100)));
  for (const std::vector<TypeParam>* const values : {static_cast<decltype(&few)>(nullptr), &uneven, &few, &steep}) {
    const shoal::view_source<TypeParam> weight_source(
        {values == nullptr ? data.values.data() : values->data(), rows, 1});
    const auto* const weights = values == nullptr ? nullptr : &weight_source;
    for (const std::size_t memory : {0ul, 2 * 4096 * 3 * sizeof(TypeParam)}) {
      auto device = this->on_device(source, weights, memory);
      const shoal::weighted_rows<TypeParam>& held = device.rows().data();
      for (const std::size_t clusters : {1ul, 5ul, 1023ul, 1024ul, 5002ul, 9000ul, 25'011ul, rows - 1, rows}) {
        const shoal::seeding_request request{clusters, 5, clusters};
        EXPECT_EQ(shoal::seed_random_rows(this->context_, held, device.summary(), request, device.seeding()),
                  shoal::seed_random_rows(this->context_, held, device.summary(), request))
            << clusters << " clusters";
      }
    }
  }
}

// Weights by which neighbours arrive at the same time but for rounding: the host's logarithms decide.
TYPED_TEST(DeviceData, RacesWhereRowsArriveTogether) {
  const std::size_t rows = 50'021;
  const shoal::seeding_request request{20'000, 5, 3};
  const auto data = clouds<TypeParam>(rows, 2, 6, 4.0);
  std::vector<TypeParam> twins(rows, 1);
  const auto arrival = [&](std::size_t row) {
    return -std::log(shoal::random::uniform_at(request.seed, seeding_stream(request, shoal::seeding_use::race), row));
  };
  for (std::size_t i = 1; i < rows; i += 2) twins[i] = static_cast<TypeParam>(arrival(i) / arrival(i - 1));
  const shoal::view_source<TypeParam> source(data.view()), weight_source({twins.data(), rows, 1});
  auto device = this->on_device(source, &weight_source);
  const shoal::weighted_rows<TypeParam>& held = device.rows().data();
  EXPECT_EQ(shoal::seed_random_rows(this->context_, held, device.summary(), request, device.seeding()),
            shoal::seed_random_rows(this->context_, held, device.summary(), request));
}

// On the GPU that holds the rows, or on the host when pieces of them come and go: the same rows in either place.
TYPED_TEST(DeviceData, KeepsTheRowsThatItDraws) {
  const std::size_t rows = 30'003, columns = 3;
  const auto data = clouds<TypeParam>(rows, columns, 6, 4.0);
  const shoal::view_source<TypeParam> source(data.view());
  for (const std::size_t memory : {0ul, 2 * 4096 * 4 * sizeof(TypeParam)}) {
    auto device = this->on_device(source, nullptr, memory);
    for (const std::size_t drawn : {1ul, 1023ul, 1024ul, 3000ul, rows}) {
      const shoal::seeding_request request{drawn, 5, drawn};
      const auto kept =
          shoal::keep_random_rows(this->context_, device.rows().data(), device.summary(), request, device.seeding());
      EXPECT_EQ(kept->on_device() != nullptr, memory == 0);
      ASSERT_EQ(kept->rows(), drawn);
      ASSERT_EQ(kept->columns(), columns);
      const shoal::cuda::readable_rows<double> readable(kept.get());
      shoal::aligned_buffer<double> buffer;
      const auto values = readable.get()->read(0, drawn, buffer);
      EXPECT_EQ(std::vector<double>(values.data(), values.data() + drawn * columns),
                shoal::seed_random_rows(this->context_, device.rows().data(), device.summary(), request))
          << drawn << " rows, memory " << memory;
    }
  }
}

TYPED_TEST(DeviceData, SeedsFromFewDistinctRows) {
  table<TypeParam> data{9000, 2, {}};
  for (std::size_t i = 0; i < 9000; ++i) {
    data.values.push_back(static_cast<TypeParam>(i % 3));
    data.values.push_back(0);
  }
  const shoal::view_source<TypeParam> source(data.view());
  auto device = this->on_device(source, nullptr);
  for (const bool parallel : {false, true}) {
    const shoal::seeding_request request{5, 1, 0};
    const auto points =
        parallel
            ? shoal::seed_parallel(this->context_, device.rows().data(), device.summary(), request, device.seeding())
            : shoal::seed_plus_plus(this->context_, device.rows().data(), device.summary(), request, device.seeding());
    ASSERT_EQ(points.size(), 10u);
    std::set<double> distinct;
    for (std::size_t k = 0; k < 5; ++k) distinct.insert(points[2 * k]);
    EXPECT_EQ(distinct, (std::set<double>{0, 1, 2}));
  }
}

// Moments are combined shard by shard, whoever owns them; what is found and drawn depends on no cut at all.
TYPED_TEST(DeviceData, SaysTheSameOnAnyNumberOfGpus) {
  const std::size_t rows = 14 * 4096 + 37;  // 15 units
  const auto data = clouds<TypeParam>(rows, 7, 3, 4.0);
  const sharded_rows::held_rows<TypeParam> held(data.view(), sharded_rows::uneven_weights<TypeParam>(rows));
  for (const std::size_t shards : sharded_rows::counts) {
    const auto one = held.on({}, shards);
    const shoal::data_summary& expected = one->summary();
    const auto drawn = [](shoal::device_data<TypeParam>& from) {
      const auto passes = from.seeding()();
      passes->add(std::vector<double>(7, 1.5));
      std::vector<double> found = passes->masses_by_unit();
      for (const std::size_t row : passes->race(3, 1, 50)) found.push_back(static_cast<double>(row));
      for (const std::size_t row : passes->sample(3, 2, 1e-4)) found.push_back(static_cast<double>(row));
      for (const double weight : passes->weights_by_point()) found.push_back(weight);
      return found;
    };
    const std::vector<double> seeds = drawn(*one);
    for (const sharded_rows::placing& where : sharded_rows::placings(held.row_bytes())) {
      SCOPED_TRACE(testing::Message() << shards << " shards, " << name(where));
      const auto many = held.on(where, shards);
      const shoal::data_summary& summary = many->summary();
      EXPECT_EQ(summary.total_weight, expected.total_weight);
      EXPECT_EQ(summary.mean, expected.mean);
      EXPECT_EQ(summary.variance, expected.variance);
      EXPECT_EQ(summary.minimum, expected.minimum);
      EXPECT_EQ(summary.maximum, expected.maximum);
      EXPECT_EQ(summary.positive_rows, expected.positive_rows);
      EXPECT_EQ(summary.fingerprint, expected.fingerprint);
      EXPECT_EQ(many->hardware(), one->hardware());
      EXPECT_EQ(drawn(*many), seeds);
    }
  }
}

// A device that a caller names twice is a mistake; members of one are for tests alone.
TYPED_TEST(DeviceData, RefusesADeviceThatIsNamedTwice) {
  const auto data = clouds<TypeParam>(100, 2, 3, 4.0);
  const shoal::view_source<TypeParam> source(data.view());
  EXPECT_THROW((shoal::device_data<TypeParam>(this->context_, {{0, 0}, 0}, source, nullptr, false)),
               shoal::bad_argument);
}

}  // namespace
