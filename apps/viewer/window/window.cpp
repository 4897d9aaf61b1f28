#include "viewer/window/window.hpp"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <stdexcept>
#include <string>

#include <Eigen/Geometry>

#include <shoal/core/error.hpp>
#include <shoal/geometry/sponge.hpp>

#include "viewer/sponge_scene.hpp"
#include "viewer/window/loaded.hpp"
#include "viewer/window/parts.hpp"
#include "viewer/window/programs.hpp"

namespace shoal::viewer {
namespace {

constexpr double seen_upwards = 30 * std::numbers::pi / 180;

// GLFW is begun by the first window and ended by the last.
struct library {
  static inline int users = 0;
  library() {
    if (users++ == 0 && glfwInit() == GLFW_FALSE) {
      --users;
      const char* reason = nullptr;
      glfwGetError(&reason);
      throw std::runtime_error(std::string("no window can be opened: ") +
                               (reason != nullptr ? reason : "GLFW gives no reason"));
    }
  }
  ~library() {
    if (--users == 0) glfwTerminate();
  }
  library(const library&) = delete;
  library& operator=(const library&) = delete;
};

}  // namespace

struct window::inside {
  library held;
  scene shown;
  view_settings first;
  window_state now;
  double reach = 1;
  point target{};
  GLFWwindow* handle = nullptr;
  GLuint program = 0;
  loaded_part points, crosses, sheet, ellipsoids, lines;
  loaded_faces faces;
  double pointer_x = 0, pointer_y = 0, last_moment = 0;

  void load() {
    const scene_parts parts = parts_of(shown, now.moment, now.order);
    points.load(parts.points);
    crosses.load(parts.crosses);
    faces.load(parts);
    sheet.load(parts.sheet);
    ellipsoids.load(parts.ellipsoids);
    lines.load(parts.lines);
  }

  void reset() {
    now.view = first;
    now.order = shown.sponge ? shown.sponge->order : 0;
    now.moment = shown.field ? shown.field->times.size() - 1 : 0;
    target = {};
    pan(-first.pan_across, -first.pan_up);
    load();
  }

  // Across, upwards and towards the eye.
  Eigen::Matrix3d directions() const {
    const double a = now.view.azimuth * std::numbers::pi / 180;
    const double e = std::clamp(now.view.elevation, -89.9, 89.9) * std::numbers::pi / 180;
    Eigen::Matrix3d rows;
    rows << -std::sin(a), std::cos(a), 0,                                     //
        -std::sin(e) * std::cos(a), -std::sin(e) * std::sin(a), std::cos(e),  //
        std::cos(e) * std::cos(a), std::cos(e) * std::sin(a), std::sin(e);
    return rows;
  }

  void pan(double across, double up) {
    const Eigen::Matrix3d rows = directions();
    for (int i = 0; i < 3; ++i) target[static_cast<std::size_t>(i)] += reach * (across * rows(0, i) + up * rows(1, i));
  }

  double aspect() const {
    int width = 1, height = 1;
    glfwGetFramebufferSize(handle, &width, &height);
    return static_cast<double>(std::max(width, 1)) / std::max(height, 1);
  }

  double fitting_distance() const {
    return 1.08 * reach / std::sin(std::atan(std::tan(seen_upwards / 2) * std::min(1.0, aspect())));
  }

  void draw_part(const loaded_part& part, GLenum as, int kind) const {
    if (part.count == 0) return;
    glUniform1i(glGetUniformLocation(program, "kind"), kind);
    glBindVertexArray(part.array);
    glDrawArrays(as, 0, part.count);
  }

  void draw_faces() const {
    if (faces.count == 0) return;
    glUniform1i(glGetUniformLocation(program, "kind"), 2);
    std::array<float, 3 * geometry::face_colours.size()> colours{};
    for (std::size_t i = 0; i < colours.size(); ++i) {
      colours[i] = static_cast<float>(geometry::face_colours[i / 3][i % 3]) / 255;
    }
    glUniform3fv(glGetUniformLocation(program, "face_colours"), geometry::face_colours.size(), colours.data());
    const GLint width = glGetUniformLocation(program, "face_width");
    glUniform1f(width, faces.width);
    glBindVertexArray(faces.array);
    glDrawArraysInstanced(GL_TRIANGLES, 0, 6, faces.count);
    glUniform1f(width, 0);
  }

