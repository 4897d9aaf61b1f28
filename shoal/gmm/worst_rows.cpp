#include <shoal/gmm/worst_rows.hpp>

#include <algorithm>

#include <shoal/algebra/adapt.hpp>
#include <shoal/algebra/instances/top_k.hpp>
#include <shoal/execution/rank_rows.hpp>
#include <shoal/gmm/accumulate.hpp>

namespace shoal::gmm {
namespace {

using ranking = algebra::complete<algebra::top_k<double>>;

template <class Scalar>
struct ranking_body {
  struct scratch {
    workspace<Scalar> memory;
    aligned_buffer<Scalar> log_density;
  };
  const parameters<Scalar>* components;
  const ranking* order;

  void operator()(const row_block<Scalar>& block, const team_member& member, scratch& memory,
                  ranking::value_type& into) const {
    if (member.rank() != 0) return;
    memory.log_density.grow(block.rows.rows());
    score ignored;
    predict_rows(*components, block, memory.memory, prediction<Scalar>{nullptr, nullptr, memory.log_density.data()},
                 ignored);
    for (std::size_t i = 0; i < block.rows.rows(); ++i) {
      if (block.weights != nullptr && !(block.weights[i] > 0)) continue;
      order->insert(into, {-static_cast<double>(memory.log_density[i]), block.first + i});
    }
  }
};

}  // namespace

template <class Scalar>
std::vector<std::vector<double>> worst_rows(const fold_context& context, const weighted_rows<Scalar>& data,
                                            const parameters<Scalar>& components, std::size_t count) {
  const ranking order(algebra::top_k<double>{count});
  const auto worst = fold<Scalar>(context, data, order, ranking_body<Scalar>{&components, &order});
  std::vector<std::vector<double>> rows;
  aligned_buffer<Scalar> buffer;
  const fetched_rows<Scalar> fetched(context, *data.rows);
  for (const auto& entry : worst) {
    const auto row = fetched.read(entry.index, 1, buffer);
    rows.emplace_back(row.row(0), row.row(0) + row.columns());
  }
  return rows;
}

template std::vector<std::vector<double>> worst_rows(const fold_context&, const weighted_rows<float>&,
                                                     const parameters<float>&, std::size_t);
template std::vector<std::vector<double>> worst_rows(const fold_context&, const weighted_rows<double>&,
                                                     const parameters<double>&, std::size_t);

}  // namespace shoal::gmm
