// The distance of every row to every unit.
#include <algorithm>
#include <memory>
#include <vector>

#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/som/codebook_index.hpp>
#include <shoal/som/model.hpp>
#include <shoal/som/search.hpp>
#include <shoal/som/som.hpp>

namespace shoal::som {
namespace {

struct nothing {};

struct nothing_monoid {
  using value_type = nothing;
  nothing identity() const { return {}; }
  void reset(nothing&) const {}
  void combine_into(nothing&, const nothing&) const {}
  std::size_t bytes() const { return sizeof(nothing); }
};

template <class Scalar>
struct distances_body {
  struct scratch {};

  const codebook_index<Scalar>* index = nullptr;
  Scalar* out = nullptr;

  void operator()(const row_block<Scalar>& block, const team_member& member, scratch&, nothing&) const {
    if (member.rank() != 0) return;
    for (std::size_t i = 0; i < block.rows.rows(); ++i) {
      Scalar* const written = out + (block.first + i) * index->units();
      defined_distances(*index, block.rows.row(i), written);
    }
  }
};

template <class Scalar>
void measure(const model& model, const row_source<Scalar>& rows, Scalar* out, std::size_t threads,
             std::size_t memory_limit, const control& control) {
  check_model(model, rows.columns());
  const std::unique_ptr<executor> workers = make_executor(threads);
  const fold_context context{workers.get(), memory_limit, control.stop};
  check_data<Scalar>(context, rows, nullptr);
  codebook_index<Scalar> index;
  index.set(model.metric, model.codebook, model.units(), model.columns);
  fold<Scalar>(context, weighted_rows<Scalar>{&rows}, nothing_monoid{}, distances_body<Scalar>{&index, out});
}

}  // namespace

void distances(const model& model, const row_source<float>& rows, float* distances, std::size_t threads,
               std::size_t memory_limit, const control& control) {
  measure(model, rows, distances, threads, memory_limit, control);
}

void distances(const model& model, const row_source<double>& rows, double* distances, std::size_t threads,
               std::size_t memory_limit, const control& control) {
  measure(model, rows, distances, threads, memory_limit, control);
}

}  // namespace shoal::som