  void draw() {
    glfwMakeContextCurrent(handle);
    int width = 1, height = 1;
    glfwGetFramebufferSize(handle, &width, &height);
    glViewport(0, 0, width, height);
    glClearColor(1, 1, 1, 1);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    glUseProgram(program);

    const bool perspective = now.view.projection == projection::perspective;
    const double distance = perspective ? fitting_distance() / now.view.zoom : fitting_distance();
    const Eigen::Matrix3d rows = directions();
    Eigen::Matrix4f from = Eigen::Matrix4f::Identity();
    from.topLeftCorner<3, 3>() = rows.cast<float>();
    from.topRightCorner<3, 1>() =
        (-rows * Eigen::Vector3d(target.data()) - Eigen::Vector3d(0, 0, distance)).cast<float>();
    Eigen::Matrix4f projected = Eigen::Matrix4f::Zero();
    const double near = 0.01 * reach, far = 100 * reach;
    if (perspective) {
      const double scale = 1 / std::tan(seen_upwards / 2);
      projected(0, 0) = static_cast<float>(scale / aspect());
      projected(1, 1) = static_cast<float>(scale);
      projected(2, 2) = static_cast<float>(-(far + near) / (far - near));
      projected(2, 3) = static_cast<float>(-2 * far * near / (far - near));
      projected(3, 2) = -1;
    } else {
      const double up = 1.08 * reach / std::min(1.0, aspect()) / now.view.zoom;
      projected(0, 0) = static_cast<float>(1 / (up * aspect()));
      projected(1, 1) = static_cast<float>(1 / up);
      projected(2, 2) = static_cast<float>(-1 / far);
      projected(3, 3) = 1;
    }
    glUniformMatrix4fv(glGetUniformLocation(program, "seen_from"), 1, GL_FALSE, from.data());
    glUniformMatrix4fv(glGetUniformLocation(program, "projected"), 1, GL_FALSE, projected.data());
    const auto normal = normal_of(now.view.section);
    double end = 0;
    for (std::size_t i = 0; i < 3; ++i) end += normal[i] * (shown.sponge ? 1 : shown.axes[i].half);
    const double limit = now.view.section == section::none ? 1 : now.view.section_offset * end;
    glUniform4f(glGetUniformLocation(program, "cut"), static_cast<float>(normal[0]), static_cast<float>(normal[1]),
                static_cast<float>(normal[2]), static_cast<float>(limit));
    const auto& [red, green, blue] = geometry::section_colour;
    glUniform3f(glGetUniformLocation(program, "inside"), red / 255.0F, green / 255.0F, blue / 255.0F);
    glUniform1f(glGetUniformLocation(program, "near_size"), perspective ? static_cast<float>(fitting_distance()) : 0);
    const double size = now.view.point_size > 0 ? now.view.point_size
                                                : std::clamp(46 / std::pow(std::max(points.count, 1), 0.28), 1.4, 7.0);
    glUniform1f(glGetUniformLocation(program, "size"), static_cast<float>(size));

    glEnable(GL_DEPTH_TEST);
    glEnable(GL_PROGRAM_POINT_SIZE);
    glEnable(GL_BLEND);
    glEnable(GL_MULTISAMPLE);
    glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
    glPolygonMode(GL_FRONT_AND_BACK, now.view.wireframe ? GL_LINE : GL_FILL);
    const bool whole = now.view.section == section::none;
    (whole ? glEnable : glDisable)(GL_CULL_FACE);
    draw_faces();
    glDisable(GL_CULL_FACE);
    glEnable(GL_POLYGON_OFFSET_FILL);
    glPolygonOffset(1, 1);
    draw_part(sheet, GL_TRIANGLES, 1);
    glDisable(GL_POLYGON_OFFSET_FILL);
    draw_part(lines, GL_LINES, 0);
    draw_part(points, GL_POINTS, 3);
    glDepthMask(GL_FALSE);
    (whole ? glEnable : glDisable)(GL_CULL_FACE);
    draw_part(ellipsoids, GL_TRIANGLES, 4);
    glDisable(GL_CULL_FACE);
    glDepthMask(GL_TRUE);
    glPolygonMode(GL_FRONT_AND_BACK, GL_FILL);
    glDisable(GL_DEPTH_TEST);
    glUniform1f(glGetUniformLocation(program, "size"), 15);
    glUniform1f(glGetUniformLocation(program, "near_size"), 0);
    draw_part(crosses, GL_POINTS, 5);
  }

