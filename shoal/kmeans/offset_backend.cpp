#include <shoal/kmeans/offset_backend.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace shoal::kmeans {
namespace {

// Beside a mean so many times the deviation, a float64 keeps 23 bits of the latter: as many as float32 has.
constexpr double least_ratio = 0x1p30;

std::vector<double> shifted(std::vector<double> points, const std::vector<double>& offset, double sign) {
  for (std::size_t i = 0; i < points.size(); ++i) points[i] += sign * offset[i % offset.size()];
  return points;
}

class offset_rows final : public row_source<double> {
 public:
  offset_rows(const row_source<double>& rows, const std::vector<double>& offset) : rows_(&rows), offset_(&offset) {}
  std::size_t rows() const override { return rows_->rows(); }
  std::size_t columns() const override { return rows_->columns(); }
  bool resident() const override { return false; }
  matrix_view<const double> read(std::size_t first, std::size_t count, aligned_buffer<double>& buffer) const override {
    thread_local aligned_buffer<double> inner;
    const matrix_view<const double> from = rows_->read(first, count, inner);
    const std::size_t d = columns();
    buffer.grow(count * d);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < d; ++j) buffer[i * d + j] = from(i, j) - (*offset_)[j];
    }
    return {buffer.data(), count, d};
  }

 private:
  const row_source<double>* rows_;
  const std::vector<double>* offset_;
};

class offset_stepper final : public clustering_stepper {
 public:
  offset_stepper(backend<double>& on, const options& wanted, const std::vector<double>& offset)
      : options_(wanted), offset_(&offset) {
    options_.centroids = shifted(std::move(options_.centroids), offset, -1);
    steps_ = on.fit(options_);
  }
  void seed(std::size_t restart) override { steps_->seed(restart); }
  std::vector<step_record> advance(std::size_t most) override { return steps_->advance(most); }
  double score() override { return steps_->score(); }
  std::vector<double> save() const override { return steps_->save(); }
  void restore(std::span<const double> state) override { steps_->restore(state); }
  const std::vector<double>& centroids() const override { return rounded_ = shifted(steps_->centroids(), *offset_, 1); }
  double inertia() override { return steps_->inertia(); }
  std::vector<double> cluster_weights() override { return steps_->cluster_weights(); }
  std::size_t relocated() const override { return steps_->relocated(); }

 private:
  options options_;
  const std::vector<double>* offset_;
  std::unique_ptr<clustering_stepper> steps_;
  mutable std::vector<double> rounded_;  // what centroids() refers to
};

class offset_backend final : public backend<double> {
 public:
  offset_backend(const device_choice& device, const backend_rows<double>& rows, data_summary summary,
                 std::vector<double> offset)
      : summary_(std::move(summary)), offset_(std::move(offset)), rows_(*rows.rows, offset_) {
    backend_rows<double> inner = rows;
    inner.rows = &rows_;
    on_ = make_plain_backend<double>(device, inner);
  }
  const data_summary& summary() const override { return summary_; }
  std::unique_ptr<clustering_stepper> fit(const options& options) override {
    return std::make_unique<offset_stepper>(*on_, options, offset_);
  }
  statistics predict(const model& model, std::int32_t* labels) override { return on_->predict(moved(model), labels); }
  void distances(const model& model, double* distances) override { on_->distances(moved(model), distances); }
  std::vector<std::size_t> choose_rows(const seeding_request& request) override { return on_->choose_rows(request); }
  std::string hardware() const override { return on_->hardware(); }

 private:
  model moved(model of) const {
    of.centroids = shifted(std::move(of.centroids), offset_, -1);
    return of;
  }

  data_summary summary_;
  std::vector<double> offset_;
  offset_rows rows_;
  std::unique_ptr<backend<double>> on_;
};

}  // namespace

std::vector<double> offset_of(const data_summary& summary) {
  std::vector<double> offset(summary.columns, 0.0);
  bool any = false;
  for (std::size_t j = 0; j < summary.columns; ++j) {
    const double mean = summary.mean[j], deviation = std::sqrt(summary.variance[j]);
    if (!(summary.minimum[j] < summary.maximum[j]) || !(std::abs(mean) > least_ratio * deviation)) continue;
    // Differences of numbers within a factor of two of each other are exact (Sterbenz 1974).
    const auto near = [mean](double value) { return value / mean >= 0.5 && value / mean <= 2; };
    if (!near(summary.lowest[j]) || !near(summary.highest[j])) continue;
    offset[j] = mean;
    any = true;
  }
  return any ? offset : std::vector<double>();
}

std::unique_ptr<backend<double>> make_offset_backend(const device_choice& device, const backend_rows<double>& rows,
                                                     data_summary summary, std::vector<double> offset) {
  return std::make_unique<offset_backend>(device, rows, std::move(summary), std::move(offset));
}

}  // namespace shoal::kmeans
