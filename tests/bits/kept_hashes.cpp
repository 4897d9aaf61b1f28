#include "kept_hashes.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <shoal/io/io.hpp>
#include <shoal/kmeans/fit.hpp>

namespace bits {
namespace {

using nlohmann::json;

// Programs that were packed for another machine find the project's files where SHOAL_SOURCE says.
std::filesystem::path kept_file() {
  const char* named = std::getenv("SHOAL_SOURCE");
  return std::filesystem::path(named != nullptr ? named : SHOAL_SOURCE_DIR) / "tests" / "bits" / "kept.json";
}

const char* file_to_write() { return std::getenv("SHOAL_WRITE_BITS"); }

json read(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error(fmt::format("cannot read {}", file.string()));
  return json::parse(stream);
}

void compare(const std::string& hardware, const json& kept, const std::map<std::string, std::string>& found) {
  for (const auto& [name, got] : found) {
    if (!kept.contains(name)) {
      ADD_FAILURE() << name << " on " << hardware << ": no hash is kept, got " << got;
    } else if (const std::string expected = kept.at(name); got != expected) {
      ADD_FAILURE() << name << " on " << hardware << ": expected " << expected << ", got " << got;
    }
  }
  for (const auto& [name, hash] : kept.items()) {
    if (!found.contains(name)) ADD_FAILURE() << name << " on " << hardware << ": kept, and there is no such fit";
  }
}

}  // namespace

std::string hardware_of(const place& place) {
  const std::vector<double> two{0, 1};
  shoal::kmeans::options options;
  options.clusters = 1;
  options.device = place.device;
  return shoal::kmeans::fit(shoal::matrix_view<const double>(two.data(), 2, 1), options).hardware;
}

std::string nothing_kept(const std::string& hardware) {
  if (file_to_write() != nullptr || read(kept_file()).contains(hardware)) return {};
  return fmt::format(
      "tests/bits/kept.json keeps no hashes of {}: SHOAL_WRITE_BITS=FILE writes them, with all others, into FILE",
      hardware);
}

void compare_or_write(const std::string& hardware, const std::vector<kept_fit>& fits, const place& place) {
  std::map<std::string, std::string> found;
  for (const kept_fit& fit : fits) {
    if (found.contains(fit.name)) ADD_FAILURE() << "two fits are named \"" << fit.name << '"';
    try {
      found[fit.name] = fmt::format("{:016x}", fit.hash(place));
    } catch (const std::exception& refusal) {
      ADD_FAILURE() << fit.name << " on " << hardware << ": " << refusal.what();
      found[fit.name] = "a refusal";
    }
  }
  const char* file = file_to_write();
  if (file == nullptr) return compare(hardware, read(kept_file()).at(hardware), found);
  if (testing::Test::HasFailure()) return;
  json sets = read(std::filesystem::exists(file) ? std::filesystem::path(file) : kept_file());
  sets[hardware] = found;
  shoal::write_file_atomically(file, sets.dump(1) + "\n");
}

}  // namespace bits
