// A mixture's turn on tensor cores while its components lie near each other, and another room's where they do not.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/cuda/few_columns/lanes.hpp>
#include <shoal/gmm/cuda/few_columns/products.hpp>

namespace shoal::gmm::few_columns {

/// Launches both rooms' kernels. Packing the mixture, void(const prepared_parameters<float>&, const product_mixture&,
/// cudaStream_t), decides on the device which of them leave the rows alone. Arguments: what lanes_accumulator takes,
/// with a product_mixture.
template <class Arguments, class Pack>
class product_turns final : public accumulator<float> {
 public:
  /// Operands of `tiles` tiles of components in `steps` steps of features.
  product_turns(const accumulator_shape& shape, const block_launch& launch, const group_plan& groups, std::size_t tiles,
                std::size_t steps, const Arguments& arguments, Pack pack, std::unique_ptr<accumulator<float>> other)
      : other_(std::move(other)),
        pack_(std::move(pack)),
        frame_(most_columns),
        constants_(tiles * product_components),
        operands_(tiles * steps * 512),
        stopped_(2),
        mixture_{frame_.data(), constants_.data(), operands_.data(), stopped_.data(), stopped_.data() + 1},
        own_(shape, launch, groups, with_mixture(arguments)) {}

  bool keeps_shards_apart() const override { return other_->keeps_shards_apart(); }

  void clear(const prepared_parameters<float>& parameters, cudaStream_t stream) override {
    pack_(parameters, mixture_, stream);
    own_.clear(unless(mixture_.own_stopped, parameters), stream);
    other_->clear(unless(mixture_.other_stopped, parameters), stream);
  }

  void add(const cuda::device_piece<float>& piece, const prepared_parameters<float>& parameters,
           cudaStream_t stream) override {
    own_.add(piece, unless(mixture_.own_stopped, parameters), stream);
    other_->add(piece, unless(mixture_.other_stopped, parameters), stream);
  }

  void merge(double* statistics, const prepared_parameters<float>& parameters, cudaStream_t stream) override {
    own_.merge(statistics, unless(mixture_.own_stopped, parameters), stream);
    other_->merge(statistics, unless(mixture_.other_stopped, parameters), stream);
  }

 private:
  static prepared_parameters<float> unless(const int* stopped, prepared_parameters<float> parameters) {
    parameters.stopped = stopped;
    return parameters;
  }
  Arguments with_mixture(Arguments arguments) const {
    arguments.mixture = mixture_;
    return arguments;
  }

  std::unique_ptr<accumulator<float>> other_;
  Pack pack_;
  cuda::device_buffer<product_column> frame_;
  cuda::device_buffer<product_constants> constants_;
  cuda::device_buffer<std::uint16_t> operands_;
  cuda::device_buffer<int> stopped_;
  product_mixture mixture_;
  lanes_accumulator<float, Arguments> own_;
};

}  // namespace shoal::gmm::few_columns
