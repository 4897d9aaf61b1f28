// Online training on the host (Kohonen 1982): every row pulls its best-matching unit and the units around it.
#pragma once

#include <cstddef>
#include <vector>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/estimation/data_check.hpp>
#include <shoal/som/host_training.hpp>
#include <shoal/som/online_step.hpp>
#include <shoal/som/options.hpp>

namespace shoal::som {

/// A step depends on the row before it, so nothing is folded: one thread does them all. In each epoch the blocks of
/// block_rows rows come in an order that the seed gives, and the rows of each block likewise, so that rows are read
/// block by block wherever they come from, and the bits do not depend on it. Radius and rate take a step of their decay
/// with every block. A row of weight w counts as w visits: 1 − (1 − rate·h)^w of the way.
template <class Scalar>
class online_training final : public host_training<Scalar> {
 public:
  online_training(const fold_context& context, const weighted_rows<Scalar>& data, const data_summary& summary,
                  const options& options, typename host_training<Scalar>::seed_function seed);

  std::vector<step_record> advance(std::size_t most_steps) override;

 private:
  struct block_place {
    std::size_t block;  // whose rows come
    std::size_t turn;   // how many blocks of this epoch came before
  };
  double train_block(row_reader<Scalar>& reader, const block_place& place);
  void set_table(std::size_t turn);
  void pull(const double* row, std::size_t unit, double weight);

  std::size_t blocks_;
  aligned_buffer<double> turned_;
  turned_codebook turned_view_;
  std::vector<double> table_;  // [height][width] rate·h by the offset of two units
  std::size_t reach_ = 0;      // row offsets from here on are all zero
  std::vector<double> pulls_;  // [units + turned_unit]
};
extern template class online_training<float>;
extern template class online_training<double>;

}  // namespace shoal::som
