// Outputs that cannot be written: said before the work where it can be known, and never half a file.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.hpp"

namespace {

using namespace shoal_test;

class outputs : public testing::Test {
 protected:
  outputs() {
    const outcome made = run({"data", "generate", "--rows", "3000", "--columns", "2", "--components", "2", "--output",
                              folder / "rows.npy", "--quiet"});
    EXPECT_EQ(made.status, 0) << made.err;
  }

  std::size_t files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder.path())) ++count;
    return count;
  }

  scratch_folder folder;
};

TEST_F(outputs, a_folder_that_is_not_there) {
  for (const char* option : {"--output", "--labels", "--report", "--checkpoint"}) {
    const outcome result = run({"gmm", "fit", folder / "rows.npy", "--components", "2", option, folder / "nothere/x"});
    EXPECT_EQ(result.status, 1) << option;
    EXPECT_NE(result.err.find(option), std::string::npos) << result.err;
    EXPECT_EQ(result.err.find("device"), std::string::npos) << "before the work: " << result.err;
  }
}

TEST_F(outputs, a_name_that_is_no_file) {
  fs::create_directory(folder / "sub");
  EXPECT_EQ(run({"gmm", "fit", folder / "rows.npy", "--components", "2", "--output", folder / "sub"}).status, 1);
  // Renaming a file onto a device would destroy the device.
  EXPECT_EQ(run({"gmm", "fit", folder / "rows.npy", "--components", "2", "--output", "/dev/null"}).status, 1);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

unsigned mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

TEST_F(outputs, keep_the_permissions_of_what_they_replace) {
  for (const char* name : {"m.json", "l.npy", "r.html", "c", "x.csv", "x.npy"}) {
    write_file(folder / name, "old");
    fs::permissions(folder / name, fs::perms::owner_read | fs::perms::owner_write);
  }
  fs::remove(folder / "c");  // what stands there is no checkpoint
  const outcome fit = run({"gmm", "fit", folder / "rows.npy", "--components", "2", "--output", folder / "m.json",
                           "--labels", folder / "l.npy", "--report", folder / "r.html", "--quiet"});
  ASSERT_EQ(fit.status, 0) << fit.err;
  for (const char* end : {"x.csv", "x.npy"}) {
    ASSERT_EQ(run({"data", "convert", folder / "rows.npy", folder / end, "--quiet"}).status, 0);
  }
  for (const char* name : {"m.json", "l.npy", "r.html", "x.csv", "x.npy"}) {
    EXPECT_EQ(mode_of(folder / name), 0600u) << name;
    EXPECT_NE(read_file(folder / name), "old") << name;
  }
}

// The shell has opened what /dev/stdout is, perhaps to append: it is nothing that a file could replace.
TEST_F(outputs, an_open_descriptor_is_no_file) {
  for (const char* name : {"/dev/stdout", "/dev/stderr", "/dev/fd/1", "/proc/self/fd/1"}) {
    const outcome result = run({"gmm", "fit", folder / "rows.npy", "--components", "2", "--output", name, "--quiet"});
    EXPECT_EQ(result.status, 2) << name;
    EXPECT_NE(result.err.find("is no name of a file"), std::string::npos) << result.err;
  }
}

TEST_F(outputs, a_killed_program_leaves_no_parts) {
  ASSERT_EQ(run({"data", "generate", "--rows", "400000", "--columns", "4", "--components", "2", "--output",
                 folder / "large.npy", "--quiet"})
                .status,
            0);
  const std::size_t before = files();
  for (const int milliseconds : {30, 100, 200}) {
    process convert({"data", "convert", folder / "large.npy", folder / "large.csv", "--quiet"});
    usleep(1000 * milliseconds);
    convert.send(SIGKILL);
    convert.wait();
    fs::remove(folder / "large.csv");  // on a fast machine it was whole
    EXPECT_EQ(files(), before);
  }
}

TEST_F(outputs, files_that_are_read_are_not_replaced) {
  fs::rename(folder / "rows.npy", folder / "rows");
  write_npy(folder / "weights.npy", std::vector<double>(3000, 1.0), 3000, 1);
  fs::rename(folder / "weights.npy", folder / "weights");
  fs::create_symlink(folder / "rows", folder / "link");
  const std::vector<std::string> fit = {"gmm", "fit",       folder / "rows",    "--components",
                                        "2",   "--weights", folder / "weights", "--quiet"};
  EXPECT_EQ(run({"gmm", "fit", folder / "rows", "--components", "2", "--output", folder / "model"}).status, 0);
  const auto expect_refused = [&](std::vector<std::string> words, const char* option, const std::string& file,
                                  const char* read_as) {
    const std::string before = read_file(file);
    words.insert(words.end(), {option, file});
    const outcome result = run(words);
    EXPECT_EQ(result.status, 2) << option << " " << file << result.err;
    EXPECT_NE(result.err.find(std::string(option) + " would replace " + read_as), std::string::npos) << result.err;
    EXPECT_EQ(read_file(file), before);
  };
  for (const char* option : {"--output", "--labels", "--report", "--checkpoint"}) {
    expect_refused(fit, option, folder / "rows", "DATA");
    expect_refused(fit, option, folder / "./rows", "DATA");
    expect_refused(fit, option, folder / "link", "DATA");
    expect_refused(fit, option, folder / "weights", "--weights");
  }
  expect_refused({"kmeans", "select", folder / "rows", "--clusters", "1,2"}, "--labels", folder / "rows", "DATA");
  expect_refused({"gmm", "predict", folder / "model", folder / "rows"}, "--output", folder / "model", "MODEL");
  expect_refused({"gmm", "predict", folder / "model", folder / "rows"}, "--output", folder / "rows", "DATA");
  expect_refused({"gmm", "sample", folder / "model", "--rows", "5"}, "--output", folder / "model", "MODEL");
  write_file(folder / "classes.csv", "a,class\n1,x\n2,y\n");
  fs::rename(folder / "classes.csv", folder / "classes");
  expect_refused({"data", "convert", folder / "classes", folder / "a.npy", "--label-column", "class"}, "--labels",
                 folder / "classes", "DATA");
  EXPECT_FALSE(fs::exists(folder / "a.npy"));
}

TEST_F(outputs, a_fit_may_replace_the_model_that_it_began_from) {
  const std::string model = folder / "m.json";
  ASSERT_EQ(run({"gmm", "fit", folder / "rows.npy", "--components", "2", "--output", model}).status, 0);
  EXPECT_EQ(run({"gmm", "fit", folder / "rows.npy", "--init", model, "--output", model}).status, 0);
}

TEST_F(outputs, one_file_under_two_names) {
  const outcome result = run(
      {"gmm", "fit", folder / "rows.npy", "--components", "2", "--output", folder / "x", "--labels", folder / "./x"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("both name"), std::string::npos) << result.err;
}

TEST_F(outputs, a_name_of_another_format) {
  const auto expect_refused = [&](std::vector<std::string> words, const std::string& part) {
    const outcome result = run(words);
    EXPECT_EQ(result.status, 2) << words.back() << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(words.back()));
  };
  const std::vector<std::string> fit = {"gmm", "fit", folder / "rows.npy", "--components", "2"};
  const auto with = [&](const char* option, const char* name) {
    std::vector<std::string> words = fit;
    words.insert(words.end(), {option, folder / name});
    return words;
  };
  expect_refused(with("--labels", "labels.csv"), "labels.csv' ends in .csv, but a .npy file is written");
  expect_refused(with("--labels", "labels.txt"), "labels.txt' ends in .txt");
  expect_refused(with("--labels", "labels.npy.gz"), "ends in .gz");
  expect_refused(with("--output", "labels.npy"), "labels.npy' ends in .npy, but a .json file is written");
  expect_refused(with("--report", "report.pdf"), "ends in .pdf, but a .html file is written");
  expect_refused(
      {"data", "generate", "--rows", "5", "--columns", "2", "--components", "2", "--output", folder / "rows.csv"},
      "shoal data convert");
  EXPECT_EQ(run(with("--labels", "labels")).status, 0) << "a name without an ending says nothing";
  std::vector<std::string> words = fit;
  words.insert(words.end(), {"--labels", "-"});
  expect_refused(words, "standard output");
}

TEST_F(outputs, a_file_that_outgrows_the_disk) {
  const std::size_t before = files();
  spawn_options options;
  options.file_size_limit = 4096;
  const std::vector<std::vector<std::string>> commands = {
      {"gmm", "fit", folder / "rows.npy", "--components", "2", "--labels", folder / "labels.npy"},
      {"data", "generate", "--rows", "100000", "--columns", "2", "--components", "2", "--output", folder / "more.npy"},
      {"data", "convert", folder / "rows.npy", folder / "rows.csv"},
      {"data", "convert", folder / "rows.npy", folder / "copy.npy"},
      {"gmm", "fit", folder / "rows.npy", "--components", "2", "--report", folder / "report.html"},
      {"gmm", "fit", folder / "rows.npy", "--components", "200", "--max-iterations", "1", "--output",
       folder / "m.json"}};
  for (const auto& command : commands) {
    const outcome result = run(command, options);
    EXPECT_EQ(result.status, 1) << command[1] << result.err;
    EXPECT_EQ(result.out, "") << command[1];
    EXPECT_TRUE(is_clean_text(result.err));
    EXPECT_EQ(files(), before) << command[1] << ": nothing is left";
  }
}

TEST_F(outputs, an_older_file_survives_a_failed_one) {
  write_file(folder / "m.json", "mine");
  spawn_options options;
  options.file_size_limit = 64;
  EXPECT_EQ(
      run({"gmm", "fit", folder / "rows.npy", "--components", "2", "--output", folder / "m.json"}, options).status, 1);
  EXPECT_EQ(read_file(folder / "m.json"), "mine");
}

TEST_F(outputs, standard_output_that_is_full_or_closed) {
  for (const char* how : {"full", "closed"}) {
    spawn_options options;
    options.standard_output_full = std::string(how) == "full";
    options.standard_output_closed = !options.standard_output_full;
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"gmm", "fit", folder / "rows.npy", "--components", "2", "--json"},
          std::vector<std::string>{"data", "info", folder / "rows.npy"}, std::vector<std::string>{"--help"},
          std::vector<std::string>{"--version"}}) {
      const outcome result = run(command, options);
      EXPECT_EQ(result.status, 1) << how << " " << command[0] << result.err;
      EXPECT_TRUE(result.err.starts_with("shoal: standard output: cannot be written: ")) << how << " " << command[0];
      EXPECT_TRUE(is_clean_text(result.err));
    }
  }
}

TEST_F(outputs, the_usual_permissions) {
  ASSERT_EQ(run({"data", "convert", folder / "rows.npy", folder / "rows.csv"}).status, 0);
  struct stat status {};
  ASSERT_EQ(stat((folder / "rows.csv").c_str(), &status), 0);
  const mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(status.st_mode & 0777u, 0666u & ~mask);
}

}  // namespace
