#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/gmm/cuda/tensor/chunks.hpp>
#include <shoal/gmm/cuda/tied/linear.hpp>
#include <shoal/gmm/cuda/tied/others.hpp>
#include <shoal/gmm/cuda/tied/row_sums.hpp>
#include <shoal/gmm/cuda/tied/tied.hpp>
#include <shoal/gmm/cuda/tied/tuning.hpp>

namespace shoal::gmm::tied {
namespace {

linear_plan plan_of(const accumulator_shape& shape) {
  return plan_linear(shape.share_rows, shape.layout.columns(), shape.layout.components(), shape.multiprocessors);
}

bool is_taken(const accumulator_shape& shape) {
  const std::size_t columns = shape.layout.columns(), components = shape.layout.components();
  if (shape.weighted || components < 2 || !tensor::has_products()) return false;
  if (shape.layout.type() != covariance_type::tied) return false;
  const linear_plan plan = plan_of(shape);
  return can_plan_linear(plan, columns, components) && linear_shared_bytes(plan) <= shape.shared_bytes;
}

template <class Scalar>
class linear_accumulator final : public learning_accumulator<Scalar> {
 public:
  linear_accumulator(const accumulator_shape& shape, std::size_t shards, std::unique_ptr<accumulator<Scalar>> other)
      : others_(std::move(other), shape.data_shards == 1 && !leaves_to_plain(shape)),
        layout_(shape.layout),
        plan_(plan_of(shape)),
        rows_(shape, shards) {
    const std::size_t slopes = std::size_t{plan_.components()} * plan_.stride(), size = linear_lane_size(layout_);
    const std::size_t lanes = plan_.lanes * size, traces = linear_traces(layout_);
    const std::size_t lines = std::size_t{layout_.components} * layout_.columns;
    numbers_.grow(slopes + layout_.components + lines + traces + lanes + size);
    numbers_.fill_with_zeros();
    double* at = numbers_.data();
    const auto take = [&](std::size_t count) { return std::exchange(at, at + count); };
    memory_.slopes = take(slopes);
    memory_.constants = take(layout_.components);
    memory_.lines = take(lines);
    memory_.traces = take(traces);
    memory_.lanes = take(lanes);
    memory_.sums = take(size);
    // Who works: that of a pass is set back at its end.
    flags_.grow(4);
    const int flags[] = {0, 1, 0, 1};
    cuda::check(cudaMemcpy(flags_.data(), flags, sizeof(flags), cudaMemcpyHostToDevice), "copy to the device");
    memory_.stopped = flags_.data();
    memory_.other_stopped = flags_.data() + 1;
    memory_.leaves = flags_.data() + 2;
    memory_.other_stopped_behind = flags_.data() + 3;
  }

  void learn(std::size_t shard, const cuda::device_piece<Scalar>& piece, cudaStream_t stream) override {
    rows_.add(shard, piece, stream);
  }
  void expect_shard(std::size_t shard) override { shard_ = shard; }

  void clear(const prepared_parameters<Scalar>& parameters, cudaStream_t stream) override {
    pack_linear(layout_, plan_, parameters.in_double, rows_.of(shard_), memory_,
                most_linear_norm(sizeof(Scalar), layout_.columns), parameters.stopped, stream);
    others_.clear(for_others(parameters, memory_.other_stopped), stream);
  }

  void add(const cuda::device_piece<Scalar>& piece, const prepared_parameters<Scalar>& parameters,
           cudaStream_t stream) override {
    add_linear(layout_, plan_, piece, rows_.of(shard_).centre, memory_, parameters.stopped, stream);
    others_.add(piece, for_others(parameters, memory_.other_stopped), stream);
  }

  void merge(double* statistics, const prepared_parameters<Scalar>& parameters, cudaStream_t stream) override {
    others_.merge(statistics, for_others(parameters, memory_.other_stopped),
                  for_others(parameters, memory_.other_stopped_behind), stream, [&](const others_turn& turn) {
                    leave_linear(layout_, plan_, parameters.in_double, rows_.of(shard_), memory_, turn, statistics,
                                 parameters.stopped, stream);
                  });
  }

 private:
  static prepared_parameters<Scalar> for_others(prepared_parameters<Scalar> parameters, const int* stopped) {
    parameters.stopped = stopped;
    return parameters;
  }

  others<Scalar> others_;
  kernel_layout layout_;
  linear_plan plan_;
  row_sums<Scalar> rows_;
  std::size_t shard_ = other_rows;
  cuda::device_buffer<double> numbers_;
  cuda::device_buffer<int> flags_;
  linear_memory memory_;
};

}  // namespace

template <class Scalar>
bool suits_linear(const accumulator_shape& shape) {
  return is_taken(shape) &&
         is_faster_linear(sizeof(Scalar), shape.share_rows, shape.layout.columns(), shape.layout.components());
}
template bool suits_linear<float>(const accumulator_shape&);
template bool suits_linear<double>(const accumulator_shape&);

bool leaves_to_plain(const accumulator_shape& shape) {
  const double columns = static_cast<double>(shape.layout.columns());
  return static_cast<double>(shape.share_rows * shape.layout.components()) * columns * columns <= most_plain_products;
}

template <class Scalar>
std::unique_ptr<learning_accumulator<Scalar>> make_linear_accumulator(const accumulator_shape& shape,
                                                                      std::size_t shards,
                                                                      std::unique_ptr<accumulator<Scalar>> other) {
  if (!is_taken(shape)) {
    throw bad_argument(fmt::format("{} tied components of {} columns are not taken as linear functions of a row",
                                   shape.layout.components(), shape.layout.columns()));
  }
  return std::make_unique<linear_accumulator<Scalar>>(shape, shards, std::move(other));
}
template std::unique_ptr<learning_accumulator<float>> make_linear_accumulator(const accumulator_shape&, std::size_t,
                                                                              std::unique_ptr<accumulator<float>>);
template std::unique_ptr<learning_accumulator<double>> make_linear_accumulator(const accumulator_shape&, std::size_t,
                                                                               std::unique_ptr<accumulator<double>>);

}  // namespace shoal::gmm::tied
