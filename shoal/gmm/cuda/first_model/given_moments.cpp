#include <shoal/gmm/cuda/first_model/given_moments.hpp>

#include <algorithm>
#include <utility>

#include <shoal/gmm/cuda/tensor_float64/tuning.hpp>

namespace shoal::gmm {
namespace {

// Responsibilities that are spread over all components are summed by tensor cores from so many columns on: below, their
// tiles are padding for the most part.
constexpr std::size_t least_product_columns = 17;

bool takes_products(const statistics_layout& layout) {
  return layout.components() <= tensor_float64::most_components && layout.columns() >= least_product_columns;
}

bool has_one_centre(std::span<const double> centres, std::size_t columns) {
  for (std::size_t i = columns; i < centres.size(); ++i) {
    if (centres[i] != centres[i - columns]) return false;
  }
  return true;
}

}  // namespace

template <class Scalar>
given_moments<Scalar>::given_moments(cuda::device_rows<Scalar>& rows, const statistics_layout& layout,
                                     std::span<const double> centres)
    : rows_(&rows),
      layout_(layout),
      places_(layout),
      shape_{layout.components(), layout.columns(), layout.has_matrices(), 1},
      shares_(rows.group().size()) {
  one_centre_ = has_one_centre(centres, shape_.columns);
  for (std::size_t g = 0; g < shares_.size(); ++g) {
    const cuda::gpu& one = rows.group()[g];
    const cuda::device_scope scope(one.device);
    shares_[g].centres.upload(centres, one.compute);
    shares_[g].sums.grow(rows.shards_of(g) * layout.size());
    shares_[g].sums.fill_with_zeros(one.compute);
    one.compute.synchronize();  // the caller's centres have been read
  }
  const cuda::device_scope scope(rows.group()[0].device);
  total_.grow(layout.size());
}

template <class Scalar>
void given_moments<Scalar>::add(const cuda::device_piece<Scalar>& piece, const std::int32_t* labels) {
  rows_->for_each_shard_of(piece, [&](std::size_t s, const cuda::device_piece<Scalar>& part) {
    share& mine = begin(s, way::apart);
    add_labelled(part, labels + (part.first - piece.first), mine.centres.data(), shape_, mine.lanes.data(),
                 rows_->group()[rows_->gpu_of(s)].compute);
  });
}

template <class Scalar>
void given_moments<Scalar>::add(const cuda::device_piece<Scalar>& piece, const random_responsibilities& draw) {
  rows_->for_each_shard_of(piece, [&](std::size_t s, const cuda::device_piece<Scalar>& part) {
    const bool together = one_centre_ && shape_.columns <= most_spread_columns;
    share& mine = begin(s, takes_products(layout_) ? way::products : together ? way::together : way::apart);
    const cudaStream_t stream = rows_->group()[rows_->gpu_of(s)].compute;
    mine.uniform_sums.grow(std::min(rows_->most_piece_rows(), rows_->share_rows(rows_->gpu_of(s))));
    if (way_ != way::products) {
      const auto add = way_ == way::together ? add_random_together<Scalar> : add_random<Scalar>;
      return add(part, draw, mine.centres.data(), shape_, mine.uniform_sums.data(), mine.lanes.data(), stream);
    }
    add_products(
        part, mine,
        [&](const tensor_float64::row_chunk<Scalar>& chunk, std::size_t first, double* values, std::size_t stride) {
          write_random(chunk, part.first + first, shape_.components, draw, mine.uniform_sums.data(), values, stride,
                       stream);
        });
  });
}

template <class Scalar>
void given_moments<Scalar>::add(const cuda::device_piece<Scalar>& piece, const Scalar* responsibilities) {
  rows_->for_each_shard_of(piece, [&](std::size_t s, const cuda::device_piece<Scalar>& part) {
    share& mine = begin(s, takes_products(layout_) ? way::products : way::apart);
    const cudaStream_t stream = rows_->group()[rows_->gpu_of(s)].compute;
    const Scalar* const known = responsibilities + (part.first - piece.first) * shape_.components;
    if (way_ != way::products) return add_known(part, known, mine.centres.data(), shape_, mine.lanes.data(), stream);
    add_products(
        part, mine,
        [&](const tensor_float64::row_chunk<Scalar>& chunk, std::size_t first, double* values, std::size_t stride) {
          write_known(chunk, shape_.components, known + first * shape_.components, values, stride, stream);
        });
  });
}

template <class Scalar>
statistics given_moments<Scalar>::total() {
  std::vector<cuda::group_part<double>> parts;
  for (std::size_t g = 0; g < shares_.size(); ++g) {
    const cuda::device_scope scope(rows_->group()[g].device);
    end_shard(g);
    for (std::size_t s = 0; s < rows_->shards_of(g); ++s) {
      parts.push_back({g, shares_[g].sums.data() + s * layout_.size()});
    }
  }
  rows_->sum_on_first(parts, total_.data(), layout_.size());
  statistics all(layout_);
  const cuda::gpu& first = rows_->group()[0];
  const cuda::device_scope scope(first.device);
  const std::span<double> values = all.values();
  cuda::check(cudaMemcpyAsync(values.data(), total_.data(), values.size_bytes(), cudaMemcpyDeviceToHost, first.compute),
              "copy from the device");
  first.compute.synchronize();
  values[statistics_layout::total_weight()] = 0;
  for (std::size_t k = 0; k < layout_.components(); ++k) {
    values[statistics_layout::total_weight()] += values[layout_.weight(k)];
  }
  return all;
}

// The share whose lanes are those of that shard now.
template <class Scalar>
typename given_moments<Scalar>::share& given_moments<Scalar>::begin(std::size_t shard, way by) {
  const std::size_t g = rows_->gpu_of(shard);
  share& mine = shares_[g];
  if (mine.shard == shard) return mine;
  const cuda::gpu& gpu = rows_->group()[g];
  end_shard(g);
  way_ = by;
  mine.shard = shard;
  if (by != way::products) {
    shape_.lanes = lanes_of(shape_, rows_->most_shard_rows(), by == way::together);
    mine.lanes.grow(shape_.lanes * shape_.lane_size());
    mine.lanes.fill_with_zeros(gpu.compute);
    return mine;
  }
  if (mine.workspace == nullptr) {
    const std::size_t most = rows_->most_shard_rows();
    mine.workspace = std::make_unique<tensor_float64::chunk_workspace>(layout_.components(), most, cuda::piece_unit);
    mine.plan =
        tensor_float64::plan_lanes({layout_, most, gpu.multiprocessors, gpu.shared_bytes},
                                   tensor_float64::moment_blocks<Scalar>(places_), tensor_float64::turns_of_blocks);
    mine.lanes.grow(mine.plan.lanes * mine.plan.size);
    mine.plan.sums = mine.lanes.data();
    mine.stopped.grow(1);
    mine.stopped.fill_with_zeros(gpu.compute);
    // There is no score.
    cuda::check(cudaMemsetAsync(mine.workspace->terms().sums, 0,
                                2 * score_tiles(mine.workspace->rows()) * sizeof(double), gpu.compute),
                "clear device memory");
  }
  mine.lanes.fill_with_zeros(gpu.compute);
  return mine;
}

template <class Scalar>
void given_moments<Scalar>::end_shard(std::size_t g) {
  share& mine = shares_[g];
  if (mine.shard == no_shard) return;
  double* const sums = mine.sums.data() + (mine.shard - rows_->first_shard(g)) * layout_.size();
  const cudaStream_t stream = rows_->group()[g].compute;
  if (way_ == way::products) {
    tensor_float64::merge_lanes(mine.plan, sums, mine.stopped.data(), stream);
  } else {
    merge_given(mine.lanes.data(), shape_, places_, sums, stream);
  }
  mine.shard = no_shard;
}

// write(chunk, its first row in the part, values, stride) enqueues a chunk's responsibilities times weights.
template <class Scalar>
template <class WriteTerms>
void given_moments<Scalar>::add_products(const cuda::device_piece<Scalar>& part, share& mine, const WriteTerms& write) {
  const cudaStream_t stream = rows_->group()[rows_->gpu_of(mine.shard)].compute;
  prepared_parameters<Scalar> parameters;
  parameters.in_double.centres = mine.centres.data();
  parameters.stopped = mine.stopped.data();
  const tensor_float64::row_terms terms = mine.workspace->terms();
  mine.workspace->for_each_chunk(part, layout_.columns(),
                                 [&](const tensor_float64::row_chunk<Scalar>& chunk, std::size_t first) {
                                   write(chunk, first, terms.values, terms.stride);
                                   tensor_float64::launch_moments(places_, chunk, parameters, terms, mine.plan, stream);
                                 });
}

template class given_moments<float>;
template class given_moments<double>;

}  // namespace shoal::gmm
