// Cutting the rows into ranges that threads draw.
#include "gmm/generated_rows.hpp"

#include <algorithm>
#include <limits>
#include <thread>

#include <shoal/core/error.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/gmm/sample.hpp>

#include "common/labels_output.hpp"

namespace shoal::app {

namespace {

// Elements that devices draw between two looks at the clock.
constexpr std::size_t device_elements = std::size_t{1} << 27;

template <class Scalar>
void draw_on_devices(const gmm::model& model, const drawing_plan& drawing, progress_line& line, std::stop_token stop) {
  npy_output<Scalar> rows(drawing.output, drawing.rows, model.columns);
  labels_output labels(drawing.labels, drawing.rows, false);
  const std::size_t batch = std::max<std::size_t>(1, device_elements / model.columns);
  for (std::size_t first = 0; first < drawing.rows; first += batch) {
    if (stop.stop_requested()) throw interrupted("stopped on request");
    const std::size_t count = std::min(batch, drawing.rows - first);
    gmm::sample(model, drawing.seed, first,
                matrix_view<Scalar>(rows.data() + first * model.columns, count, model.columns),
                labels.wanted() ? labels.data() + first : nullptr, drawing.method, drawing.device);
    line({"drawing rows", first + count, drawing.rows, std::numeric_limits<double>::quiet_NaN()});
  }
  rows.commit();
  labels.commit();
}

}  // namespace

template <class Scalar>
void draw_rows(const gmm::model& model, const drawing_plan& drawing, progress_line& line, std::stop_token stop) {
  if (!drawing.device.on_host()) return draw_on_devices<Scalar>(model, drawing, line, stop);
  constexpr std::size_t range = 16384;
  const std::size_t ranges = (drawing.rows + range - 1) / range;
  npy_output<Scalar> rows(drawing.output, drawing.rows, model.columns);
  labels_output labels(drawing.labels, drawing.rows, false);
  const std::unique_ptr<executor> workers = make_threads(drawing.threads);
  // A call for each batch of ranges lets this thread show progress in between.
  const std::size_t batch = 16 * workers->threads();
  for (std::size_t begin = 0; begin < ranges; begin += batch) {
    workers->run(std::min(batch, ranges - begin), 1, [&](std::size_t task, const team_member&) {
      if (stop.stop_requested()) throw interrupted("stopped on request");
      const std::size_t first = (begin + task) * range;
      const std::size_t count = std::min(range, drawing.rows - first);
      gmm::sample(model, drawing.seed, first,
                  matrix_view<Scalar>(rows.data() + first * model.columns, count, model.columns),
                  labels.wanted() ? labels.data() + first : nullptr, drawing.method);
    });
    line({"drawing rows", std::min(ranges, begin + batch), ranges, std::numeric_limits<double>::quiet_NaN()});
  }
  rows.commit();
  labels.commit();
}
template void draw_rows<float>(const gmm::model&, const drawing_plan&, progress_line&, std::stop_token);
template void draw_rows<double>(const gmm::model&, const drawing_plan&, progress_line&, std::stop_token);

}  // namespace shoal::app
