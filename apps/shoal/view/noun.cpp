// shoal view
#include "view/noun.hpp"

#include <chrono>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/io/json_file.hpp>
#include <shoal/io/npy_format.hpp>
#include <shoal/io/whole_file.hpp>

#include "common/answer.hpp"
#include "report/picture.hpp"
#include "report/png.hpp"
#include "report/text.hpp"
#include "view/states.hpp"
#include "viewer/cloud_scene.hpp"
#include "viewer/page.hpp"
#include "viewer/sponge_scene.hpp"
#include "viewer/window/window.hpp"

namespace shoal::app {
namespace {

constexpr const char* view_examples = R"(Examples:
  shoal view model.json rows.csv --output view.html
  shoal view model.json rows.npy --axes 0,3,1 --output view.html
  shoal view states.npy --spacing 0.5 --output wave.html
  shoal view --sponge 3 --section diagonal --output sponge.html

FILE is a model that a fit has written, or the states of shoal wave run. The page needs no network and no other file.
Drag to turn it; its key h tells the others.)";

const choices<viewer::projection>& projection_choices() {
  static const choices<viewer::projection> known = {{"perspective", viewer::projection::perspective},
                                                    {"orthographic", viewer::projection::orthographic}};
  return known;
}

const choices<viewer::section>& section_choices() {
  static const choices<viewer::section> known = {{"none", viewer::section::none},
                                                 {"x", viewer::section::x},
                                                 {"y", viewer::section::y},
                                                 {"z", viewer::section::z},
                                                 {"diagonal", viewer::section::diagonal}};
  return known;
}

const choices<std::string>& variable_choices() {
  static const choices<std::string> known = {{"v", "v"}, {"w", "w"}};
  return known;
}

std::vector<double> parse_numbers(const std::string& option, const std::string& text, double least) {
  std::vector<double> numbers;
  for (const std::string& word : parse_names(option, text)) numbers.push_back(parse_number(option, word, least));
  return numbers;
}

viewer::scene scene_of(const view_command& command, const std::vector<viewable>& models) {
  if (command.sponge) return viewer::sponge_scene(*command.sponge, command.view);
  const std::string contents = read_whole_file(command.file, std::size_t{4} << 30);
  if (contents.starts_with(npy_magic)) return show_states(command, contents);
  const json_file document = json_file::parse(command.file, contents);
  const std::string format = document.root().member("format").text();
  std::vector<std::string> known;
  for (const viewable& model : models) {
    if (model.format == format) return model.show(command, contents);
    known.push_back(model.format);
  }
  throw bad_data(fmt::format("{}: its format is '{}'; {} can be shown", command.file, format, fmt::join(known, ", ")));
}

void check(const view_command& command) {
  if (command.sponge.has_value() == !command.file.empty()) {
    throw bad_argument("say what to show: either FILE or --sponge ORDER\n'shoal view --help' tells more");
  }
  if (command.output.empty() && command.picture.empty() && command.screenshot.empty() && !command.window) {
    throw bad_argument("--output, --picture, --screenshot or --window is needed: what to write or to open");
  }
  if ((command.window || !command.screenshot.empty()) && !viewer::has_window()) {
    throw not_built(
        "this shoal was built without windows; configure it with -DSHOAL_WINDOW=ON, or write a page with --output");
  }
  check_outputs({{"--output", command.output}, {"--picture", command.picture}, {"--screenshot", command.screenshot}},
                files_of(command.data, command.file));
}

void open_window(const view_command& command, const viewer::scene& shown) {
  viewer::window window(shown, command.view, 960, 720, !command.window);
  if (!command.screenshot.empty()) {
    const std::vector<std::uint8_t> pixels = window.pixels();
    write_file_atomically(command.screenshot, report::rgb_png(pixels, static_cast<std::size_t>(window.width()),
                                                              static_cast<std::size_t>(window.height())));
  }
  if (command.window) window.run();
}

void run(const view_command& command, const std::vector<viewable>& models) {
  check(command);
  const auto begin = std::chrono::steady_clock::now();
  const viewer::scene shown = naming_data(command.data, command.file, [&] { return scene_of(command, models); });
  std::size_t bytes = 0;
  if (!command.output.empty()) {
    const std::string page = viewer::viewer_page(shown, command.view);
    bytes = page.size();
    write_file_atomically(command.output, page);
  }
  if (!command.picture.empty()) write_file_atomically(command.picture, report::standalone_svg(shown.still));
  if (command.window || !command.screenshot.empty()) open_window(command, shown);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  const std::size_t points = shown.points ? shown.points->count() : 0;
  give({.values =
            joined({{{"title", shown.title}, {"points", points}, {"groups", shown.groups.size()}},
                    command.sponge ? named_values{{"order", *command.sponge}} : named_values{},
                    {{"notes", shown.notes}, {"bytes", bytes}},
                    given_values(
                        {{"output", command.output}, {"picture", command.picture}, {"screenshot", command.screenshot}}),
                    {{"seconds", seconds.count()}}}),
        .paragraphs = {lines({{"shown", fmt::format("{}, {}", shown.title, shown.subtitle)},
                              {"page", command.output.empty() ? std::string()
                                                              : fmt::format("{}: {}", command.output,
                                                                            bytes_text(static_cast<double>(bytes)))},
                              {"picture", command.picture},
                              {"screenshot", command.screenshot}}),
                       shown.notes.empty() ? std::string() : fmt::format("{}\n", fmt::join(shown.notes, "\n"))}},
       command.run);
}

void add_look(CLI::App& app, viewer::view_settings& view) {
  add_choice(app, "--projection", view.projection, projection_choices(), "How it is seen", "perspective");
  const double least = -std::numeric_limits<double>::max();
  add_number(app, "--azimuth", view.azimuth, "Where the eye is: degrees from the x axis towards the y axis", least);
  add_number(app, "--elevation", view.elevation, "Degrees of the eye above the ground", -90);
  add_number(app, "--zoom", view.zoom, "Magnification", 0, true);
  add_option(app, "--pan", "X,Y", "Shift across and upwards, in half sizes of the box", "0,0",
             [&view](const std::string& text) {
               const std::vector<double> by = parse_numbers("--pan", text, -1000);
               if (by.size() != 2) throw bad_argument(fmt::format("--pan: '{}' is not two numbers", text));
               view.pan_across = by[0];
               view.pan_up = by[1];
             });
  add_flag(app, "--wireframe", view.wireframe, "Show lines instead of faces");
  add_choice(app, "--section", view.section, section_choices(), "Cut away what lies before a plane", "none");
  add_number(app, "--section-offset", view.section_offset, "Of that plane from the middle: -1 and 1 are the ends", -1);
  add_number(app, "--point-size", view.point_size, "Size of points in pixels", 0, false, "by their number");
  add_flag(app, "--orbit", view.orbit, "Turn by itself");
  add_flag(app, "--play", view.play, "Let the time of a wave run");
}

void declare(CLI::App& program, verb& selected, const std::vector<viewable>& models) {
  const auto command = std::make_shared<view_command>();
  CLI::App& app = *add_verb(program, "view", "Write an interactive page of a model with its rows, a wave or a sponge",
                            view_examples, selected, [command, models] { run(*command, models); });
  add_file(app, "FILE", command->file, "", "Model file, or states.npy of shoal wave run");
  add_data_options(app, command->data, false, presence::optional);
  add_option(app, "--sponge", "ORDER", "Show a Menger sponge", "",
             [command](const std::string& text) { command->sponge = parse_count("--sponge", text); });
  add_option(app, "--axes", "LIST", "Three columns of the model to show, by name or number, or principal",
             "the model's columns, principal of more than three",
             [command](const std::string& text) { command->axes = parse_names("--axes", text); });
  add_option(app, "--quantiles", "P,...", "Shares of a group's rows that its ellipsoids hold", "0.5,0.95",
             [command](const std::string& text) {
               command->quantiles = parse_numbers("--quantiles", text, 0);
               for (const double share : command->quantiles) viewer::contour_distance(share, 3);
             });
  command->most_rows = viewer::most_points;
  add_option(app, "--most-rows", "N", "Show at most so many rows, spread over all", std::to_string(viewer::most_points),
             [command](const std::string& text) {
               command->most_rows = parse_count("--most-rows", text, 1, viewer::most_points);
             });
  add_choice(app, "--variable", command->variable, variable_choices(), "Quantity of a wave", "v");
  add_number(app, "--spacing", command->spacing, "Distance of two nodes of a wave", 0, true);
  add_option(app, "--times", "T,...", "Times of the states of a wave", "their numbers",
             [command](const std::string& text) { command->times = parse_numbers("--times", text, 0); });
  add_look(app, command->view);
  add_output(app, "--output", command->output, "OUT.html", "Write the page");
  add_output(app, "--picture", command->picture, "OUT.svg", "Write the picture that a page without WebGL shows");
  add_flag(app, "--window", command->window, "Open a window (of a shoal that was built with SHOAL_WINDOW)");
  add_output(app, "--screenshot", command->screenshot, "OUT.png", "Write what that window shows, without showing it");
  add_run_options(app, command->run);
}

}  // namespace

report::row_sample rows_to_show(const view_command& command, const expected_columns& expected) {
  if (command.data.path.empty()) return {};
  const data_set<double> data = open_data_for<double>(expected, command.data, command.run);
  return report::sample_rows(data.rows(), command.most_rows);
}

std::string view_subtitle(const view_command& command, const std::string& shape) {
  const std::size_t slash = command.file.rfind('/');
  return fmt::format("{}, {}", shape, command.file.substr(slash == std::string::npos ? 0 : slash + 1));
}

noun view_noun(std::vector<viewable> models) {
  return {
      .name = "view",
      .title = {},
      .example = {},
      .verbs = {},
      .alone = [models = std::move(models)](CLI::App& program, verb& selected) { declare(program, selected, models); }};
}

}  // namespace shoal::app
