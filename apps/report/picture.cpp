// Drawings: their colours, and how they become SVG.
#include "report/picture.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/text.hpp"

namespace shoal::report {

std::string_view style() {
  return R"css(:root{color-scheme:light dark;--paper:#ffffff;--panel:#f6f7f8;--ink:#1c2126;--muted:#5c6670;--grid:#e7eaed;--axis:#aeb6be;
--c0:#0072b2;--c1:#d55e00;--c2:#009e73;--c3:#cc79a7;--c4:#e69f00;--c5:#56b4e9;--c6:#a39a00;--c7:#4a4f55}
@media screen and (prefers-color-scheme:dark){:root{--paper:#14181c;--panel:#1c2126;--ink:#e8ebee;--muted:#9aa5b0;--grid:#262c32;--axis:#56606a;
--c0:#3a96db;--c1:#ea7430;--c2:#1cb38a;--c3:#d98cb8;--c4:#e9ab2c;--c5:#8fd3fa;--c6:#f0e442;--c7:#c3c9cf}}
.chart{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;font-size:12.5px}
.chart text{fill:var(--ink)}
.chart .tick{fill:var(--muted);font-size:11.5px}
.chart .heading{font-size:15px;font-weight:600}
.chart .mean{font-weight:700;font-size:13.5px;stroke:var(--paper);stroke-width:3.5px;stroke-linejoin:round;paint-order:stroke}
.chart{fill:none}
.chart .end{text-anchor:end}.chart .middle{text-anchor:middle}
.chart .grid{stroke:var(--grid)}.chart .axis{stroke:var(--axis)}
.chart .line{stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.chart .thin .line{stroke-width:1.3}.chart .thin .halo{stroke-width:2.6}.chart .thin .dashed{stroke-dasharray:3 2.5}
.chart .dashed{stroke-dasharray:5 4}
.chart .halo{stroke:var(--paper);stroke-width:3.6;stroke-opacity:.6}
.chart .dot{stroke-linecap:round}.chart .square{stroke-linecap:square}
.chart .paper{fill:var(--paper)}.chart .ring{fill:var(--paper);stroke-width:2.2}
.chart .bars{fill:var(--muted);fill-opacity:.3}.chart .area{fill-opacity:.42}
.sn{stroke:var(--muted)}.fn{fill:var(--muted)}.si{stroke:var(--ink)}
.s0{stroke:var(--c0)}.s1{stroke:var(--c1)}.s2{stroke:var(--c2)}.s3{stroke:var(--c3)}
.s4{stroke:var(--c4)}.s5{stroke:var(--c5)}.s6{stroke:var(--c6)}.s7{stroke:var(--c7)}
.f0{fill:var(--c0)}.f1{fill:var(--c1)}.f2{fill:var(--c2)}.f3{fill:var(--c3)}
.f4{fill:var(--c4)}.f5{fill:var(--c5)}.f6{fill:var(--c6)}.f7{fill:var(--c7)}
)css";
}

std::string coordinate(double value) {
  if (!std::isfinite(value)) return "0";
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

namespace {

std::string opening(const picture& drawing, std::string_view attributes) {
  const std::string described =
      drawing.description.empty() ? "" : fmt::format("<desc>{}</desc>", escape(drawing.description));
  return fmt::format(R"(<svg class="chart" role="img" {}viewBox="0 0 {} {}"><title>{}</title>{})", attributes,
                     coordinate(drawing.width), coordinate(drawing.height), escape(drawing.title), described);
}

}  // namespace

std::string inline_svg(const picture& drawing) { return opening(drawing, "") + drawing.body + "</svg>"; }

std::string standalone_svg(const picture& drawing) {
  const std::string attributes = fmt::format(R"(xmlns="http://www.w3.org/2000/svg" width="{}" height="{}" )",
                                             coordinate(drawing.width), coordinate(drawing.height));
  return fmt::format("{}<style>{}</style><rect class=\"paper\" width=\"100%\" height=\"100%\"/>{}</svg>\n",
                     opening(drawing, attributes), style(), drawing.body);
}

picture beside(std::span<const picture> drawings, std::string title, std::string description) {
  constexpr double gap = 28;
  constexpr double margin = 16;
  constexpr double heading = 40;
  picture whole{std::move(title), std::move(description), {}, margin, 0, {}};
  for (const picture& drawing : drawings) {
    whole.body +=
        fmt::format(R"a(<text class="heading" x="{0}" y="26">{1}</text><g transform="translate({0} {2})">{3}</g>)a",
                    coordinate(whole.width), escape(drawing.title), coordinate(heading), drawing.body);
    whole.width += drawing.width + (&drawing == &drawings.back() ? margin : gap);
    whole.height = std::max(whole.height, heading + drawing.height + margin);
  }
  return whole;
}

}  // namespace shoal::report
