// What verbs share that apply the model of a file to rows (predict, score).
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "common/answer.hpp"
#include "common/device.hpp"
#include "common/interruption.hpp"
#include "common/progress_line.hpp"
#include "common/ranks.hpp"
#include "common/rows.hpp"

namespace shoal::app {

/// What such a verb is given.
struct model_command {
  std::string model;
  data_options data;
  run_options run;
  std::string output;  ///< empty: nothing is written
};

/// The rows, opened for the model, and where and under whose eyes they are worked on.
template <class Scalar>
class model_run {
 public:
  using scalar_type = Scalar;

  /// `work_of(rows, scalar_bytes)` is the library's estimate.
  template <class Model, class WorkOf>
  model_run(model_command& command, const Model& model, const WorkOf& work_of)
      : command_(&command),
        data_(open_data_for<Scalar>({command.model, model.columns, model.column_names}, command.data, command.run)),
        line_(!command.run.quiet),
        control_{[this](const progress& now) { line_(now); }, interruptions().token(), ranks()},
        threads_(resolved_threads(command.run)) {
    settle_device(command.run, work_of(rows(), sizeof(Scalar)), threads_);
  }
  model_run(const model_run&) = delete;
  model_run& operator=(const model_run&) = delete;

  const data_set<Scalar>& data() const { return data_; }
  std::size_t rows() const { return data_.rows().rows(); }
  std::size_t threads() const { return threads_; }
  std::size_t memory_limit() const { return command_->run.memory_limit; }
  const device_choice& device() const { return command_->run.device; }
  const shoal::control& control() const { return control_; }

  /// To call when the rows are done with.
  void end() {
    line_.wipe();
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  /// What the answer begins with, and ends with.
  named_values first_values() const {
    return joined({data_values(command_->data, rows(), data_.rows().columns(), data_.features.column_names),
                   {{"model", command_->model}}});
  }
  named_values last_values() const {
    const shoal::scalar scalar = sizeof(Scalar) == sizeof(float) ? shoal::scalar::float32 : shoal::scalar::float64;
    return joined({{{"seconds", seconds_}},
                   given_values({{"output", command_->output}}),
                   machine_values(command_->run, threads_, scalar, "")});
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  model_command* command_;
  data_set<Scalar> data_;
  progress_line line_;
  shoal::control control_;
  std::size_t threads_;
  double seconds_ = 0;
};

/// Reads the model by load(file), opens the rows for it, and calls apply(model_run, model). `work_of` as above, with
/// the model in front.
template <class Load, class WorkOf, class Apply>
void apply_model(model_command& command, const Load& load, const WorkOf& work_of, const Apply& apply) {
  refuse_pipes_of_ranks(command.data);
  check_outputs({{"--output", command.output}}, files_of(command.data, command.model));
  const auto file = load(command.model);
  const auto& model = file.model;
  const auto apply_to = [&]<class Scalar>(Scalar) {
    model_run<Scalar> run(
        command, model, [&](std::size_t rows, std::size_t scalar_bytes) { return work_of(rows, scalar_bytes, model); });
    apply(run, file);
  };
  const scalar scalar = command.data.chosen_scalar();
  naming_data(command.data, {}, [&] { with_scalar(scalar, apply_to); });
}

}  // namespace shoal::app
