#include "sponge/picture_words.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

#include "common/words.hpp"

namespace shoal::app {
namespace {

constexpr double lowest = -std::numeric_limits<double>::max();

geometry::light parse_light(const std::string& option, const std::string& text) {
  const std::vector<std::string> parts = parse_names(option, text);
  if (parts.size() != 2 && parts.size() != 3) {
    throw bad_argument(fmt::format("{}: '{}' is not AZIMUTH,ELEVATION or AZIMUTH,ELEVATION,STRENGTH", option, text));
  }
  geometry::light read;
  read.azimuth = parse_number(option, parts[0], lowest);
  read.elevation = parse_number(option, parts[1], lowest);
  if (parts.size() == 3) read.strength = parse_number(option, parts[2], 0);
  return read;
}

}  // namespace

std::pair<std::size_t, std::size_t> parse_size(const std::string& option, const std::string& text) {
  const std::size_t cross = text.find('x');
  if (cross == std::string::npos) {
    throw bad_argument(fmt::format("{}: '{}' is not WIDTHxHEIGHT, as 1920x1080", option, text));
  }
  return {parse_count(option, text.substr(0, cross), 1), parse_count(option, text.substr(cross + 1), 1)};
}

std::vector<geometry::light> parse_lights(const std::string& option, const std::string& text) {
  std::vector<geometry::light> lights;
  if (text == "none") return lights;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    lights.push_back(parse_light(option, text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return lights;
}

geometry::section_plane parse_section(const std::string& option, const std::string& text) {
  if (text == "hexagon") return {};
  const std::vector<std::string> parts = parse_names(option, text);
  if (parts.size() != 4) {
    throw bad_argument(
        fmt::format("{}: '{}' is not hexagon, nor A,B,C,D of a plane A·x + B·y + C·z = D, as 1,1,1,1.5", option, text));
  }
  geometry::section_plane read;
  for (std::size_t i = 0; i < 3; ++i) {
    const double part = parse_number(option, parts[i], -1000);
    if (part != std::floor(part) || part > 1000) {
      throw bad_argument(fmt::format("{}: '{}' must be a whole number from -1000 to 1000", option, parts[i]));
    }
    read.normal[i] = static_cast<int>(part);
  }
  read.offset = parse_number(option, parts[3], lowest);
  return read;
}

std::array<std::uint8_t, 3> parse_colour(const std::string& option, const std::string& text) {
  const std::string digits = text.starts_with('#') ? text.substr(1) : text;
  std::uint32_t value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (problem != std::errc() || digits.size() != 6 || end != digits.data() + digits.size()) {
    throw bad_argument(fmt::format("{}: '{}' is not a colour of six hexadecimal digits, as ffffff", option, text));
  }
  return {static_cast<std::uint8_t>(value >> 16), static_cast<std::uint8_t>(value >> 8),
          static_cast<std::uint8_t>(value)};
}

}  // namespace shoal::app
