#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/geometry/camera.hpp>
#include <shoal/geometry/cuda/draw.hpp>
#include <shoal/geometry/picture.hpp>
#include <shoal/geometry/shade.hpp>

namespace shoal::geometry {
namespace {

constexpr std::size_t lines_of_a_task = 4;

void draw_on_host(const scene& of, std::size_t threads, const control& control, std::vector<std::uint8_t>& pixels) {
  const std::size_t tasks = (of.height + lines_of_a_task - 1) / lines_of_a_task;
  make_executor(threads)->run(tasks, 1, [&](std::size_t task, const team_member&) {
    if (control.stop.stop_requested()) throw interrupted("interrupted; the picture was not drawn");
    for (std::size_t v = task * lines_of_a_task; v < of.height && v < (task + 1) * lines_of_a_task; ++v) {
      for (unsigned u = 0; u < of.width; ++u)
        draw_pixel(of, u, static_cast<unsigned>(v), &pixels[3 * (v * of.width + u)]);
    }
  });
}

}  // namespace

picture draw_sponge(const picture_options& options, const control& control) {
  const scene of = scene_of(options);
  picture drawn{options.width, options.height, std::vector<std::uint8_t>(3 * options.width * options.height), 0};
  const auto begin = std::chrono::steady_clock::now();
  if (options.device.cuda.empty()) {
    draw_on_host(of, options.threads, control, drawn.pixels);
  } else {
    if (options.device.cuda.size() > 1) {
      throw bad_argument(fmt::format("a picture is drawn on one GPU; got {} of them", options.device.cuda.size()));
    }
    cuda::draw(of, options.device.cuda.front(), drawn.pixels.data());
  }
  drawn.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return drawn;
}

picture draw_stages(const picture_options& options, picture (*draw)(const picture_options&, const control&),
                    const control& control) {
  const std::size_t stages = std::size_t{options.order} + 1;
  if (options.width < stages) {
    throw bad_argument(fmt::format("{} stages side by side need a width of at least {} pixels; got {}", stages, stages,
                                   options.width));
  }
  picture drawn{options.width, options.height, std::vector<std::uint8_t>(3 * options.width * options.height), 0};
  for (std::size_t stage = 0; stage < stages; ++stage) {
    const std::size_t begin = stage * options.width / stages, end = (stage + 1) * options.width / stages;
    picture_options one = options;
    one.order = static_cast<unsigned>(stage);
    one.width = end - begin;
    const picture part = draw(one, control);
    for (std::size_t v = 0; v < options.height; ++v) {
      std::copy_n(&part.pixels[3 * v * part.width], 3 * part.width, &drawn.pixels[3 * (v * options.width + begin)]);
    }
    drawn.seconds += part.seconds;
  }
  return drawn;
}

}  // namespace shoal::geometry
