// What the graphics card does with the vertices of a window (OpenGL Shading Language 3.30).
#pragma once

namespace shoal::viewer {

inline constexpr const char* vertex_program = R"(#version 330 core
layout(location = 0) in vec3 position;
layout(location = 1) in vec4 colour;
layout(location = 2) in uvec4 face;
uniform float face_width;
uniform vec3 face_colours[6];
uniform mat4 seen_from;
uniform mat4 projected;
uniform float size;
uniform float near_size;
out vec3 place;
out vec3 seen;
out vec4 paint;
void main() {
  place = position;
  paint = colour;
  if (face_width > 0.0) {
    // Two triangles of a unit face, counter-clockwise from outside.
    int corner = int[6](0, 1, 2, 0, 2, 3)[gl_VertexID], axis = int(face.w) / 2;
    vec2 across = vec2(corner == 1 || corner == 2, corner >= 2);
    if (face.w % 2u == 0u) across = across.yx;
    vec3 at = vec3(face.xyz);
    at[(axis + 1) % 3] += across.x;
    at[(axis + 2) % 3] += across.y;
    place = face_width * at - 1.0;
    paint = vec4(face_colours[face.w], 1.0);
  }
  vec4 before_eye = seen_from * vec4(place, 1.0);
  seen = before_eye.xyz;
  gl_Position = projected * before_eye;
  gl_PointSize = max(1.0, size * (near_size > 0.0 ? near_size / -seen.z : 1.0));
})";

// The kinds: 0 plain, 1 a sheet, 2 a solid, 3 a dot, 4 an ellipsoid, 5 a cross.
inline constexpr const char* fragment_program = R"(#version 330 core
in vec3 place;
in vec3 seen;
in vec4 paint;
uniform vec4 cut;
uniform int kind;
uniform vec3 inside;
out vec4 pixel;
void main() {
  if (dot(cut.xyz, place) > cut.w) discard;
  pixel = paint;
  vec2 away = 2.0 * gl_PointCoord - 1.0;
  vec3 normal = kind == 3 || kind == 5 ? vec3(0.0, 0.0, 1.0) : normalize(cross(dFdx(seen), dFdy(seen)));
  if (kind == 1) pixel.rgb *= 0.62 + 0.38 * abs(normal.z);
  if (kind == 2) pixel.rgb = gl_FrontFacing ? (0.55 + 0.45 * abs(normal.z)) * paint.rgb : inside;
  if (kind == 3 && dot(away, away) > 1.0) discard;
  if (kind == 4) pixel.a = mix(0.42, 0.07, pow(abs(dot(normal, normalize(seen))), 0.6));
  if (kind == 5) {
    away = abs(away);
    if (min(away.x, away.y) > 0.36) discard;
    bool within = min(away.x, away.y) < 0.18 && max(away.x, away.y) < 0.84;
    pixel.rgb = within ? 0.75 * paint.rgb : vec3(1.0);
  }
})";

}  // namespace shoal::viewer