  void show_moment(std::size_t moment) {
    if (!shown.field) return;
    now.moment = moment % shown.field->times.size();
    load();
  }

  void set_order(std::size_t order) {
    if (!shown.sponge || order > most_sponge_order) return;
    now.order = order;
    load();
  }

  void more(bool up) {
    if (shown.sponge) {
      if (up || now.order > 0) set_order(up ? now.order + 1 : now.order - 1);
    } else {
      const double size = now.view.point_size > 0 ? now.view.point_size : 4;
      now.view.point_size = std::clamp(size * (up ? 1.25 : 0.8), 1.0, 40.0);
    }
  }

  bool press(std::string_view key, bool shift) {
    view_settings& view = now.view;
    const std::map<std::string_view, std::function<void()>> actions = {
        {"r", [&] { reset(); }},
        {"w", [&] { view.wireframe = !view.wireframe; }},
        {"p",
         [&] {
           view.projection =
               view.projection == projection::perspective ? projection::orthographic : projection::perspective;
         }},
        {"c", [&] { view.section = static_cast<section>((static_cast<int>(view.section) + 1) % 5); }},
        {"[", [&] { view.section_offset = std::max(-1.0, view.section_offset - 0.05); }},
        {"]", [&] { view.section_offset = std::min(1.0, view.section_offset + 0.05); }},
        {"+", [&] { more(true); }},
        {"=", [&] { more(true); }},
        {"-", [&] { more(false); }},
        {"o", [&] { view.orbit = !view.orbit; }},
        {" ", [&] { view.play = !view.play; }},
        {",", [&] { show_moment(now.moment + (shown.field ? shown.field->times.size() - 1 : 0)); }},
        {".", [&] { show_moment(now.moment + 1); }},
        {"ArrowLeft", [&] { shift ? pan(0.05, 0) : void(view.azimuth -= 5); }},
        {"ArrowRight", [&] { shift ? pan(-0.05, 0) : void(view.azimuth += 5); }},
        {"ArrowUp", [&] { shift ? pan(0, -0.05) : void(view.elevation = std::min(89.9, view.elevation + 5)); }},
        {"ArrowDown", [&] { shift ? pan(0, 0.05) : void(view.elevation = std::max(-89.9, view.elevation - 5)); }},
        {"PageUp", [&] { view.zoom *= 1.15; }},
        {"PageDown", [&] { view.zoom /= 1.15; }},
        {"Escape", [&] { glfwSetWindowShouldClose(handle, GLFW_TRUE); }}};
    const auto found = actions.find(key);
    if (found == actions.end()) return false;
    found->second();
    return true;
  }

