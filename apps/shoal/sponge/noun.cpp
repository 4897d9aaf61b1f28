// shoal sponge
#include "sponge/noun.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <shoal/geometry/geometry.hpp>
#include <shoal/io/whole_file.hpp>

#include "common/answer.hpp"
#include "common/device.hpp"
#include "common/interruption.hpp"
#include "report/png.hpp"
#include "sponge/orbit.hpp"
#include "sponge/picture_words.hpp"

namespace shoal::app {
namespace {

constexpr const char* sponge_examples = R"(Examples:
  shoal sponge --order 20 --json
  shoal sponge --order 4 --output sponge.stl
  shoal sponge --order 5 --picture sponge.png --size 1920x1080 --samples 3
  shoal sponge --order 4 --picture star.png --section hexagon --projection orthographic --azimuth 45 --elevation 35.26
  shoal sponge --order 4 --picture stages.png --stages --size 2000x420
  shoal sponge --order 3 --orbit 120 --page orbit.html

Order 0 is the cube. A picture needs no mesh: rays follow the ternary digits of places, exactly at every order to 32.)";

struct sponge_command {
  std::string output;
  std::string picture;
  std::string page;
  geometry::picture_options how;
  bool points = false;
  bool stages = false;
  std::uint64_t order = 3;
  std::uint64_t frames = 0;
  std::uint64_t samples = 2;
  std::uint64_t sky_rays = 16;
  run_options run;
};

const choices<geometry::projection> projections = {{"perspective", geometry::projection::perspective},
                                                   {"orthographic", geometry::projection::orthographic}};

void check(const sponge_command& command) {
  check_outputs({{"--output", command.output}, {"--picture", command.picture}, {"--page", command.page}});
  if (command.frames > 0 && command.picture.empty() && command.page.empty()) {
    throw bad_argument("--orbit needs --picture FILE.png for its frames, or --page FILE.html to show them");
  }
  constexpr std::uint64_t most_frames = 9999;
  if (command.frames > most_frames) {
    throw bad_argument(fmt::format("--orbit: {} is not a whole number from 0 to {}", command.frames, most_frames));
  }
  if (command.frames == 0 && !command.page.empty()) {
    throw bad_argument("--page shows an orbit; say how many frames by --orbit, as --orbit 120");
  }
  if (command.picture.empty() && command.page.empty() && (command.points || command.stages)) {
    throw bad_argument(fmt::format("{} needs --picture FILE.png", command.points ? "--points" : "--stages"));
  }
  if (!command.output.empty() && !geometry::mesh_format_of(command.output)) {
    throw bad_argument(
        fmt::format("--output: '{}' must end in .stl, .ply, .obj or .glb, which says the format", command.output));
  }
}

struct drawn {
  std::vector<std::string> files;
  double seconds = 0;
};

geometry::picture draw(const sponge_command& command, const geometry::picture_options& how) {
  const auto one = command.points ? geometry::draw_points : geometry::draw_sponge;
  const control control{{}, interruptions().token()};
  return command.stages ? geometry::draw_stages(how, one, control) : one(how, control);
}

drawn draw_all(const sponge_command& command) {
  drawn made;
  geometry::picture_options how = command.how;
  std::vector<std::string> frames;
  const std::size_t count = std::max<std::size_t>(1, command.frames);
  for (std::size_t frame = 0; frame < count; ++frame) {
    how.azimuth = command.how.azimuth + 360.0 * static_cast<double>(frame) / static_cast<double>(count);
    const geometry::picture shown = draw(command, how);
    made.seconds += shown.seconds;
    const std::string png = report::rgb_png(shown.pixels, shown.width, shown.height);
    if (!command.picture.empty()) {
      made.files.push_back(command.frames == 0 ? command.picture : frame_name(command.picture, frame, count));
      write_file_atomically(made.files.back(), png);
    }
    if (!command.page.empty()) frames.push_back(png);
  }
  if (command.page.empty()) return made;
  write_file_atomically(command.page, orbit_page(frames, how.width, how.height,
                                                 fmt::format("Menger sponge of order {}", command.how.order)));
  return made;
}

json fraction_value(const geometry::exact_fraction& fraction) {
  return object_of(
      {{"numerator", fraction.numerator}, {"denominator", fraction.denominator}, {"value", fraction.value}});
}

std::string fraction_text(const geometry::exact_fraction& fraction) {
  return fmt::format("{}/{} = {:.6g}", fraction.numerator, fraction.denominator, fraction.value);
}

void run(const sponge_command& given) {
  sponge_command command = given;
  check(command);
  const bool pictured = !command.picture.empty() || !command.page.empty();
  // What is larger is refused by its number below.
  command.how.order = static_cast<unsigned>(std::min<std::uint64_t>(command.order, std::numeric_limits<int>::max()));
  command.how.samples = command.samples;
  command.how.sky_rays = command.sky_rays;
  command.how.threads = resolved_threads(command.run);
  named_values values = {{"order", command.order}};
  std::string counted_lines;
  if (command.order <= geometry::most_counted_order || !pictured) {
    const geometry::sponge_counts counts = geometry::count_sponge(command.how.order);
    values = joined({values,
                     {{"cubes", counts.cubes},
                      {"faces", counts.faces},
                      {"vertices", counts.vertices},
                      {"edges", counts.edges},
                      {"genus", counts.genus},
                      {"area", fraction_value(counts.area)},
                      {"volume", fraction_value(counts.volume)}}});
    counted_lines = lines({{"order", std::to_string(command.order)},
                           {"cubes", counts.cubes},
                           {"faces", counts.faces},
                           {"vertices", counts.vertices},
                           {"edges", counts.edges},
                           {"genus", counts.genus},
                           {"area", fraction_text(counts.area)},
                           {"volume", fraction_text(counts.volume)}});
  }
  std::string written;
  if (!command.output.empty()) {
    const auto begin = std::chrono::steady_clock::now();
    const geometry::mesh_file_size size =
        geometry::write_mesh(command.output, *geometry::mesh_format_of(command.output), command.how.order,
                             control{{}, interruptions().token()});
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    values = joined({values, {{"output", command.output}, {"mesh_seconds", seconds.count()}}});
    written += lines({{"mesh", fmt::format("{}: {} faces and {} vertices in {}", command.output, grouped(size.faces),
                                           grouped(size.vertices), duration_text(seconds.count()))}});
  }
  if (pictured) {
    const drawn made = draw_all(command);
    values = joined({values,
                     given_values({{"picture", command.picture}, {"page", command.page}}),
                     {{"width", command.how.width},
                      {"height", command.how.height},
                      {"frames", std::max<std::uint64_t>(1, command.frames)},
                      {"device", device_name(command.how.device)},
                      {"threads", command.how.threads},
                      {"picture_seconds", made.seconds}}});
    const std::string first = made.files.empty() ? command.page : made.files.front();
    written += lines({{"picture", fmt::format("{}: {} x {} pixels, drawn in {}",
                                              made.files.size() < 2 ? first : first + " to " + made.files.back(),
                                              command.how.width, command.how.height, duration_text(made.seconds))},
                      {"page", command.page}});
  }
  give({.values = values, .paragraphs = {counted_lines, written}}, command.run);
}

void add_picture_options(CLI::App& app, sponge_command& command) {
  geometry::picture_options& how = command.how;
  add_output(app, "--picture", command.picture, "FILE.png", "Draw a picture");
  add_option(app, "--size", "WIDTHxHEIGHT", "Pixels of the picture", "800x600",
             [&how](const std::string& text) { std::tie(how.width, how.height) = parse_size("--size", text); });
  add_flag(app, "--points", command.points, "Draw the corners of the smallest cubes as points, to order 6");
  add_flag(app, "--stages", command.stages, "Draw all orders from 0 on side by side");
  add_count(app, "--orbit", command.frames, "FRAMES",
            "Draw a whole turn, as FILE-000.png and so on by --picture, or by --page");
  add_output(app, "--page", command.page, "FILE.html", "Write a page on which the sponge turns");
  add_choice(app, "--projection", how.projection, projections, "How depth is shown", "perspective");
  constexpr double any = -std::numeric_limits<double>::max();
  add_number(app, "--azimuth", how.azimuth, "Degrees around z at which the eye stands, from x to y", any);
  add_number(app, "--elevation", how.elevation, "Degrees above the horizon", any);
  add_number(app, "--distance", how.distance, "Of the eye from the middle, in edges of the cube", 0);
  add_number(app, "--field-of-view", how.field_of_view, "Degrees over the lesser side, in perspective", 0);
  add_number(app, "--extent", how.extent, "Edges over the lesser side, orthographic", 0);
  add_option(app, "--lights", "A,E[,S];...",
             "Azimuth and elevation of each light, and its strength from 0 to 1; none for no light", "-20,50,0.75",
             [&how](const std::string& text) { how.lights = parse_lights("--lights", text); });
  add_number(app, "--ambient", how.ambient, "Strength of the light of the sky, from 0 to 1", 0);
  add_count(app, "--sky-rays", command.sky_rays, "N",
            "Rays to the sky from each place, for what hides it (ambient occlusion); 0: nothing does");
  add_count(app, "--samples", command.samples, "N", "Rays of a pixel along each axis", 1);
  add_option(app, "--section", "A,B,C,D", "Cut away what lies where Ax + By + Cz > D; hexagon is 1,1,1,1.5", "none",
             [&how](const std::string& text) { how.section = parse_section("--section", text); });
  add_option(app, "--background", "RRGGBB", "Colour behind the sponge", "ffffff",
             [&how](const std::string& text) { how.background = parse_colour("--background", text); });
  add_option(app, "--device", "NAME",
             "Where rays are followed: cpu, cuda (the first GPU), cuda:1; auto is a GPU where there is one", "cpu",
             [&how](const std::string& text) { how.device = parse_device(text); });
}

void declare(CLI::App& program, verb& selected) {
  const auto command = std::make_shared<sponge_command>();
  CLI::App& app = *add_verb(program, "sponge", "The Menger sponge: exact counts, meshes and pictures", sponge_examples,
                            selected, [command] { run(*command); });
  add_count(app, "--order", command->order, "N", "How often cubes are cut");
  add_file(app, "--output", command->output, "FILE",
           "Write the surface, closed and oriented: .stl, .ply, .obj or .glb");
  add_picture_options(app, *command);
  add_run_options(app, command->run, false);
}

}  // namespace

noun sponge_noun() { return {.name = "sponge", .title = {}, .example = {}, .verbs = {}, .alone = declare}; }

}  // namespace shoal::app
