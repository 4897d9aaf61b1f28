// shoal som fit
#include <memory>

#include <shoal/som/work.hpp>

#include "common/interruption.hpp"
#include "som/finish.hpp"
#include "som/verbs.hpp"

namespace shoal::app {
namespace {

constexpr const char* examples = R"(Examples:
  shoal som fit rows.csv --width 20 --height 15 --output map.json --report map.html
  shoal som fit rows.npy --width 200 --height 200 --lattice hexagonal --toroidal --radius 50:1 --epochs 20 --json
  shoal som fit rows.csv --init map.json --radius 1:0.5 --epochs 5 --output finer.json

With --json, quantization_error and topographic_error are those of the returned map; history has, for each epoch, the
quantization error of the map which the epoch started from. With --standardize distances are in standardized units, and
the model keeps them for predict and score. With --checkpoint, Ctrl-C or a crash loses nothing but the last moments: the
same command resumes, and its result is the same to the last bit.)";

// Online training takes one row after the other, so that where to run is no question.
void settle_device_of(som_options& options, const som::options& library, std::size_t rows, std::size_t columns,
                      std::size_t scalar_bytes) {
  if (library.training == som::training::online && options.run.device_word == "auto") {
    say(options.run, "device auto: cpu (online training runs on one thread of the host)");
    return;
  }
  settle_device(options.run, som::work_of_fit(rows, columns, scalar_bytes, library), library.threads);
}

template <class Scalar>
void run(som_options& options, som_request& request, som_outcome& outcome) {
  data_set<Scalar> data = open_data<Scalar>(options.data, options.run);
  const std::stop_token stop = interruptions().token();
  settle_device_of(options, request.library, data.rows().rows(), data.rows().columns(), sizeof(Scalar));
  request.library.device = outcome.library.device = options.run.device;
  progress_line line(!options.run.quiet);
  const control control{[&](const progress& now) { line(now); }, stop};
  const fit_rows<Scalar> rows(std::move(data), options.fit.standardize, options.run, stop);
  outcome.result =
      with_resume_hint(options.fit.checkpoint, [&] { return fit_map(rows, request, options.fit.init, control); });
  finish(outcome, rows, line, control);
}

void run(const som_options& given) {
  som_options options = given;
  check_fit_outputs(options.fit, options.data);
  som_outcome outcome;
  outcome.begin = std::chrono::steady_clock::now();
  outcome.options = &options;
  som_request request = library_options(options, resolved_threads(options.run));
  outcome.library = request.library;
  outcome.scalar = options.data.chosen_scalar();
  naming_data(options.data, options.fit.checkpoint, [&] {
    with_scalar(outcome.scalar, [&]<class Scalar>(Scalar) { run<Scalar>(options, request, outcome); });
  });
}

}  // namespace

void add_som_fit(CLI::App& noun, verb& selected) {
  const auto options = std::make_shared<som_options>();
  CLI::App& app =
      *add_verb(noun, "fit", "Train a self-organizing map", examples, selected, [options] { run(*options); });
  add_som_options(app, *options);
}

}  // namespace shoal::app