  void listen() {
    glfwSetWindowUserPointer(handle, this);
    glfwSetCharCallback(handle, [](GLFWwindow* of, unsigned letter) {
      const auto lower = static_cast<char>(letter < 128 ? std::tolower(static_cast<int>(letter)) : 0);
      static_cast<inside*>(glfwGetWindowUserPointer(of))->press(std::string_view(&lower, 1), false);
    });
    glfwSetKeyCallback(handle, [](GLFWwindow* of, int key, int, int action, int modifiers) {
      static const std::map<int, std::string_view> names = {
          {GLFW_KEY_LEFT, "ArrowLeft"}, {GLFW_KEY_RIGHT, "ArrowRight"}, {GLFW_KEY_UP, "ArrowUp"},
          {GLFW_KEY_DOWN, "ArrowDown"}, {GLFW_KEY_PAGE_UP, "PageUp"},   {GLFW_KEY_PAGE_DOWN, "PageDown"},
          {GLFW_KEY_ESCAPE, "Escape"}};
      const auto named = names.find(key);
      if (action == GLFW_RELEASE || named == names.end()) return;
      static_cast<inside*>(glfwGetWindowUserPointer(of))->press(named->second, (modifiers & GLFW_MOD_SHIFT) != 0);
    });
    glfwSetCursorPosCallback(handle, [](GLFWwindow* of, double x, double y) {
      inside& self = *static_cast<inside*>(glfwGetWindowUserPointer(of));
      const double across = x - self.pointer_x, down = y - self.pointer_y;
      self.pointer_x = x;
      self.pointer_y = y;
      if (glfwGetMouseButton(of, GLFW_MOUSE_BUTTON_LEFT) == GLFW_PRESS) {
        self.now.view.azimuth -= 0.4 * across;
        self.now.view.elevation = std::clamp(self.now.view.elevation + 0.4 * down, -89.9, 89.9);
      } else if (glfwGetMouseButton(of, GLFW_MOUSE_BUTTON_RIGHT) == GLFW_PRESS) {
        self.pan(-0.004 * across / self.now.view.zoom, 0.004 * down / self.now.view.zoom);
      }
    });
    glfwSetScrollCallback(handle, [](GLFWwindow* of, double, double steps) {
      static_cast<inside*>(glfwGetWindowUserPointer(of))->now.view.zoom *= std::pow(1.1, steps);
    });
  }
};

bool has_window() { return true; }

window::window(const scene& shown, const view_settings& view, int width, int height, bool hidden)
    : inside_(std::make_unique<inside>()) {
  inside& self = *inside_;
  self.shown = shown;
  self.first = view;
  self.reach = shown.sponge ? std::sqrt(3.0) : std::hypot(shown.axes[0].half, shown.axes[1].half, shown.axes[2].half);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  glfwWindowHint(GLFW_SAMPLES, 4);
  glfwWindowHint(GLFW_VISIBLE, hidden ? GLFW_FALSE : GLFW_TRUE);
  self.handle = glfwCreateWindow(width, height, shown.title.c_str(), nullptr, nullptr);
  if (self.handle == nullptr) {
    const char* reason = nullptr;
    glfwGetError(&reason);
    throw std::runtime_error(std::string("no window can be opened: ") + (reason != nullptr ? reason : "no OpenGL 3.3"));
  }
  glfwMakeContextCurrent(self.handle);
  self.program = glCreateProgram();
  glAttachShader(self.program, compiled(GL_VERTEX_SHADER, vertex_program));
  glAttachShader(self.program, compiled(GL_FRAGMENT_SHADER, fragment_program));
  glLinkProgram(self.program);
  self.listen();
  self.reset();
}

window::~window() {
  if (inside_->handle != nullptr) glfwDestroyWindow(inside_->handle);
}

void window::run() {
  inside& self = *inside_;
  while (glfwWindowShouldClose(self.handle) == GLFW_FALSE) {
    const double time = glfwGetTime();
    if (self.now.view.orbit) self.now.view.azimuth += 0.3;
    if (self.now.view.play && time - self.last_moment > 0.08) {
      self.last_moment = time;
      self.show_moment(self.now.moment + 1);
    }
    self.draw();
    glfwSwapBuffers(self.handle);
    if (self.now.view.orbit || self.now.view.play)
      glfwPollEvents();
    else
      glfwWaitEvents();
  }
  self.now.open = false;
}

bool window::press(std::string_view key, bool shift) { return inside_->press(key, shift); }

window_state window::state() const {
  window_state state = inside_->now;
  state.open = glfwWindowShouldClose(inside_->handle) == GLFW_FALSE;
  return state;
}

std::vector<std::uint8_t> window::pixels() {
  inside_->draw();
  const std::size_t across = static_cast<std::size_t>(width()), down = static_cast<std::size_t>(height());
  std::vector<std::uint8_t> upwards(3 * across * down), made(3 * across * down);
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, width(), height(), GL_RGB, GL_UNSIGNED_BYTE, upwards.data());
  for (std::size_t y = 0; y < down; ++y)
    std::copy_n(upwards.data() + 3 * across * (down - 1 - y), 3 * across, made.data() + 3 * across * y);
  return made;
}

int window::width() const {
  int width = 0, height = 0;
  glfwGetFramebufferSize(inside_->handle, &width, &height);
  return width;
}

int window::height() const {
  int width = 0, height = 0;
  glfwGetFramebufferSize(inside_->handle, &width, &height);
  return height;
}

}  // namespace shoal::viewer
