// Linear assignment and the metrics for Python.
#include <cstdint>
#include <string>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <shoal/assignment/assignment.hpp>
#include <shoal/core/error.hpp>
#include <shoal/metrics/metrics.hpp>

#include "module.hpp"

namespace shoal::python {
namespace {

template <class T>
using matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using labels = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
matrix_view<const T> view_of(const matrix<T>& values) {
  return {values.data(), values.shape(0), values.shape(1)};
}

std::span<const std::int32_t> span_of(const labels& values) { return {values.data(), values.shape(0)}; }

// -1 in place of none.
std::vector<std::int64_t> numbered(const std::vector<std::size_t>& places) {
  std::vector<std::int64_t> out(places.size());
  for (std::size_t n = 0; n < places.size(); ++n)
    out[n] = places[n] == assignment::unassigned ? -1 : static_cast<std::int64_t>(places[n]);
  return out;
}

nb::dict described(assignment::solution found) {
  nb::dict out;
  out["feasible"] = found.feasible;
  out["certified"] = found.certified;
  out["cost"] = found.cost;
  out["column_of_row"] = numbered(found.column_of_row);
  out["row_of_column"] = numbered(found.row_of_column);
  const std::size_t rows = found.row_potentials.size();
  const std::size_t columns = found.column_potentials.size();
  out["row_potentials"] = array_of(std::move(found.row_potentials), {rows});
  out["column_potentials"] = array_of(std::move(found.column_potentials), {columns});
  out["conflicting_rows"] = numbered(found.conflicting_rows);
  out["conflicting_columns"] = numbered(found.conflicting_columns);
  return out;
}

template <class T>
void add_solve(nb::module_& module) {
  module.def(
      "assignment_solve",
      [](const matrix<T>& costs, const std::string& method, bool maximise, double price, std::uint64_t seed,
         std::size_t threads) {
        const assignment::options options{.method = assignment::method_named(method),
                                          .maximise = maximise,
                                          .price = price,
                                          .seed = seed,
                                          .threads = threads};
        assignment::solution found;
        {
          const nb::gil_scoped_release released;
          found = assignment::solve(view_of(costs), options);
        }
        return described(std::move(found));
      },
      nb::arg("costs").noconvert(), nb::arg("method"), nb::arg("maximise"), nb::arg("price"), nb::arg("seed"),
      nb::arg("threads"));
}

nb::dict agreement(const labels& truth, const labels& found) {
  const metrics::contingency_table table = metrics::contingency(span_of(truth), span_of(found));
  const metrics::v_measure v = metrics::v_measure_of(table);
  nb::dict out;
  out["rand_index"] = metrics::rand_index(table);
  out["adjusted_rand_index"] = metrics::adjusted_rand_index(table);
  out["mutual_information"] = metrics::mutual_information(table);
  out["normalized_mutual_information"] = metrics::normalized_mutual_information(table);
  out["adjusted_mutual_information"] = metrics::adjusted_mutual_information(table);
  out["homogeneity"] = v.homogeneity;
  out["completeness"] = v.completeness;
  out["v_measure"] = v.v;
  out["fowlkes_mallows_index"] = metrics::fowlkes_mallows_index(table);
  out["matched_accuracy"] = metrics::match_labels(table).accuracy;
  return out;
}

nb::dict separation(const matrix<double>& rows, const labels& found, std::size_t threads) {
  nb::dict out;
  out["silhouette"] = metrics::silhouette(view_of(rows), span_of(found), threads);
  out["davies_bouldin_index"] = metrics::davies_bouldin_index(view_of(rows), span_of(found));
  out["calinski_harabasz_index"] = metrics::calinski_harabasz_index(view_of(rows), span_of(found));
  return out;
}

}  // namespace

const add_family added([](nb::module_& module) {
  add_solve<double>(module);
  add_solve<float>(module);
  add_solve<std::int32_t>(module);
  add_solve<std::int64_t>(module);
  module.def("metrics_agreement", agreement, nb::arg("truth"), nb::arg("found"));
  module.def("metrics_separation", separation, nb::arg("rows"), nb::arg("labels"), nb::arg("threads"));
});

}  // namespace shoal::python
