// Numbers in files have a point, whatever the locale of the program that reads them writes.
#include <clocale>
#include <cstdlib>
#include <locale>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include "files.hpp"

#include <shoal/gmm/gmm.hpp>
#include <shoal/io/write_rows.hpp>

namespace {

using namespace testing_files;

// A locale whose numbers have a comma, while the test runs: one of the machine's, or one made for the test.
class Locale : public testing::Test {
 protected:
  void SetUp() override {
    if (chosen("de_DE.UTF-8") || chosen("fr_FR.UTF-8")) return;
    const std::string made = place_.path("de_DE.UTF-8");
    const std::string command = "localedef -i de_DE -f UTF-8 '" + made + "' >/dev/null 2>&1";
    const int status = std::system(command.c_str());
    ::setenv("LOCPATH", place_.path("").c_str(), 1);
    if (!chosen("de_DE.UTF-8")) {
      GTEST_SKIP() << "no locale that writes a comma is here, and localedef made none (status " << status << ")";
    }
  }
  void TearDown() override {
    std::locale::global(before_);
    std::setlocale(LC_ALL, "C");
  }

  const folder& place() const { return place_; }

 private:
  // For the functions of C and the streams of C++.
  static bool chosen(const char* name) {
#ifdef __SANITIZE_ADDRESS__
    const __lsan::ScopedDisabler disabled;  // the C library keeps what it has read of LOCPATH
#endif
    if (std::setlocale(LC_ALL, name) == nullptr || std::strtod("1,5", nullptr) != 1.5) return false;
    std::locale::global(std::locale(name));
    return true;
  }

  folder place_;
  std::locale before_;
};

TEST_F(Locale, ATextFileIsReadAlike) {
  const auto read = [this](std::string_view text) {
    return all_values(*shoal::open_rows<double>(place().write("t.csv", text)).rows);
  };
  EXPECT_EQ(read("1.5,-2.25e1\n.5,1e-400\n"), (std::vector<double>{1.5, -22.5, 0.5, 0}));
  EXPECT_EQ(read("1.5e-400\n123.25e-1\n"), (std::vector<double>{0, 12.325}));
  for (const char* text : {"1.5e400\n", "-1.5e400\n", "1\n15.5e308\n"}) {
    expect_refusal<shoal::bad_data>([&] { read(text); }, {"too large for float64"});
  }
}

TEST_F(Locale, AModelFileIsWrittenAndReadAlike) {
  shoal::gmm::model model;
  model.components = 2;
  model.columns = 1;
  model.covariance_type = shoal::gmm::covariance_type::diag;
  model.weights = {0.25, 0.75};
  model.means = {-1.5, 1234567.890625};
  model.covariances = {1.0 / 3, 2.5e-7};
  const std::string path = place().path("model.json");
  shoal::gmm::save_model(path, model);
  EXPECT_NE(contents(path).find("1234567.890625"), std::string::npos);
  const shoal::gmm::model loaded = shoal::gmm::load_model(path);
  EXPECT_EQ(loaded.weights, model.weights);
  EXPECT_EQ(loaded.means, model.means);
  EXPECT_EQ(loaded.covariances, model.covariances);
}

TEST_F(Locale, RowsAreWrittenWithAPoint) {
  const std::vector<double> values = {1.5, 1234567.25};
  const std::string path = place().path("out.csv");
  shoal::write_csv<double>(path, shoal::view_source<double>({values.data(), 2, 1}), {});
  EXPECT_EQ(contents(path), "1.5\n1234567.25\n");
}

}  // namespace
