#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/gmm/cuda/few_columns/few_columns.hpp>
#include <shoal/gmm/cuda/few_columns/kernels.hpp>
#include <shoal/gmm/cuda/tensor/chunks.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/tensor_diagonal.hpp>
#include <shoal/gmm/cuda/tensor_float64/tensor_float64.hpp>
#include <shoal/gmm/cuda/tied/kernels.hpp>
#include <shoal/gmm/cuda/tied/others.hpp>
#include <shoal/gmm/cuda/tied/row_sums.hpp>
#include <shoal/gmm/cuda/tied/tied.hpp>
#include <shoal/gmm/cuda/tied/tuning.hpp>

namespace shoal::gmm::tied {
namespace {

// Does nothing: tied_accumulator knows whose turn it is.
class nobody final : public accumulator<float> {
 public:
  void clear(const prepared_parameters<float>&, cudaStream_t) override {}
  void add(const cuda::device_piece<float>&, const prepared_parameters<float>&, cudaStream_t) override {}
  void merge(double*, const prepared_parameters<float>&, cudaStream_t) override {}
};

// Which kernels for mixtures without matrices take it.
enum class spherical_room { few_columns, registers, terms, float64_products, products };

// Where kernels have no columns' units in common the mixture is a diagonal one.
accumulator_shape shape_without_matrix(const accumulator_shape& shape, covariance_type type, precision least) {
  accumulator_shape changed = shape;
  changed.layout = statistics_layout(type, shape.layout.components(), shape.layout.columns());
  changed.precision = least;
  changed.shards = changed.data_shards = 1;
  return changed;
}

// Float16 terms are multiplied by tensor_float64 up to so many components, by tensor_diagonal beyond. The latter takes
// no more than narrow_columns: beyond them float64 products do.
template <class Scalar>
spherical_room room_of(const accumulator_shape& shape) {
  const std::size_t columns = shape.layout.columns(), components = shape.layout.components();
  if (sizeof(Scalar) == 8) return spherical_room::few_columns;
  const bool few = columns <= few_columns::most_columns;
  if (few_columns::suits_registers(shape_without_matrix(shape, covariance_type::diag, precision::float32))) {
    return spherical_room::registers;
  }
  if (few && takes_terms(shape.precision, shape.share_rows, components)) return spherical_room::terms;
  if (few && components <= most_product_components) return spherical_room::few_columns;
  return (few || components > most_components) && columns <= narrow_columns ? spherical_room::products
                                                                            : spherical_room::float64_products;
}

// Where a row and a component are a handful of instructions, products with all digits show. Elsewhere sums keep
// float32's digits whatever was asked for: products are the least of the time.
template <class Scalar>
accumulator_shape spherical_shape(const accumulator_shape& shape) {
  const spherical_room room = room_of<Scalar>(shape);
  const bool wide = shape.layout.columns() > narrow_columns && shape.layout.components() > most_wide_components;
  const bool diagonal = room == spherical_room::registers || wide;
  return shape_without_matrix(shape, diagonal ? covariance_type::diag : covariance_type::spherical,
                              room == spherical_room::terms ? shape.precision : precision::float32);
}

// float64 rows by the kernels for few columns alone: others multiply with a matrix as fast as without.
template <class Scalar>
bool is_taken(const accumulator_shape& shape) {
  if (shape.layout.type() != covariance_type::tied || shape.weighted || !tensor::has_products()) return false;
  const accumulator_shape spherical = spherical_shape<Scalar>(shape);
  if (sizeof(Scalar) == 8) {
    return shape.layout.columns() <= few_columns::most_columns && few_columns::suits<Scalar>(spherical);
  }
  switch (room_of<Scalar>(shape)) {
    case spherical_room::few_columns:
    case spherical_room::registers:
    case spherical_room::terms:
      return true;
    case spherical_room::products:
      return tensor_diagonal::suits(spherical);
    case spherical_room::float64_products:
      return shape.layout.columns() <= most_columns && tensor_float64::suits(spherical);
  }
  return false;
}

template <class Scalar>
std::unique_ptr<accumulator<Scalar>> make_spherical(const accumulator_shape& shape, spherical_room) {
  return few_columns::make_accumulator<Scalar>(shape);
}
template <>
std::unique_ptr<accumulator<float>> make_spherical(const accumulator_shape& shape, spherical_room room) {
  switch (room) {
    case spherical_room::few_columns:
      return few_columns::make_product_accumulator(shape, std::make_unique<nobody>());
    case spherical_room::registers:
      return few_columns::make_register_accumulator(shape);
    case spherical_room::terms:
      return few_columns::make_term_product_accumulator(shape, std::make_unique<nobody>());
    case spherical_room::products:
      return tensor_diagonal::make_accumulator(shape);
    case spherical_room::float64_products:
      return tensor_float64::make_accumulator<float>(shape);
  }
  throw bad_argument("unknown kernels for spherical mixtures");
}

template <class Scalar>
class tied_accumulator final : public learning_accumulator<Scalar> {
 public:
  tied_accumulator(const accumulator_shape& shape, std::size_t shards, std::unique_ptr<accumulator<Scalar>> other)
      : others_(std::move(other), shape.data_shards == 1),
        spherical_(make_spherical<Scalar>(spherical_shape<Scalar>(shape), room_of<Scalar>(shape))),
        layout_(shape.layout),
        sums_layout_(spherical_shape<Scalar>(shape).layout),
        rows_(shape, shards),
        numbers_(3 * std::size_t{layout_.components} * layout_.columns + layout_.components + 2 * layout_.columns),
        sums_(spherical_shape<Scalar>(shape).layout.size()),
        stopped_(2) {
    const spherical_room room = room_of<Scalar>(shape);
    if (room == spherical_room::products || room == spherical_room::registers) make_room_in_float();
    const std::size_t d = layout_.columns, all = layout_.components * d;
    double* at = numbers_.data();
    const auto take = [&](std::size_t size) { return std::exchange(at, at + size); };
    mixture_.centres = take(all);
    mixture_.offsets = take(all);
    mixture_.factors = take(all);
    mixture_.log_constants = take(layout_.components);
    mixture_.origin = take(d);
    mixture_.norms = take(d);
    mixture_.own_stopped = stopped_.data();
    mixture_.other_stopped = stopped_.data() + 1;
    const leaving_sizes sizes = sizes_of_leaving(layout_);
    scores_.grow(sizes.scores);
    scores_.fill_with_zeros();
    parts_.grow(sizes.parts);
    came_.grow(sizes.came);
    came_.fill_with_zeros();
  }

