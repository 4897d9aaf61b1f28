// The eight symmetries of a square: Cayley table, centre and subgroups, computed from the operation alone, as text and,
// with the name of a file, as a picture: example_square_symmetries [FILE.svg].
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <shoal/algebra/algebra.hpp>

namespace {

using shoal::algebra::square_symmetry;
using subset = std::set<square_symmetry>;

const shoal::algebra::dihedral_4 d4;
const char* const names[] = {"e", "r", "r²", "r³", "v", "d", "h", "a"};
const char* const colours[] = {"#4477aa", "#66ccee", "#228833", "#99dd88", "#ccbb44", "#ee6677", "#aa3377", "#ee99aa"};

std::size_t number(square_symmetry a) { return static_cast<std::size_t>(a); }

std::string text_of(const subset& elements) {
  std::string text;
  for (const square_symmetry a : elements) text += (text.empty() ? "{" : ", ") + std::string(names[number(a)]);
  return text + "}";
}

// How far a name is from four columns wide: ² and ³ take two bytes and one column.
int padding(const char* name) { return 4 - (name[0] == 'r' && name[1] != '\0' ? 2 : 1); }

class picture {
 public:
  explicit picture(const char* file) : file_(std::fopen(file, "w"), &std::fclose) {
    if (file_) {
      print(
          "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 900 420\" font-family=\"sans-serif\" "
          "font-size=\"16\" text-anchor=\"middle\">\n<rect width=\"900\" height=\"420\" fill=\"white\"/>\n");
    }
  }
  bool finish() {
    if (!file_) return false;
    print("</svg>\n");
    return std::fflush(file_.get()) == 0 && std::ferror(file_.get()) == 0;
  }
  void cell(double x, double y, double size, square_symmetry a, bool strong) {
    print("<rect x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" width=\"" + std::to_string(size) +
          "\" height=\"" + std::to_string(size) + "\" fill=\"" + colours[number(a)] + "\" stroke=\"" +
          (strong ? "black\" stroke-width=\"2.5" : "white") + "\"/>\n");
    text(x + size / 2, y + size * 0.65, size * 0.45, names[number(a)], "white");
  }
  void text(double x, double y, double size, const std::string& words, const char* colour = "black") {
    print("<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" font-size=\"" + std::to_string(size) +
          "\" fill=\"" + colour + "\">" + words + "</text>\n");
  }
  void line(double x1, double y1, double x2, double y2) {
    print("<line x1=\"" + std::to_string(x1) + "\" y1=\"" + std::to_string(y1) + "\" x2=\"" + std::to_string(x2) +
          "\" y2=\"" + std::to_string(y2) + "\" stroke=\"#999999\"/>\n");
  }

 private:
  void print(const std::string& what) {
    if (file_) std::fputs(what.c_str(), file_.get());
  }
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

bool holds(const subset& large, const subset& small) {
  for (const square_symmetry a : small)
    if (!large.contains(a)) return false;
  return true;
}

bool draw(const char* file, const subset& centre, const std::set<subset>& subgroups) {
  picture image(file);
  // The table: the cell of row a and column b is a·b (b first, then a); what is in the centre has a frame.
  image.text(210, 30, 18, "a·b: rows a, columns b; the centre framed");
  for (const square_symmetry a : d4.elements()) {
    image.text(35, 90 + 40.0 * static_cast<double>(number(a)), 16, names[number(a)]);
    image.text(70 + 40.0 * static_cast<double>(number(a)), 58, 16, names[number(a)]);
    for (const square_symmetry b : d4.elements()) {
      image.cell(50 + 40.0 * static_cast<double>(number(b)), 65 + 40.0 * static_cast<double>(number(a)), 40,
                 d4.combine(a, b), centre.contains(a) && centre.contains(b));
    }
  }
  // The subgroups by their size, each joined to the next smaller ones that it holds.
  struct node {
    subset elements;
    double x, y;
  };
  std::vector<node> nodes;
  image.text(650, 30, 18, "the ten subgroups");
  for (const std::size_t size : {8, 4, 2, 1}) {
    std::size_t count = 0, place = 0;
    for (const subset& s : subgroups) count += s.size() == size ? 1 : 0;
    for (const subset& s : subgroups) {
      if (s.size() != size) continue;
      const double row = size == 8 ? 0 : size == 4 ? 1 : size == 2 ? 2 : 3;
      nodes.push_back(
          {s, 650 + 92 * (static_cast<double>(place++) - 0.5 * static_cast<double>(count - 1)), 80 + 95 * row});
    }
  }
  for (const node& large : nodes) {
    for (const node& small : nodes) {
      if (large.elements.size() == 2 * small.elements.size() && holds(large.elements, small.elements)) {
        image.line(large.x, large.y, small.x, small.y);
      }
    }
  }
  for (const node& n : nodes) {
    double x = n.x - 10 * static_cast<double>(n.elements.size());
    for (const square_symmetry a : n.elements) image.cell(x, n.y - 10, 20, a, n.elements == centre), x += 20;
  }
  return image.finish();
}

}  // namespace

int main(int argc, char** argv) {
  const subset centre = shoal::algebra::centre(d4);
  const std::set<subset> subgroups = shoal::algebra::subgroups(d4);

  std::printf(
      "e: leave; r, r², r³: turn by 90°, 180°, 270°; v, d, h, a: reflect at the vertical axis, the descending\n"
      "diagonal, the horizontal axis, the ascending diagonal. a·b does b first.\n\n    ");
  for (const char* name : names) std::printf("%s%*s", name, padding(name), "");
  std::printf("\n");
  for (const square_symmetry a : d4.elements()) {
    std::printf("%s%*s", names[number(a)], padding(names[number(a)]), "");
    for (const square_symmetry b : d4.elements()) {
      const char* const name = names[number(d4.combine(a, b))];
      std::printf("%s%*s", name, padding(name), "");
    }
    std::printf("\n");
  }
  std::printf("\ncentre: %s\nsubgroups:\n", text_of(centre).c_str());
  for (const subset& s : subgroups) std::printf("  %s\n", text_of(s).c_str());

  if (argc > 1 && !draw(argv[1], centre, subgroups)) {
    std::fprintf(stderr, "cannot write %s\n", argv[1]);
    return 1;
  }
  return text_of(centre) == "{e, r²}" && subgroups.size() == 10 ? 0 : 1;
}
