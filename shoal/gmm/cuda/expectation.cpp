#include <shoal/gmm/cuda/expectation.hpp>

#include <algorithm>
#include <utility>

#include <shoal/gmm/cuda/one_component/one_component.hpp>
#include <shoal/gmm/cuda/plain/plain.hpp>
#include <shoal/gmm/cuda/tied/tied.hpp>

namespace shoal::gmm {

template <class Scalar>
expectation_step<Scalar>::expectation_step(cuda::device_rows<Scalar>& rows, const statistics_layout& layout,
                                           std::size_t shard_rows, bool again)
    : rows_(&rows), layout_(layout) {
  const bool whole = shard_rows >= rows.most_shard_rows();
  shards_at_once_ = whole && rows.resident();
  cuda::device_group& group = rows.group();
  bool suits = whole && again, is_one = suits, suits_linear = suits;  // all GPUs
  std::vector<accumulator_shape> shapes;
  for (std::size_t g = 0; g < group.size(); ++g) {
    const cuda::device_scope scope(group[g].device);
    const accumulator_shape shape{layout,
                                  std::min(shard_rows, rows.most_shard_rows()),
                                  group[g].multiprocessors,
                                  group[g].shared_bytes,
                                  rows.weighted(),
                                  group.precision(),
                                  shards_at_once_ ? std::max<std::size_t>(1, rows.shards_of(g)) : 1,
                                  whole ? rows.shards().count() : 1};
    accumulators_.push_back(make_accumulator<Scalar>(shape));
    learning_.push_back(nullptr);
    suits = suits && tied::suits<Scalar>(shape);
    is_one = is_one && one_component::suits(shape);
    suits_linear = suits_linear && tied::suits_linear<Scalar>(shape);
    shapes.push_back(shape);
    statistics_.emplace_back(rows.shards_of(g) * layout.size());
  }
  for (std::size_t g = 0; (suits || is_one || suits_linear) && g < group.size(); ++g) {
    const cuda::device_scope scope(group[g].device);
    if (suits_linear && tied::leaves_to_plain(shapes[g])) {
      accumulators_[g] = plain::make_accumulator<Scalar>(shapes[g]);
    }
    const auto make = is_one         ? one_component::make_accumulator<Scalar>
                      : suits_linear ? tied::make_linear_accumulator<Scalar>
                                     : tied::make_accumulator<Scalar>;
    auto learning = make(shapes[g], rows.shards_of(g), std::move(accumulators_[g]));
    learning_[g] = learning.get();
    accumulators_[g] = std::move(learning);
  }
  learn_rows();
  if (rows.shards().count() == 1) return;
  const cuda::device_scope scope(group[0].device);
  total_.grow(layout.size());
}

template <class Scalar>
void expectation_step<Scalar>::learn_rows() {
  if (learning_[0] == nullptr) return;
  for (std::size_t turn = 0; turn < rows_->turns(); ++turn) {
    rows_->for_each_piece_of(turn, {0, rows_->most_shard_rows()},
                             [&](std::size_t g, std::size_t, const cuda::device_piece<Scalar>& piece) {
                               learning_[g]->learn(turn, piece, rows_->group()[g].compute);
                             });
  }
}

template <class Scalar>
void expectation_step<Scalar>::sum_all_rows(const device_parts<Scalar>& parts) {
  if (shards_at_once_ && accumulators_[0]->keeps_shards_apart()) return sum_shards_at_once(parts);
  const cuda::shard_range all{0, rows_->most_shard_rows()};
  sum_pieces({&all, 1}, true, parts);
}

template <class Scalar>
void expectation_step<Scalar>::sum_rows(std::span<const cuda::shard_range> ranges, const device_parts<Scalar>& parts) {
  sum_pieces(ranges, false, parts);
}

// One GPU's only shard need not be merged by itself, where its lanes lie as the step's end can read them.
template <class Scalar>
void expectation_step<Scalar>::sum_and_maximise(device_parts<Scalar>& parts) {
  if (!parts.takes_lanes() || !shards_at_once_ || rows_->shards().count() != 1) {
    sum_all_rows(parts);
    return parts.maximise(sums());
  }
  cuda::gpu& gpu = rows_->group()[0];
  accumulator<Scalar>& lanes = *accumulators_[0];
  if (learning_[0] != nullptr) learning_[0]->expect_shard(0);
  lanes.clear(parts.parameters(0), gpu.compute);
  if (learning_[0] == nullptr || learning_[0]->needs_rows()) {
    rows_->for_each_piece([&](std::size_t, const cuda::device_piece<Scalar>& piece) {
      lanes.add(piece, parts.parameters(0), gpu.compute);
    });
  }
  if (lanes.lanes().values != nullptr) return parts.maximise(lanes.lanes(), statistics_[0].data());
  lanes.merge(statistics_[0].data(), parts.parameters(0), gpu.compute);
  parts.maximise(sums());
}

// Shards that take turns end one by one, and most multiprocessors wait for the last group of each.
template <class Scalar>
void expectation_step<Scalar>::sum_shards_at_once(const device_parts<Scalar>& parts) {
  cuda::device_group& group = rows_->group();
  std::vector<cuda::group_part<double>> sums(rows_->own_shards());
  rows_->for_each_piece([&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
    accumulators_[g]->clear(parts.parameters(g), group[g].compute);
    accumulators_[g]->add(piece, parts.parameters(g), group[g].compute);
    accumulators_[g]->merge(statistics_[g].data(), parts.parameters(g), group[g].compute);
    for (std::size_t turn = 0; turn < rows_->shards_of(g); ++turn) {
      sums[rows_->first_shard(g) - rows_->first_shard(0) + turn] = {g, statistics_[g].data() + turn * layout_.size()};
    }
  });
  sum_up(sums);
}

template <class Scalar>
void expectation_step<Scalar>::sum_pieces(std::span<const cuda::shard_range> ranges, bool all,
                                          const device_parts<Scalar>& parts) {
  cuda::device_group& group = rows_->group();
  std::vector<cuda::group_part<double>> sums(rows_->own_shards());
  for (std::size_t turn = 0; turn < rows_->turns(); ++turn) {
    const auto for_each_gpu = [&](const auto& call) {
      for (std::size_t g = 0; g < group.size(); ++g) {
        if (turn >= rows_->shards_of(g)) continue;
        const cuda::device_scope scope(group[g].device);
        call(g);
      }
    };
    for_each_gpu([&](std::size_t g) {
      if (learning_[g] != nullptr) learning_[g]->expect_shard(all ? turn : other_rows);
      accumulators_[g]->clear(parts.parameters(g), group[g].compute);
    });
    std::size_t before = 0;  // rows of the ranges that are done, in whole units
    const bool knows_all = all && learning_[0] != nullptr && !learning_[0]->needs_rows();
    for (const cuda::shard_range& range : ranges) {
      if (knows_all) break;
      rows_->for_each_piece_of(turn, range, [&](std::size_t g, std::size_t, cuda::device_piece<Scalar> piece) {
        piece.share_first = before + (piece.share_first - range.first);
        accumulators_[g]->add(piece, parts.parameters(g), group[g].compute);
      });
      before += (range.count + cuda::piece_unit - 1) / cuda::piece_unit * cuda::piece_unit;
    }
    for_each_gpu([&](std::size_t g) {
      double* const mine = statistics_[g].data() + turn * layout_.size();
      accumulators_[g]->merge(mine, parts.parameters(g), group[g].compute);
      sums[rows_->first_shard(g) - rows_->first_shard(0) + turn] = {g, mine};
    });
  }
  sum_up(sums);
}

template <class Scalar>
void expectation_step<Scalar>::sum_up(const std::vector<cuda::group_part<double>>& shards) {
  rows_->sum_on_first(shards, total_.size() == 0 ? statistics_[0].data() : total_.data(), layout_.size());
}

template <class Scalar>
std::vector<double> expectation_step<Scalar>::download(std::size_t count) const {
  const cuda::gpu& first = rows_->group()[0];
  const cuda::device_scope scope(first.device);
  return (total_.size() == 0 ? statistics_[0] : total_).download(count, first.compute);
}

template <class Scalar>
statistics expectation_step<Scalar>::download() const {
  statistics all(layout_);
  const std::vector<double> values = download(layout_.size());
  std::copy(values.begin(), values.end(), all.values().begin());
  return all;
}

template class expectation_step<float>;
template class expectation_step<double>;

template <class Scalar>
statistics expectation_on_device(cuda::device_rows<Scalar>& rows, const model& model) {
  const statistics_layout layout(model.covariance_type, model.components, model.columns);
  device_parts<Scalar> parts(rows.group(), layout, 0);
  parts.prepare(model);
  expectation_step<Scalar> expectation(rows, layout, rows.most_shard_rows(), false);
  expectation.sum_all_rows(parts);
  return expectation.download();
}
template statistics expectation_on_device(cuda::device_rows<float>&, const model&);
template statistics expectation_on_device(cuda::device_rows<double>&, const model&);

}  // namespace shoal::gmm