  void learn(std::size_t shard, const cuda::device_piece<Scalar>& piece, cudaStream_t stream) override {
    rows_.add(shard, piece, stream);
  }
  void expect_shard(std::size_t shard) override { shard_ = shard; }

  void clear(const prepared_parameters<Scalar>& parameters, cudaStream_t stream) override {
    pack(layout_, parameters.in_double, rows_.of(shard_), mixture_, parameters.stopped, stream);
    spherical_->clear(as_spherical(parameters), stream);
    others_.clear(unless_spherical(parameters), stream);
  }

  void add(const cuda::device_piece<Scalar>& piece, const prepared_parameters<Scalar>& parameters,
           cudaStream_t stream) override {
    spherical_->add(piece, as_spherical(parameters), stream);
    others_.add(piece, unless_spherical(parameters), stream);
  }

  void merge(double* statistics, const prepared_parameters<Scalar>& parameters, cudaStream_t stream) override {
    spherical_->merge(sums_.data(), as_spherical(parameters), stream);
    const prepared_parameters<Scalar> for_others = unless_spherical(parameters);
    others_.merge(statistics, for_others, for_others, stream, [&](const others_turn& turn) {
      leave(layout_, parameters.in_double, rows_.of(shard_), mixture_, sums_layout_, sums_.data(),
            {scores_.data(), parts_.data(), came_.data()}, turn, statistics, stream);
    });
  }

 private:
  void make_room_in_float() {
    const std::size_t all = std::size_t{layout_.components} * layout_.columns;
    float_numbers_.grow(3 * all + layout_.components);
    float* at = float_numbers_.data();
    const auto take = [&](std::size_t size) { return std::exchange(at, at + size); };
    mixture_.in_float = {take(all), take(all), take(all), take(layout_.components)};
  }

  // Most kernels for spherical mixtures of float32 rows read components in float64 alone, but for log_shift.
  prepared_parameters<Scalar> as_spherical(const prepared_parameters<Scalar>& parameters) const {
    prepared_parameters<Scalar> spherical;
    spherical.in_double = {mixture_.centres, mixture_.offsets, mixture_.factors, mixture_.log_constants,
                           parameters.in_double.log_shift};
    if constexpr (sizeof(Scalar) == 8) {
      spherical.packed = spherical.in_double;
    } else {
      const component_arrays<float>& in_float = mixture_.in_float;
      spherical.packed = {in_float.centres, in_float.offsets, in_float.factors, in_float.log_constants,
                          parameters.in_double.log_shift};
    }
    spherical.stopped = mixture_.own_stopped;
    return spherical;
  }
  prepared_parameters<Scalar> unless_spherical(prepared_parameters<Scalar> parameters) const {
    parameters.stopped = mixture_.other_stopped;
    return parameters;
  }

  others<Scalar> others_;
  std::unique_ptr<accumulator<Scalar>> spherical_;
  kernel_layout layout_, sums_layout_;
  row_sums<Scalar> rows_;
  std::size_t shard_ = other_rows;
  cuda::device_buffer<double> numbers_, sums_, scores_, parts_;
  cuda::device_buffer<unsigned> came_;
  cuda::device_buffer<float> float_numbers_;
  cuda::device_buffer<int> stopped_;
  spherical_mixture mixture_;
};

}  // namespace

template <class Scalar>
bool suits(const accumulator_shape& shape) {
  const bool coarse = sizeof(Scalar) == 4 && shape.precision != precision::float32;
  if (coarse && reads_rows_once(shape.layout.columns(), shape.layout.components())) return false;
  return is_taken<Scalar>(shape) && is_faster(sizeof(Scalar), shape.precision, shape.share_rows, shape.layout.columns(),
                                              shape.layout.components());
}
template bool suits<float>(const accumulator_shape&);
template bool suits<double>(const accumulator_shape&);

template <class Scalar>
std::unique_ptr<learning_accumulator<Scalar>> make_accumulator(const accumulator_shape& shape, std::size_t shards,
                                                               std::unique_ptr<accumulator<Scalar>> other) {
  if (is_taken<Scalar>(shape)) return std::make_unique<tied_accumulator<Scalar>>(shape, shards, std::move(other));
  throw bad_argument(fmt::format("{} tied components of {} columns are not taken as spherical ones",
                                 shape.layout.components(), shape.layout.columns()));
}
template std::unique_ptr<learning_accumulator<float>> make_accumulator(const accumulator_shape&, std::size_t,
                                                                       std::unique_ptr<accumulator<float>>);
template std::unique_ptr<learning_accumulator<double>> make_accumulator(const accumulator_shape&, std::size_t,
                                                                        std::unique_ptr<accumulator<double>>);

}  // namespace shoal::gmm::tied
