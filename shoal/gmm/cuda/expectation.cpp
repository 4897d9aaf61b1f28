#include <shoal/gmm/cuda/expectation.hpp>

#include <algorithm>

namespace shoal::gmm {

template <class Scalar>
expectation_step<Scalar>::expectation_step(cuda::device_rows<Scalar>& rows, const statistics_layout& layout,
                                           std::size_t share_rows)
    : rows_(&rows), layout_(layout) {
  cuda::device_group& group = rows.group();
  for (std::size_t g = 0; g < group.size(); ++g) {
    const cuda::device_scope scope(group[g].device);
    accumulators_.push_back(
        make_accumulator<Scalar>({layout, std::min(share_rows, rows.share_rows(g)), group[g].multiprocessors,
                                  group[g].shared_bytes, rows.weighted(), group.precision()}));
    statistics_.emplace_back(layout.size());
  }
}

template <class Scalar>
void expectation_step<Scalar>::sum_all_rows(const device_parts<Scalar>& parts) {
  const cuda::share_range all{0, rows_->share_rows(0)};  // the first share is the largest
  sum_rows({&all, 1}, parts);
}

template <class Scalar>
void expectation_step<Scalar>::sum_rows(std::span<const cuda::share_range> ranges, const device_parts<Scalar>& parts) {
  cuda::device_group& group = rows_->group();
  for (std::size_t g = 0; g < group.size(); ++g) {
    const cuda::device_scope scope(group[g].device);
    accumulators_[g]->clear(parts.parameters(g), group[g].compute);
  }
  std::size_t before = 0;  // rows of the ranges that are done, in whole units
  for (const cuda::share_range& range : ranges) {
    rows_->for_each_piece_of(range, [&](std::size_t g, cuda::device_piece<Scalar> piece) {
      piece.share_first = before + (piece.share_first - range.first);
      accumulators_[g]->add(piece, parts.parameters(g), group[g].compute);
    });
    before += (range.count + cuda::piece_unit - 1) / cuda::piece_unit * cuda::piece_unit;
  }
  std::vector<double*> sums;
  for (std::size_t g = 0; g < group.size(); ++g) {
    const cuda::device_scope scope(group[g].device);
    sums.push_back(statistics_[g].data());
    accumulators_[g]->merge(sums[g], parts.parameters(g), group[g].compute);
  }
  group.sum_on_first(sums, sums[0], layout_.size());
}

template <class Scalar>
std::vector<double> expectation_step<Scalar>::download(std::size_t count) const {
  const cuda::gpu& first = rows_->group()[0];
  const cuda::device_scope scope(first.device);
  return statistics_[0].download(count, first.compute);
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
  expectation_step<Scalar> expectation(rows, layout);
  expectation.sum_all_rows(parts);
  return expectation.download();
}
template statistics expectation_on_device(cuda::device_rows<float>&, const model&);
template statistics expectation_on_device(cuda::device_rows<double>&, const model&);

}  // namespace shoal::gmm
