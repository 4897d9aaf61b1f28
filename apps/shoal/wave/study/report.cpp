// The page of the study.
#include <cmath>

#include <fmt/format.h>

#include "report/chart.hpp"
#include "report/page.hpp"
#include "report/text.hpp"
#include "wave/study/study.hpp"

namespace shoal::app::wave_study {
namespace {

report::picture draw_figure(const figure& of) {
  const auto shown = [&](double value) { return of.logarithmic ? std::log10(value) : value; };
  const std::string prefix = of.logarithmic ? "log10 of " : "";
  report::line_chart chart{
      fmt::format("Figure {}", of.number), of.title, prefix + of.x_label, prefix + of.y_label, {}, false, {}};
  for (const curve& line : of.curves) {
    report::line_series series{line.name, {}, {}, static_cast<int>(chart.series.size())};
    series.dashed = line.of_source;
    for (std::size_t i = 0; i < line.x.size(); ++i) {
      series.x.push_back(shown(line.x[i]));
      series.y.push_back(shown(line.y[i]));
    }
    chart.series.push_back(std::move(series));
  }
  return report::draw(chart);
}

}  // namespace

void write_report(const std::vector<figure>& figures, const std::vector<std::pair<std::string, std::string>>& facts,
                  const std::string& path) {
  report::page out("The article's figures, run again", "FitzHugh–Nagumo waves");
  out.facts(facts);
  for (const figure& of : figures) {
    out.section(fmt::format("{}. {}", of.number, of.title));
    out.figure(draw_figure(of));
    report::table numbers{"Here and in the article", {"what", "here", "article"}, {}, of.note};
    for (const value& one : of.values) {
      numbers.rows.push_back({{one.name},
                              {std::isfinite(one.measured) ? report::number(one.measured) : "-"},
                              {one.source.empty() ? "-" : one.source}});
    }
    out.add(numbers);
  }
  out.write(path);
}

}  // namespace shoal::app::wave_study
