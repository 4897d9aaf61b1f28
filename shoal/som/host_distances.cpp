#include <shoal/som/host_distances.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include <shoal/som/codebook_index.hpp>
#include <shoal/som/distance.hpp>

namespace shoal::som {
namespace {

// Calls add(j, rank, w) for every column and unit; units lie side by side, so that one row meets many of them at once.
template <class Add>
void for_each_weight(const std::vector<double>& by_column, std::size_t columns, std::vector<double>& ranks,
                     const Add& add) {
  const std::size_t units = ranks.size();
  for (std::size_t j = 0; j < columns; ++j) {
    const double* const weights = by_column.data() + j * units;
    for (std::size_t u = 0; u < units; ++u) add(j, ranks[u], weights[u]);
  }
}

template <class Scalar>
void rank_units(metric metric, const std::vector<double>& by_column, const Scalar* row, std::size_t columns,
                std::vector<double>& ranks) {
  const auto x = [row](std::size_t j) { return static_cast<double>(row[j]); };
  switch (metric) {
    case metric::euclidean:
      return for_each_weight(by_column, columns, ranks, [x](std::size_t j, double& rank, double w) {
        const double difference = x(j) - w;
        rank += difference * difference;
      });
    case metric::taxicab:
      return for_each_weight(by_column, columns, ranks,
                             [x](std::size_t j, double& rank, double w) { rank += std::abs(x(j) - w); });
    case metric::cosine:
      return for_each_weight(by_column, columns, ranks,
                             [x](std::size_t j, double& rank, double w) { rank -= x(j) * w; });
    case metric::chebyshev:
      return for_each_weight(by_column, columns, ranks,
                             [x](std::size_t j, double& rank, double w) { rank = std::max(rank, std::abs(x(j) - w)); });
  }
}

template <class Scalar>
struct distances_body {
  using scratch = std::vector<double>;

  som::metric metric;
  const std::vector<double>* by_column = nullptr;  // [columns][units]; for cosine w/‖w‖
  std::size_t units = 0;
  Scalar* out = nullptr;

  void operator()(const row_block<Scalar>& block, const team_member& member, scratch& ranks, nothing&) const {
    if (member.rank() != 0) return;
    const std::size_t columns = block.rows.columns();
    for (std::size_t i = 0; i < block.rows.rows(); ++i) {
      const Scalar* const row = block.rows.row(i);
      ranks.assign(units, 0.0);
      rank_units(metric, *by_column, row, columns, ranks);
      const double row_length = metric == metric::cosine ? length(row, columns) : 0.0;
      Scalar* const written = out + (block.first + i) * units;
      for (std::size_t u = 0; u < units; ++u) {
        written[u] = static_cast<Scalar>(distance_of_rank(metric, ranks[u], row_length));
      }
    }
  }
};

}  // namespace

template <class Scalar>
void distances_on_host(const fold_context& context, const row_source<Scalar>& rows, const model& model,
                       Scalar* distances) {
  codebook_index<Scalar> index;
  index.set(model.metric, model.codebook, model.units(), model.columns);
  std::vector<double> by_column(model.codebook.size());
  for (std::size_t u = 0; u < model.units(); ++u) {
    for (std::size_t j = 0; j < model.columns; ++j) by_column[j * model.units() + u] = index.exact(u)[j];
  }
  fold<Scalar>(context, weighted_rows<Scalar>{&rows}, nothing_monoid{},
               distances_body<Scalar>{model.metric, &by_column, model.units(), distances});
}
template void distances_on_host(const fold_context&, const row_source<float>&, const model&, float*);
template void distances_on_host(const fold_context&, const row_source<double>&, const model&, double*);

}  // namespace shoal::som
