// What a window keeps on the graphics card: its programs and the parts of its scene.
#pragma once

#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "viewer/window/parts.hpp"

namespace shoal::viewer {

inline GLuint compiled(GLenum kind, const char* text) {
  const GLuint shader = glCreateShader(kind);
  glShaderSource(shader, 1, &text, nullptr);
  glCompileShader(shader);
  GLint good = 0;
  glGetShaderiv(shader, GL_COMPILE_STATUS, &good);
  if (good == 0) {
    std::string log(2000, '\0');
    GLsizei length = 0;
    glGetShaderInfoLog(shader, static_cast<GLsizei>(log.size()), &length, log.data());
    log.resize(static_cast<std::size_t>(length));
    throw std::runtime_error("the graphics driver refuses the window's program: " + log);
  }
  return shader;
}

// Vertices of one part on the graphics card.
struct loaded_part {
  GLuint array = 0, buffer = 0;
  GLsizei count = 0;

  void load(const std::vector<coloured_vertex>& vertices) {
    if (array == 0) {
      glGenVertexArrays(1, &array);
      glGenBuffers(1, &buffer);
    }
    glBindVertexArray(array);
    glBindBuffer(GL_ARRAY_BUFFER, buffer);
    glBufferData(GL_ARRAY_BUFFER, static_cast<GLsizeiptr>(vertices.size() * sizeof(coloured_vertex)), vertices.data(),
                 GL_STATIC_DRAW);
    glEnableVertexAttribArray(0);
    glEnableVertexAttribArray(1);
    glVertexAttribPointer(0, 3, GL_FLOAT, GL_FALSE, sizeof(coloured_vertex), nullptr);
    glVertexAttribPointer(1, 4, GL_UNSIGNED_BYTE, GL_TRUE, sizeof(coloured_vertex), reinterpret_cast<const void*>(12));
    count = static_cast<GLsizei>(vertices.size());
  }
};

// Unit faces on the graphics card, which draws one instance for each.
struct loaded_faces {
  GLuint array = 0, buffer = 0;
  GLsizei count = 0;
  float width = 0;

  void load(const scene_parts& parts) {
    if (array == 0) {
      glGenVertexArrays(1, &array);
      glGenBuffers(1, &buffer);
    }
    glBindVertexArray(array);
    glBindBuffer(GL_ARRAY_BUFFER, buffer);
    glBufferData(GL_ARRAY_BUFFER, static_cast<GLsizeiptr>(parts.faces.size() * sizeof(unit_face)), parts.faces.data(),
                 GL_STATIC_DRAW);
    glEnableVertexAttribArray(2);
    glVertexAttribIPointer(2, 4, GL_UNSIGNED_BYTE, sizeof(unit_face), nullptr);
    glVertexAttribDivisor(2, 1);
    count = static_cast<GLsizei>(parts.faces.size());
    width = parts.face_width;
  }
};

}  // namespace shoal::viewer
