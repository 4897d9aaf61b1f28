#include <shoal/estimation/cuda/device_data.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include <shoal/estimation/check_statistics.hpp>
#include <shoal/estimation/cuda/check_pieces.hpp>
#include <shoal/estimation/cuda/seeding.hpp>
#include <shoal/execution/device_ranks.hpp>

namespace shoal {
namespace {

// What is found in a shard.
struct shard_check {
  cuda::device_buffer<column_moments> moments;
  cuda::device_buffer<row_findings> findings;
};

// What a GPU finds in the units of a piece.
struct unit_check {
  cuda::device_buffer<column_moments> moments;
  cuda::device_buffer<row_findings> findings;
};

std::size_t position(unsigned long long found) { return found == ~0ULL ? no_bad_row : static_cast<std::size_t>(found); }

check_statistics as_statistics(std::size_t rows, std::span<const column_moments> moments,
                               const row_findings& findings) {
  check_statistics all;
  all.rows = rows;
  all.positive_rows = findings.positive_rows;
  all.bad_row = position(findings.bad_row);
  all.bad_weight = position(findings.bad_weight);
  all.weight = findings.weight;
  all.largest_weight = findings.largest_weight;
  all.fingerprint = findings.fingerprint;
  for (const column_moments& column : moments) {
    all.mean.push_back(column.mean);
    all.second_moment.push_back(column.second_moment);
    all.minimum.push_back(column.minimum);
    all.maximum.push_back(column.maximum);
  }
  return all;
}

template <class Scalar>
data_summary check_on_devices(cuda::device_rows<Scalar>& rows, bool fingerprint) {
  const std::size_t columns = rows.columns();
  cuda::device_group& group = rows.group();
  std::vector<unit_check> units(group.size());
  for (std::size_t g = 0; g < group.size(); ++g) {
    const cuda::device_scope scope(group[g].device);
    const std::size_t most = check_units(std::min(rows.most_piece_rows(), rows.share_rows(g)));
    units[g].moments.grow(most * columns);
    units[g].findings.grow(most);
  }
  const std::size_t first = rows.first_shard(0);
  std::vector<shard_check> shards(rows.own_shards());
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const cuda::gpu& owner = group[rows.gpu_of(first + s)];
    const cuda::device_scope scope(owner.device);
    shards[s].moments.grow(columns);
    shards[s].findings.grow(1);
    clear_check(shards[s].moments.data(), shards[s].findings.data(), columns, owner.compute);
  }
  rows.for_each_piece([&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
    rows.for_each_shard_of(piece, [&](std::size_t s, const cuda::device_piece<Scalar>& part) {
      check_piece(part, columns, fingerprint, units[g].moments.data(), units[g].findings.data(),
                  shards[s - first].moments.data(), shards[s - first].findings.data(), group[g].compute);
    });
  });
  const check_monoid monoid{columns};
  check_statistics all = monoid.identity();
  std::vector<double> lowest(columns, std::numeric_limits<double>::infinity()), highest(columns, -lowest[0]);
  std::vector<column_moments> moments;  // [shards][columns]
  std::vector<row_findings> findings;   // [shards]
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const cuda::gpu& owner = group[rows.gpu_of(first + s)];
    const cuda::device_scope scope(owner.device);
    const auto of_columns = shards[s].moments.download(columns, owner.compute);
    moments.insert(moments.end(), of_columns.begin(), of_columns.end());
    findings.push_back(shards[s].findings.download(1, owner.compute)[0]);
  }
  moments = rows.gathered(std::move(moments));
  findings = rows.gathered(std::move(findings));
  for (std::size_t s = 0; s < findings.size(); ++s) {
    const std::span<const column_moments> of_columns = std::span(moments).subspan(s * columns, columns);
    monoid.combine_into(all, as_statistics(rows.shards().rows_of(s), of_columns, findings[s]));
    for (std::size_t j = 0; j < columns; ++j) {
      lowest[j] = std::min(lowest[j], of_columns[j].lowest);
      highest[j] = std::max(highest[j], of_columns[j].highest);
    }
  }
  const weighted_rows<Scalar>& data = rows.data();
  data_summary summary = summarise(all, *data.rows, data.weights);
  summary.lowest = std::move(lowest);
  summary.highest = std::move(highest);
  return summary;
}

// Of several ranks each has one GPU, which no other one has but in tests.
cuda::device_group checked_group(std::span<const int> devices, precision precision, communicator* ranks, bool tested) {
  cuda::device_group group(devices, precision);
  if (!alone(ranks)) check_rank_devices(*ranks, {group[0].name, group[0].uuid}, tested);
  return group;
}

// The devices that have shards to own.
template <class Scalar>
std::vector<int> owners(const device_choice& device, const row_source<Scalar>& rows, const cuda::shard_rule* tested) {
  if (tested == nullptr) cuda::check_named_once(device.cuda);
  const cuda::shard_plan shards(rows.rows(), rows.columns() * sizeof(Scalar),
                                tested == nullptr ? cuda::shard_rule{} : *tested);
  std::vector<int> devices = device.cuda;
  devices.resize(std::min(devices.size(), shards.count()));
  return devices;
}

template <class Scalar>
const row_source<Scalar>* checked_shapes(const row_source<Scalar>& rows, row_weights weights) {
  check_shapes(rows, weights);
  return &rows;
}

}  // namespace

template <class Scalar>
device_data<Scalar>::device_data(const fold_context& context, const device_choice& device,
                                 const row_source<Scalar>& rows, row_weights weights, bool fingerprint,
                                 const cuda::shard_rule* tested, bool every_row_as_it_is)
    : context_(context),
      group_(checked_group(owners(device, rows, tested), device.precision, context.ranks, tested != nullptr)),
      readable_(checked_shapes(rows, weights)),
      narrow_weights_(weights.in<float>()),
      wide_weights_(weights.in<double>()),
      readable_weights_(weights.in<float>() != nullptr ? row_weights(narrow_weights_.get())
                                                       : row_weights(wide_weights_.get())),
      weights_(context, readable_weights_),
      rows_(std::in_place, group_, context, weighted_rows<Scalar>{readable_.get(), weights_.get(), 1.0}, device.memory,
            tested == nullptr ? cuda::shard_rule{} : *tested),
      summary_(check_on_devices(*rows_, fingerprint)),
      scaled_(*readable_.get(), readable_weights_, (weights_.bring_back(summary_), summary_), every_row_as_it_is) {
  if (scaled_.data().rows != readable_.get()) {  // rows of weight zero have been brought nearer
    rows_.reset();
    rows_.emplace(group_, context, scaled_.data(), device.memory, tested == nullptr ? cuda::shard_rule{} : *tested);
    return;
  }
  // Weights of another scalar were scaled before they came here.
  const int exponent = weights_.converted() ? 0 : -std::ilogb(scaled_.data().weight_scale);
  rows_->scale_weights(scaled_.data(), exponent);
}

template <class Scalar>
make_passes device_data<Scalar>::seeding() {
  return [this] { return make_device_passes(*rows_, context_, summary_); };
}

template class device_data<float>;
template class device_data<double>;

}  // namespace shoal
