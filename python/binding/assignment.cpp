// Linear assignment and the metrics for Python.
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <shoal/assignment/assignment.hpp>
#include <shoal/core/error.hpp>
#include <shoal/execution/device_choice.hpp>
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

assignment::options options_of(const std::string& method, bool maximise, double price, std::uint64_t seed,
                               std::size_t threads, const std::string& device) {
  return {.method = assignment::method_named(method),
          .maximise = maximise,
          .price = price,
          .seed = seed,
          .device = choose_device(device),
          .threads = threads};
}

// Memory that Python frees.
template <class T, class Element>
nb::object moved(aligned_buffer<Element> values, std::initializer_list<std::size_t> shape) {
  static_assert(sizeof(T) == sizeof(Element));
  auto* const kept = new aligned_buffer<Element>(std::move(values));
  const nb::capsule owner(kept, [](void* pointer) noexcept { delete static_cast<aligned_buffer<Element>*>(pointer); });
  return nb::cast(nb::ndarray<nb::numpy, T>(reinterpret_cast<T*>(kept->data()), shape.size(), shape.begin(), owner));
}

nb::dict solve_batch(const nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>& costs,
                     const std::string& method, bool maximise, double price, std::uint64_t seed, std::size_t threads) {
  const assignment::options options = options_of(method, maximise, price, seed, threads, "cpu");
  const std::size_t rows = costs.shape(1), columns = costs.shape(2);
  assignment::batch_solution found;
  {
    const nb::gil_scoped_release released;
    found = assignment::solve_batch({costs.data(), costs.shape(0) * rows * columns}, rows, columns, options);
  }
  const std::size_t problems = found.problems;
  nb::dict out;
  out["feasible"] = moved<bool>(std::move(found.feasible), {problems});
  out["certified"] = moved<bool>(std::move(found.certified), {problems});
  out["cost"] = moved<double>(std::move(found.cost), {problems});
  // An unassigned place has all bits set: −1.
  out["column_of_row"] = moved<std::int64_t>(std::move(found.column_of_row), {problems, rows});
  out["row_of_column"] = moved<std::int64_t>(std::move(found.row_of_column), {problems, columns});
  out["row_potentials"] = moved<double>(std::move(found.row_potentials), {problems, rows});
  out["column_potentials"] = moved<double>(std::move(found.column_potentials), {problems, columns});
  return out;
}

template <class T>
using list = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::dict solve_sparse(const list<std::int64_t>& starts, const list<std::int64_t>& indices, const list<double>& costs,
                      std::size_t columns, const std::string& method, bool maximise, double price,
                      std::size_t threads) {
  const assignment::options options = options_of(method, maximise, price, 0, threads, "cpu");
  if (starts.shape(0) == 0) throw bad_argument("starts is empty; it has one more element than rows");
  assignment::solution found;
  {
    const nb::gil_scoped_release released;
    found = assignment::solve(assignment::sparse_costs{starts.shape(0) - 1,
                                                       columns,
                                                       {starts.data(), starts.shape(0)},
                                                       {indices.data(), indices.shape(0)},
                                                       {costs.data(), costs.shape(0)}},
                              options);
  }
  return described(std::move(found));
}

template <class T>
void add_solve(nb::module_& module) {
  module.def(
      "assignment_solve",
      [](const matrix<T>& costs, const std::string& method, bool maximise, double price, std::uint64_t seed,
         std::size_t threads, const std::string& device) {
        const assignment::options options = options_of(method, maximise, price, seed, threads, device);
        assignment::solution found;
        {
          const nb::gil_scoped_release released;
          found = assignment::solve(view_of(costs), options);
        }
        return described(std::move(found));
      },
      nb::arg("costs").noconvert(), nb::arg("method"), nb::arg("maximise"), nb::arg("price"), nb::arg("seed"),
      nb::arg("threads"), nb::arg("device"));
}

nb::dict contingency(const labels& truth, const labels& found) {
  const metrics::contingency_table table = metrics::contingency(span_of(truth), span_of(found));
  const std::vector<std::size_t> match = metrics::match_labels(table).match;
  nb::dict out;
  out["counts"] = table.counts;
  out["match"] = numbered(match);
  return out;
}

double modelling_error(const matrix<double>& desired, const matrix<double>& found) {
  metrics::membership_sums sums(desired.shape(1), found.shape(1));
  metrics::add(sums, view_of(desired), view_of(found));
  return metrics::modelling_error_of(sums).error;
}

std::vector<std::int64_t> matched_components(const matrix<double>& desired, const matrix<double>& found) {
  metrics::membership_sums sums(desired.shape(1), found.shape(1));
  metrics::add(sums, view_of(desired), view_of(found));
  return numbered(metrics::modelling_error_of(sums).match);
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
  module.def("assignment_solve_batch", solve_batch, nb::arg("costs").noconvert(), nb::arg("method"),
             nb::arg("maximise"), nb::arg("price"), nb::arg("seed"), nb::arg("threads"));
  module.def("assignment_solve_sparse", solve_sparse, nb::arg("starts"), nb::arg("indices"), nb::arg("costs"),
             nb::arg("columns"), nb::arg("method"), nb::arg("maximise"), nb::arg("price"), nb::arg("threads"));
  module.def("metrics_contingency", contingency, nb::arg("truth"), nb::arg("found"));
  module.def("metrics_modelling_error", modelling_error, nb::arg("desired"), nb::arg("found"));
  module.def("metrics_matched_components", matched_components, nb::arg("desired"), nb::arg("found"));
  module.def("metrics_centroid_index", [](const matrix<double>& first, const matrix<double>& second) {
    return metrics::centroid_index(view_of(first), view_of(second));
  });
  module.def("metrics_simplified_silhouette",
             [](const matrix<double>& rows, const labels& found, const matrix<double>& centroids) {
               return metrics::simplified_silhouette(view_of(rows), span_of(found), view_of(centroids));
             });
  module.def("metrics_agreement", agreement, nb::arg("truth"), nb::arg("found"));
  module.def("metrics_separation", separation, nb::arg("rows"), nb::arg("labels"), nb::arg("threads"));
});

}  // namespace shoal::python
