#include <shoal/gmm/cuda/first_model/given_moments.hpp>

#include <algorithm>
#include <utility>

namespace shoal::gmm {
namespace {

// One component's sums as they came from the devices, into the place that the layout gives them.
void add_component(const double* sums, const given_shape& shape, std::size_t k, statistics& into) {
  const statistics_layout& layout = into.layout();
  const std::size_t d = shape.columns;
  const std::span<double> values = into.values();
  values[statistics_layout::total_weight()] += sums[0];
  values[layout.weight(k)] += sums[0];
  const double* const first = sums + 1;
  for (std::size_t j = 0; j < d; ++j) values[layout.first(k, j)] += first[j];
  const double* second = first + d;
  for (std::size_t i = 0; i < d; ++i) {
    if (!shape.pairs) values[layout.second(k, i, i)] += *second++;
    for (std::size_t j = i; shape.pairs && j < d; ++j) values[layout.second(k, i, j)] += *second++;
  }
}

}  // namespace

template <class Scalar>
double* given_moments<Scalar>::lanes_of(std::size_t shard) {
  return lanes_[shard - rows_->first_shard(0)].data();
}

template <class Scalar>
given_moments<Scalar>::given_moments(const cuda::device_rows<Scalar>& rows, const statistics_layout& layout,
                                     std::span<const double> centres)
    : rows_(&rows),
      layout_(layout),
      shape_{layout.components(), layout.columns(), layout.has_matrices(), 1},
      shares_(rows.group().size()) {
  shape_.lanes = std::clamp<std::size_t>(lane_memory / (shape_.lane_size() * sizeof(double)), 1, usual_lanes);
  for (std::size_t g = 0; g < shares_.size(); ++g) {
    const cuda::gpu& one = rows.group()[g];
    const cuda::device_scope scope(one.device);
    shares_[g].centres.upload(centres, one.compute);
    one.compute.synchronize();  // the caller's centres have been read
  }
  for (std::size_t s = 0; s < rows.own_shards(); ++s) {
    const cuda::gpu& owner = rows.group()[rows.gpu_of(rows.first_shard(0) + s)];
    const cuda::device_scope scope(owner.device);
    lanes_.emplace_back(shape_.lanes * shape_.lane_size());
    lanes_[s].fill_with_zeros(owner.compute);
  }
}

template <class Scalar>
void given_moments<Scalar>::add(const cuda::device_piece<Scalar>& piece, const std::int32_t* labels) {
  rows_->for_each_shard_of(piece, [&](std::size_t s, const cuda::device_piece<Scalar>& part) {
    const std::size_t g = rows_->gpu_of(s);
    add_labelled(part, labels + (part.first - piece.first), shares_[g].centres.data(), shape_, lanes_of(s),
                 rows_->group()[g].compute);
  });
}

template <class Scalar>
void given_moments<Scalar>::add(const cuda::device_piece<Scalar>& piece, const random_responsibilities& draw) {
  rows_->for_each_shard_of(piece, [&](std::size_t s, const cuda::device_piece<Scalar>& part) {
    const std::size_t g = rows_->gpu_of(s);
    share& mine = shares_[g];
    mine.uniform_sums.grow(std::min(rows_->most_piece_rows(), rows_->share_rows(g)));
    add_random(part, draw, mine.centres.data(), shape_, mine.uniform_sums.data(), lanes_of(s),
               rows_->group()[g].compute);
  });
}

template <class Scalar>
void given_moments<Scalar>::add(const cuda::device_piece<Scalar>& piece, const Scalar* responsibilities) {
  rows_->for_each_shard_of(piece, [&](std::size_t s, const cuda::device_piece<Scalar>& part) {
    const std::size_t g = rows_->gpu_of(s);
    add_known(part, responsibilities + (part.first - piece.first) * shape_.components, shares_[g].centres.data(),
              shape_, lanes_of(s), rows_->group()[g].compute);
  });
}

template <class Scalar>
statistics given_moments<Scalar>::total() const {
  statistics all(layout_);
  std::vector<double> own;
  for (std::size_t s = 0; s < lanes_.size(); ++s) {
    const cuda::gpu& owner = rows_->group()[rows_->gpu_of(rows_->first_shard(0) + s)];
    const cuda::device_scope scope(owner.device);
    const std::vector<double> of_shard = lanes_[s].download(shape_.lanes * shape_.lane_size(), owner.compute);
    own.insert(own.end(), of_shard.begin(), of_shard.end());
  }
  const std::vector<double> lanes = rows_->gathered(std::move(own));
  for (std::size_t at = 0; at < lanes.size(); at += shape_.lane_size()) {
    for (std::size_t k = 0; k < shape_.components; ++k) {
      add_component(lanes.data() + at + k * shape_.component_size(), shape_, k, all);
    }
  }
  return all;
}

template class given_moments<float>;
template class given_moments<double>;

}  // namespace shoal::gmm
