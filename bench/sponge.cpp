// Pictures and mesh files of the sponge: how long a picture takes, and how near binary files come to the rate of a
// pipe.
//
//   sponge [--device cuda]   prints one JSON object
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include <shoal/execution/default_threads.hpp>
#include <shoal/geometry/geometry.hpp>

namespace {

using namespace shoal::geometry;

constexpr std::size_t piece = std::size_t{1} << 18;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Seconds that `write(descriptor)` takes into a pipe whose other end is read and forgotten.
double through_a_pipe(const std::function<void(int)>& write) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  return seconds_of([&] {
    std::thread reader([&] {
      std::vector<char> read(piece);
      while (::read(ends[0], read.data(), read.size()) > 0) {
      }
    });
    write(ends[1]);
    ::close(ends[1]);
    reader.join();
    ::close(ends[0]);
  });
}

// The same number of bytes from memory, as cat would write them from the system's cache.
void write_bytes(int descriptor, std::uint64_t bytes, const std::vector<char>& from) {
  for (std::uint64_t left = bytes; left > 0;) {
    const ssize_t written = ::write(descriptor, from.data(), std::min<std::uint64_t>(left, from.size()));
    if (written < 0) std::abort();
    left -= static_cast<std::uint64_t>(written);
  }
}

std::string mesh_rate(std::string_view name, mesh_format format, unsigned order, int rounds) {
  const std::uint64_t bytes = size_of_mesh_file(format, order).bytes;
  const std::vector<char> memory(piece, 'x');
  std::vector<double> own, plain, ratios;
  for (int round = 0; round < rounds; ++round) {
    plain.push_back(through_a_pipe([&](int descriptor) { write_bytes(descriptor, bytes, memory); }));
    own.push_back(
        through_a_pipe([&](int descriptor) { write_mesh("/dev/fd/" + std::to_string(descriptor), format, order); }));
    ratios.push_back(plain.back() / own.back());
  }
  return fmt::format(R"({{"format":"{}","order":{},"bytes":{},"seconds":{:.4},"pipe_seconds":{:.4},)"
                     R"("best_seconds":{:.4},"best_pipe_seconds":{:.4},"share_of_pipe":{:.3}}})",
                     name, order, bytes, median(own), median(plain), *std::min_element(own.begin(), own.end()),
                     *std::min_element(plain.begin(), plain.end()), median(ratios));
}

std::string picture_time(unsigned order, std::size_t sky_rays, const shoal::device_choice& device, int rounds) {
  picture_options options;
  options.order = order;
  options.width = 1920;
  options.height = 1080;
  options.samples = 1;
  options.sky_rays = sky_rays;
  options.device = device;
  draw_sponge(options);
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) seconds.push_back(draw_sponge(options).seconds);
  return fmt::format(
      R"({{"order":{},"width":1920,"height":1080,"lights":1,"sky_rays":{},"seconds":{:.4},"best_seconds":{:.4}}})",
      order, sky_rays, median(seconds), *std::min_element(seconds.begin(), seconds.end()));
}

}  // namespace

int main(int count, char** words) {
  const bool on_gpu = count == 3 && std::string_view(words[1]) == "--device";
  const shoal::device_choice device = shoal::choose_device(on_gpu ? words[2] : "cpu");
  std::string pictures, meshes;
  for (const unsigned order : {4u, 8u, 20u}) {
    for (const std::size_t sky_rays : {std::size_t{0}, std::size_t{16}}) {
      pictures += (pictures.empty() ? "" : ",\n  ") + picture_time(order, sky_rays, device, 9);
    }
  }
  if (!on_gpu) {
    constexpr std::pair<std::string_view, mesh_format> formats[] = {
        {"stl", mesh_format::stl}, {"ply", mesh_format::ply}, {"glb", mesh_format::glb}};
    for (const auto& [name, format] : formats) {
      meshes += (meshes.empty() ? "" : ",\n  ") + mesh_rate(name, format, 5, 9);
    }
  }
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  fmt::print(
      "{{\n \"what\": \"sponge\",\n \"device\": \"{}\",\n \"threads\": {},\n \"pictures\": [\n  {}\n ],\n"
      " \"mesh_files\": [\n  {}\n ],\n \"largest_memory_bytes\": {}\n}}\n",
      shoal::device_name(device), shoal::default_threads(), pictures, meshes, used.ru_maxrss * 1024);
}
