#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/gmm/cuda/one_component/kernels.hpp>
#include <shoal/gmm/cuda/one_component/one_component.hpp>
#include <shoal/gmm/cuda/one_component/tuning.hpp>
#include <shoal/gmm/cuda/tied/row_sums.hpp>

namespace shoal::gmm::one_component {
namespace {

// Rows without weight may be anywhere, and the centre of what is learnt is the mean of some rows.
bool is_taken(const accumulator_shape& shape) {
  return shape.layout.components() == 1 && shape.layout.has_matrices() && shape.layout.columns() <= most_columns &&
         !shape.weighted && tensor_float64::suits(shape);
}

template <class Scalar>
class one_accumulator final : public learning_accumulator<Scalar> {
 public:
  one_accumulator(const accumulator_shape& shape, std::size_t shards, std::unique_ptr<accumulator<Scalar>> other)
      : other_(std::move(other)), layout_(shape.layout), rows_(shape, shards), scores_(scores_size(layout_)) {}

  void learn(std::size_t shard, const cuda::device_piece<Scalar>& piece, cudaStream_t stream) override {
    rows_.add(shard, piece, stream);
  }
  void expect_shard(std::size_t shard) override { shard_ = shard; }
  bool needs_rows() const override { return false; }

  void clear(const prepared_parameters<Scalar>& parameters, cudaStream_t stream) override {
    if (!knows()) other_->clear(parameters, stream);
  }
  void add(const cuda::device_piece<Scalar>& piece, const prepared_parameters<Scalar>& parameters,
           cudaStream_t stream) override {
    if (!knows()) other_->add(piece, parameters, stream);
  }
  void merge(double* statistics, const prepared_parameters<Scalar>& parameters, cudaStream_t stream) override {
    if (!knows()) return other_->merge(statistics, parameters, stream);
    leave(layout_, parameters.in_double, rows_.of(shard_), scores_.data(), statistics, parameters.stopped, stream);
  }

 private:
  bool knows() const { return rows_.of(shard_).centre != nullptr; }

  std::unique_ptr<accumulator<Scalar>> other_;
  kernel_layout layout_;
  tied::row_sums<Scalar> rows_;
  std::size_t shard_ = other_rows;
  cuda::device_buffer<double> scores_;
};

}  // namespace

bool suits(const accumulator_shape& shape) {
  const auto columns = static_cast<double>(shape.layout.columns());
  return is_taken(shape) && static_cast<double>(shape.share_rows) * columns * columns >= least_products;
}

template <class Scalar>
std::unique_ptr<learning_accumulator<Scalar>> make_accumulator(const accumulator_shape& shape, std::size_t shards,
                                                               std::unique_ptr<accumulator<Scalar>> other) {
  if (is_taken(shape)) return std::make_unique<one_accumulator<Scalar>>(shape, shards, std::move(other));
  throw bad_argument(fmt::format("sums of {} components of {} columns are not known from the rows alone",
                                 shape.layout.components(), shape.layout.columns()));
}
template std::unique_ptr<learning_accumulator<float>> make_accumulator(const accumulator_shape&, std::size_t,
                                                                       std::unique_ptr<accumulator<float>>);
template std::unique_ptr<learning_accumulator<double>> make_accumulator(const accumulator_shape&, std::size_t,
                                                                        std::unique_ptr<accumulator<double>>);

}  // namespace shoal::gmm::one_component
