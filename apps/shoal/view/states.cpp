#include "view/states.hpp"

#include <span>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/io/element_type.hpp>
#include <shoal/io/npy_format.hpp>

#include "report/text.hpp"
#include "viewer/wave_scene.hpp"

namespace shoal::app {

viewer::scene show_states(const view_command& command, const std::string& contents) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(contents));
  const npy_array states = parse_npy_array(command.file, bytes);
  const std::vector<std::size_t>& shape = states.shape;
  if ((shape.size() != 3 && shape.size() != 4) || shape[1] != 2 || states.fortran_order) {
    throw bad_data(fmt::format(
        "{}: the array has shape ({}); states are [times][2][nodes] or [times][2][rows][columns] in C order",
        command.file, fmt::join(shape, ", ")));
  }
  if (bytes.size() < states.end) {
    throw bad_data(
        fmt::format("{}: truncated: expected {} bytes, the file has {}", command.file, states.end, bytes.size()));
  }
  viewer::wave_request wave;
  wave.times = shape[0];
  wave.rows = shape.size() == 4 ? shape[2] : 1;
  wave.columns = shape.back();
  wave.value_word = command.variable;
  wave.spacing = command.spacing;
  wave.times_at = command.times;
  wave.title = command.variable + (wave.rows > 1 ? " in the plane" : " over space and time");
  const std::size_t nodes = wave.rows * wave.columns;
  wave.subtitle = view_subtitle(command, fmt::format("{} of {}", counted(wave.times, "time"), counted(nodes, "node")));
  std::vector<double> values(wave.times * nodes);
  const std::size_t record = 2 * nodes * element_size(states.element);
  convert_records<double>(states.element, {bytes.data() + states.offset, record, wave.times},
                          {command.variable == "w" ? nodes : 0, nodes, {}}, values.data(), nodes);
  wave.values = values;
  return viewer::wave_scene(wave, command.view);
}

}  // namespace shoal::app
