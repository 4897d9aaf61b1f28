#include <shoal/estimation/seeding.hpp>

#include <utility>

#include <shoal/estimation/host_seeding.hpp>
#include <shoal/estimation/seed_draw.hpp>

namespace shoal {
namespace {

class kept_on_host final : public row_source<double> {
 public:
  kept_on_host(std::vector<double> values, std::size_t rows, std::size_t columns)
      : values_(std::move(values)), view_(values_.data(), rows, columns) {}
  std::size_t rows() const override { return view_.rows(); }
  std::size_t columns() const override { return view_.columns(); }
  matrix_view<const double> read(std::size_t first, std::size_t count, aligned_buffer<double>&) const override {
    return view_.middle_rows(first, count);
  }
  bool resident() const override { return true; }

 private:
  std::vector<double> values_;
  matrix_view<const double> view_;
};

template <class Scalar>
std::unique_ptr<seeding_passes> passes_over(const fold_context& context, const weighted_rows<Scalar>& data,
                                            const data_summary& summary, const make_passes& make) {
  return make ? make() : make_host_passes(context, data, summary);
}

std::vector<std::size_t> drawn_rows(seeding_passes& passes, const seeding_request& request) {
  const std::vector<std::size_t> winners =
      passes.race(request.seed, seeding_stream(request, seeding_use::race), request.clusters);
  std::vector<std::size_t> rows;
  for (std::size_t k = 0; k < request.clusters; ++k) rows.push_back(winners[k % winners.size()]);
  return rows;
}

}  // namespace

std::unique_ptr<row_source<double>> seeding_passes::keep_rows(std::span<const std::size_t> rows) {
  std::vector<double> values;
  append_rows(rows, values);
  return std::make_unique<kept_on_host>(std::move(values), rows.size(), columns());
}

template <class Scalar>
std::vector<double> seed_random_rows(const fold_context& context, const weighted_rows<Scalar>& data,
                                     const data_summary& summary, const seeding_request& request,
                                     const make_passes& make) {
  const auto passes = passes_over(context, data, summary, make);
  std::vector<double> points;
  passes->append_rows(drawn_rows(*passes, request), points);
  return points;
}

template <class Scalar>
std::unique_ptr<row_source<double>> keep_random_rows(const fold_context& context, const weighted_rows<Scalar>& data,
                                                     const data_summary& summary, const seeding_request& request,
                                                     const make_passes& make) {
  const auto passes = passes_over(context, data, summary, make);
  return passes->keep_rows(drawn_rows(*passes, request));
}

template std::vector<double> seed_random_rows(const fold_context&, const weighted_rows<float>&, const data_summary&,
                                              const seeding_request&, const make_passes&);
template std::vector<double> seed_random_rows(const fold_context&, const weighted_rows<double>&, const data_summary&,
                                              const seeding_request&, const make_passes&);
template std::unique_ptr<row_source<double>> keep_random_rows(const fold_context&, const weighted_rows<float>&,
                                                              const data_summary&, const seeding_request&,
                                                              const make_passes&);
template std::unique_ptr<row_source<double>> keep_random_rows(const fold_context&, const weighted_rows<double>&,
                                                              const data_summary&, const seeding_request&,
                                                              const make_passes&);

}  // namespace shoal
