#include <shoal/io/checkpoint.hpp>

#include <unistd.h>
#include <zlib.h>

#include <bit>
#include <charconv>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <shoal/core/error.hpp>
#include <shoal/io/whole_file.hpp>

namespace shoal {
namespace {

using nlohmann::json;

constexpr int version = 1;
constexpr std::size_t largest_file = std::size_t{8} << 30;
constexpr std::size_t digits = 16;  // hexadecimal digits of one 64-bit word

// Numbers go in as the hexadecimal of their bits: exact for every value, not-a-numbers and packed integers included.
std::string encode(const std::vector<double>& values) {
  std::string text;
  text.reserve(values.size() * digits);
  for (const double value : values)
    fmt::format_to(std::back_inserter(text), "{:016x}", std::bit_cast<std::uint64_t>(value));
  return text;
}

std::vector<double> decode(const std::string& text) {
  if (text.size() % digits != 0) throw bad_data("a list of numbers is cut short");
  std::vector<double> values;
  values.reserve(text.size() / digits);
  for (std::size_t at = 0; at < text.size(); at += digits) {
    std::uint64_t word = 0;
    const auto [end, failure] = std::from_chars(text.data() + at, text.data() + at + digits, word, 16);
    if (failure != std::errc() || end != text.data() + at + digits)
      throw bad_data("a list of numbers holds other characters");
    values.push_back(std::bit_cast<double>(word));
  }
  return values;
}

std::uint32_t checksum(std::string_view text) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()));
}

json pack(const checkpoint& point) {
  json packed{{"restart", point.restart},
              {"finished", point.finished},
              {"objectives", encode(point.objectives)},
              {"changes", encode(point.changes)},
              {"state", encode(point.state)}};
  if (point.best) {
    packed["best"] = {{"score", encode({point.best->score})},
                      {"converged", point.best->converged},
                      {"history", encode(point.best->history)},
                      {"state", encode(point.best->state)}};
  }
  return packed;
}

checkpoint unpack(const json& packed) {
  checkpoint point;
  point.restart = packed.at("restart").get<std::size_t>();
  point.finished = packed.at("finished").get<bool>();
  point.objectives = decode(packed.at("objectives").get<std::string>());
  point.changes = decode(packed.at("changes").get<std::string>());
  point.state = decode(packed.at("state").get<std::string>());
  if (point.changes.size() != point.objectives.size()) throw bad_data("its step lists differ in length");
  if (const auto best = packed.find("best"); best != packed.end()) {
    finished_restart restart;
    restart.score = decode(best->at("score").get<std::string>()).at(0);
    restart.converged = best->at("converged").get<bool>();
    restart.history = decode(best->at("history").get<std::string>());
    restart.state = decode(best->at("state").get<std::string>());
    point.best = std::move(restart);
  }
  if (point.finished && !point.best) throw bad_data("it is finished but holds no result");
  return point;
}

void compare(const std::string& path, const fit_identity& theirs, const fit_identity& ours) {
  std::string differences;
  for (const auto& [name, value] : ours) {
    std::string_view there = "absent";
    for (const auto& [other, text] : theirs) {
      if (other == name) there = text;
    }
    if (there != value)
      differences += fmt::format("{}{} is {} there and {} here", differences.empty() ? "" : "; ", name, there, value);
  }
  if (differences.empty()) return;
  throw bad_argument(fmt::format(
      "{}: this checkpoint belongs to another fit: {}. Use the same data and options, or remove the file to start anew",
      path, differences));
}

}  // namespace

void write_checkpoint(const std::string& path, const fit_identity& identity, const checkpoint& point) {
  json identity_json = json::object();
  for (const auto& [name, value] : identity) identity_json[name] = value;
  const std::string body = json{{"identity", identity_json}, {"fit", pack(point)}}.dump();
  // The body stands in one line of its own, so that the sum of its bytes can be checked before it is parsed.
  write_file_atomically(
      path, fmt::format("{{\"format\":\"shoal/checkpoint\",\"version\":{},\"crc32\":{},\"body\":\n{}\n}}\n", version,
                        checksum(body), body));
}

std::optional<checkpoint> read_checkpoint(const std::string& path, const fit_identity& identity) {
  if (::access(path.c_str(), F_OK) != 0) return std::nullopt;
  const std::string text = read_whole_file(path, largest_file);
  const auto damaged = [&](std::string_view why) {
    return bad_data(fmt::format("{}: not a usable checkpoint: {}. Remove the file to start anew", path, why));
  };
  const std::size_t first = text.find('\n');
  const std::size_t last = first == std::string::npos ? first : text.find('\n', first + 1);
  if (last == std::string::npos) throw damaged("it is cut short");
  const std::string_view body = std::string_view(text).substr(first + 1, last - first - 1);
  try {
    const json head = json::parse(text.substr(0, first) + "null}");
    if (head.at("format") != "shoal/checkpoint") throw damaged("it is not a checkpoint of shoal");
    if (head.at("version") != version) {
      throw damaged(
          fmt::format("its version is {}, and this program reads version {}", head.at("version").dump(), version));
    }
    if (head.at("crc32") != checksum(body)) throw damaged("its checksum does not match");
    const json parsed = json::parse(body);
    fit_identity theirs;
    for (const auto& [name, value] : parsed.at("identity").items()) theirs.emplace_back(name, value.get<std::string>());
    compare(path, theirs, identity);
    return unpack(parsed.at("fit"));
  } catch (const json::exception&) {
    throw damaged("its JSON is damaged");
  } catch (const bad_data& failure) {
    if (std::string_view(failure.what()).starts_with(path)) throw;
    throw damaged(failure.what());
  }
}

}  // namespace shoal
