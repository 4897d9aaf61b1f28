#include "viewer/page.hpp"

#include <fmt/format.h>

#include "report/page.hpp"
#include "report/text.hpp"
#include "viewer/embedded.hpp"
#include "viewer/scene_text.hpp"

namespace shoal::viewer {

std::string viewer_page(const scene& shown, const view_settings& view) {
  std::string notes;
  for (const std::string& note : shown.notes) notes += fmt::format("<p>{}</p>\n", report::escape(note));
  const std::string still_note =
      shown.still.note.empty() ? "" : fmt::format("<p>{}</p>\n", report::escape(shown.still.note));
  std::string body = fmt::format(
      "<div id=\"stage\" tabindex=\"0\" aria-label=\"{0}\"></div>\n"
      "<header><h1>{0}</h1><p id=\"subtitle\">{1}</p></header>\n"
      "<div id=\"legend\"></div>\n<div id=\"notes\">{2}</div>\n{3}"
      "<div id=\"still\"><p id=\"why\">This browser shows no WebGL 2, so here is a picture; elsewhere the page can be "
      "turned.</p>\n{5}{4}</div>\n"
      "<noscript><style>#still{{display:block;margin:80px "
      "20px}}#why{{display:none}}#controls{{display:none}}html,body{{overflow:auto}}</style></noscript>\n",
      report::escape(shown.title), report::escape(shown.subtitle), notes, viewer_controls(),
      report::inline_svg(shown.still), still_note);
  // The licences stand in a comment, whose end they do not hold.
  body += fmt::format("<!--\n{}-->\n", three_licences());
  body += fmt::format("<script type=\"application/json\" id=\"scene\">{}</script>\n", scene_text(shown, view));
  body += fmt::format("<script type=\"text/plain\" id=\"three\">{}</script>\n", three_module());
  body += fmt::format("<script>\n{}</script>\n", viewer_script());
  return report::document(shown.title, viewer_styles(), body);
}

}  // namespace shoal::viewer
