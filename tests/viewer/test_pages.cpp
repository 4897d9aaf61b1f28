// Pages as text: whole, alone, and safe whatever names they hold.
#include <regex>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "viewer/page.hpp"
#include "viewer/sponge_scene.hpp"

namespace {

using namespace shoal::viewer;

std::size_t times_in(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

scene sponge_of_name(const std::string& name) {
  scene shown = sponge_scene(1, {});
  shown.title = name;
  shown.notes = {name};
  shown.axes[0].label = name;
  return shown;
}

TEST(pages, load_nothing) {
  const std::string page = viewer_page(sponge_scene(2, {}), {});
  EXPECT_EQ(times_in(page, "https:"), 0u);
  // Names of XML, which nobody opens.
  EXPECT_EQ(times_in(page, "http:"), times_in(page, "http://www.w3.org/"));
  EXPECT_EQ(times_in(page, " src="), 0u);
  EXPECT_EQ(times_in(page, "<link"), 0u);
}

TEST(pages, hold_the_licences_of_what_draws_them) {
  const std::string page = viewer_page(sponge_scene(0, {}), {});
  for (const std::string part : {"three.js authors", "Permission is hereby granted", "SPDX-License-Identifier: MIT"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
}

TEST(pages, hold_a_picture_for_browsers_without_graphics) {
  const std::string page = viewer_page(sponge_scene(1, {}), {});
  EXPECT_NE(page.find("<div id=\"still\"><p id=\"why\">This browser shows no WebGL 2"), std::string::npos);
  EXPECT_NE(page.find("href=\"data:image/png;base64,iVBORw0KGgo"), std::string::npos);
}

TEST(pages, no_name_ends_a_script) {
  const std::string page = viewer_page(sponge_of_name("</script><script>alert(1)</script><!--"), {});
  EXPECT_EQ(times_in(page, "<script"), 3u);
  EXPECT_EQ(times_in(page, "</script>"), 3u);
  const std::string open = "id=\"scene\">";
  const std::size_t begin = page.find(open) + open.size();
  const auto scene = nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  EXPECT_EQ(scene["title"], "</script><script>alert(1)</script><!--");
}

TEST(pages, settings_are_in_them) {
  view_settings view;
  view.section = section::diagonal;
  view.projection = projection::orthographic;
  view.azimuth = 12.5;
  view.wireframe = true;
  const std::string page = viewer_page(sponge_scene(1, view), view);
  for (const std::string part :
       {R"("section":"diagonal")", R"("projection":"orthographic")", R"("azimuth":12.5)", R"("wireframe":true)"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
}

}  // namespace
