#include "sponge/orbit.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "report/png.hpp"

namespace shoal::app {
namespace {

constexpr std::string_view style =
    R"css(body{margin:0;font:16px/1.5 system-ui,sans-serif;background:#fff;color:#222;text-align:center}
main{max-width:1120px;margin:0 auto;padding:16px}
h1{font-size:1.3rem;margin:.4em 0}
img{max-width:100%;height:auto;cursor:pointer}
input{width:min(100%,30em)}
button{font:inherit;padding:.2em .9em}
p{color:#555;font-size:.9rem}
)css";

// A frame takes 40 ms. Whoever asks for less motion gets a picture that stands until it is told to turn.
constexpr std::string_view script =
    R"js(const picture=document.querySelector("img"),slider=document.querySelector("input"),button=document.querySelector("button");
let at=0,moving=false,due=0;
function show(frame){at=(frame+frames.length)%frames.length;picture.src="data:image/png;base64,"+frames[at];slider.value=at}
function step(time){if(!moving)return;if(time>=due){show(at+1);due=time+40}requestAnimationFrame(step)}
function move(now){moving=now;button.textContent=now?"Stop":"Turn";if(now)requestAnimationFrame(step)}
picture.onclick=button.onclick=()=>move(!moving);
slider.oninput=()=>{move(false);show(Number(slider.value))};
addEventListener("keydown",event=>{
if(event.key===" "){if(event.target!==button)move(!moving);else return}
else if(event.target!==slider&&event.key==="ArrowRight"){move(false);show(at+1)}
else if(event.target!==slider&&event.key==="ArrowLeft"){move(false);show(at-1)}
else return;
event.preventDefault()});
move(!matchMedia("(prefers-reduced-motion: reduce)").matches);
)js";

}  // namespace

std::string orbit_page(const std::vector<std::string>& frames, std::size_t width, std::size_t height,
                       const std::string& title) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>{0}</title>\n<style>{1}</style></head>\n<body><main><h1>{0}</h1>\n"
      "<img width=\"{2}\" height=\"{3}\" alt=\"{0}, seen from a camera that goes round it\" "
      "src=\"data:image/png;base64,{4}\">\n"
      "<div><button type=\"button\">Turn</button> <input type=\"range\" aria-label=\"Frame\" min=\"0\" max=\"{5}\" "
      "value=\"0\"></div>\n<p>Space or a touch: stop and turn. Arrow keys: frame by frame.</p>\n</main>\n<script>\n"
      "const frames=[\n",
      title, style, width, height, report::base64(frames.front()), frames.size() - 1);
  for (const std::string& frame : frames) page += fmt::format("\"{}\",\n", report::base64(frame));
  return page + fmt::format("];\n{}</script></body></html>\n", script);
}

std::string frame_name(const std::string& picture, std::size_t number, std::size_t frames) {
  const std::size_t digits = std::max<std::size_t>(3, std::to_string(frames - 1).size());
  const std::string name = picture.ends_with(".png") ? picture.substr(0, picture.size() - 4) : picture;
  return fmt::format("{}-{:0{}}.png", name, number, digits);
}

}  // namespace shoal::app
