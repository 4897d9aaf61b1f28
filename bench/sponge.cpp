// Pictures and mesh files of the sponge: how long a picture takes, and how near binary files come to the rate of a
// pipe.
//
//   sponge [cuda] [pictures] [meshes]   prints one JSON object: pictures on the host or the first GPU, and mesh files
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

// The same number of bytes from memory, which no program that computes them can pass.
void write_bytes(int descriptor, std::uint64_t bytes, const std::vector<char>& from) {
  for (std::uint64_t left = bytes; left > 0;) {
    const ssize_t written = ::write(descriptor, from.data(), std::min<std::uint64_t>(left, from.size()));
    if (written < 0) std::abort();
    left -= static_cast<std::uint64_t>(written);
  }
}

// What cat does: from a file that the system has in memory into the pipe.
void copy_file(int descriptor, int file) {
  std::vector<char> held(std::size_t{1} << 17);
  ::lseek(file, 0, SEEK_SET);
  for (ssize_t read = 0; (read = ::read(file, held.data(), held.size())) > 0;) {
    if (::write(descriptor, held.data(), static_cast<std::size_t>(read)) != read) std::abort();
  }
}

std::string mesh_rate(std::string_view name, mesh_format format, unsigned order, int rounds) {
  const std::uint64_t bytes = size_of_mesh_file(format, order).bytes;
  const std::vector<char> memory(piece, 'x');
  std::vector<double> own, plain, copied, ratios, copy_ratios;
  const std::string path = fmt::format("/tmp/shoal_bench_sponge.{}", ::getpid());
  write_mesh(path, format, order);
  const int file = ::open(path.c_str(), O_RDONLY);
  if (file < 0) std::abort();
  ::unlink(path.c_str());
  for (int round = 0; round < rounds; ++round) {
    plain.push_back(through_a_pipe([&](int descriptor) { write_bytes(descriptor, bytes, memory); }));
    copied.push_back(through_a_pipe([&](int descriptor) { copy_file(descriptor, file); }));
    own.push_back(
        through_a_pipe([&](int descriptor) { write_mesh("/dev/fd/" + std::to_string(descriptor), format, order); }));
    ratios.push_back(plain.back() / own.back());
    copy_ratios.push_back(copied.back() / own.back());
  }
  ::close(file);
  return fmt::format(
      R"({{"format":"{}","order":{},"bytes":{},"seconds":{:.4},"pipe_seconds":{:.4},"cat_seconds":{:.4},)"
      R"("share_of_pipe":{:.3},"share_of_cat":{:.3}}})",
      name, order, bytes, median(own), median(plain), median(copied), median(ratios), median(copy_ratios));
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
  bool on_gpu = false, pictures_wanted = count == 1, meshes_wanted = count == 1;
  for (int i = 1; i < count; ++i) {
    on_gpu |= std::string_view(words[i]) == "cuda";
    pictures_wanted |= std::string_view(words[i]) == "pictures";
    meshes_wanted |= std::string_view(words[i]) == "meshes";
  }
  const shoal::device_choice device = shoal::choose_device(on_gpu ? "cuda" : "cpu");
  std::string pictures, meshes;
  for (const unsigned order : {4u, 8u, 20u}) {
    for (const std::size_t sky_rays : {std::size_t{0}, std::size_t{16}}) {
      if (pictures_wanted) pictures += (pictures.empty() ? "" : ",\n  ") + picture_time(order, sky_rays, device, 9);
    }
  }
  constexpr std::pair<std::string_view, mesh_format> formats[] = {
      {"stl", mesh_format::stl}, {"ply", mesh_format::ply}, {"glb", mesh_format::glb}};
  for (const auto& [name, format] : formats) {
    if (meshes_wanted) meshes += (meshes.empty() ? "" : ",\n  ") + mesh_rate(name, format, 5, 15);
  }
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  fmt::print(
      "{{\n \"what\": \"sponge\",\n \"device\": \"{}\",\n \"threads\": {},\n \"pictures\": [\n  {}\n ],\n"
      " \"mesh_files\": [\n  {}\n ],\n \"largest_memory_bytes\": {}\n}}\n",
      shoal::device_name(device), shoal::default_threads(), pictures, meshes, used.ru_maxrss * 1024);
}
