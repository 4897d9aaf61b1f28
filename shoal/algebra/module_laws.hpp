// The law checker for scalars acting on vectors.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <ranges>
#include <string>

#include <shoal/algebra/module.hpp>
#include <shoal/algebra/ring_laws.hpp>

namespace shoal::algebra {

namespace detail {

// Tries the laws that tie scalars and vectors together on all scalar pairs and vector pairs.
template <module_over_ring Module, class Scalars, class Vectors>
class module_checker {
 public:
  using scalar_type = scalar_value<Module>;
  using vector_type = vector_value<Module>;

  module_checker(const Module& structure, const Scalars& scalars, const Vectors& vectors, law_report& report)
      : module_(structure), scalars_(scalars), vectors_(vectors), recorder_(report, "") {}

  void check(bool unit) {
    const std::size_t scalar_count = std::ranges::size(scalars_), vector_count = std::ranges::size(vectors_);
    const auto vector_sum = module_.vectors();
    const auto scalar_ring = module_.scalars();
    for (std::size_t j = 0; j < vector_count; ++j) {
      const vector_type& v = vectors_[j];
      if constexpr (unitary_module<Module>) {
        if (unit) {
          const scalar_type unity = one(scalar_ring);
          expect("unit", Module::laws.unit, {j}, "1v is not v", module_.scale(unity, v), v, {&unity}, {&v});
        }
      }
      for (std::size_t i = 0; i < scalar_count; ++i) {
        const scalar_type& s = scalars_[i];
        const vector_type sv = module_.scale(s, v);
        for (std::size_t k = 0; k < vector_count; ++k) {
          const vector_type& w = vectors_[k];
          expect("distributivity over vectors", Module::laws.distributes_over_vectors, {i, j, k},
                 "s(v + w) is not sv + sw", module_.scale(s, combine(vector_sum, v, w)),
                 combine(vector_sum, sv, module_.scale(s, w)), {&s}, {&v, &w});
        }
        for (std::size_t k = 0; k < scalar_count; ++k) {
          const scalar_type& t = scalars_[k];
          expect("distributivity over scalars", Module::laws.distributes_over_scalars, {i, k, j},
                 "(s + t)v is not sv + tv", module_.scale(add(scalar_ring, s, t), v),
                 combine(vector_sum, sv, module_.scale(t, v)), {&s, &t}, {&v});
          expect("associativity of scaling", Module::laws.associates, {k, i, j}, "(ts)v is not t(sv)",
                 module_.scale(multiply(scalar_ring, t, s), v), module_.scale(t, sv), {&t, &s}, {&v});
        }
      }
    }
  }

 private:
  void expect(const char* name, law level, std::initializer_list<std::size_t> elements, const char* equation,
              const vector_type& left, const vector_type& right, std::initializer_list<const scalar_type*> scalars,
              std::initializer_list<const vector_type*> vectors) {
    recorder_.expect(agree(level, left, right, scalars, vectors), name, level, elements, [&] {
      std::string text = equation;
      for (const scalar_type* s : scalars) text += ", scalar " + describe(module_.scalars(), *s);
      for (const vector_type* v : vectors) text += ", vector " + describe(module_.vectors(), *v);
      return text + describe_sides(describe(module_.vectors(), left), describe(module_.vectors(), right));
    });
  }

  bool agree(law level, const vector_type& left, const vector_type& right,
             std::initializer_list<const scalar_type*> scalars,
             std::initializer_list<const vector_type*> vectors) const {
    if (equal(module_.vectors(), left, right)) return true;
    if (level != law::approximate) return false;
    const auto scalar_list = references(scalars);
    const auto vector_list = references(vectors);
    const operands_of<scalar_type> scalar_view(scalar_list);
    const operands_of<vector_type> vector_view(vector_list);
    if constexpr (requires { module_.close(left, right, scalar_view, vector_view); }) {
      return module_.close(left, right, scalar_view, vector_view);
    } else {
      static_assert(!any_approximate(Module::laws),
                    "a module that declares an approximate law states its bound: give it "
                    "`bool close(left, right, scalars, vectors) const`, or wrap it in with_closeness");
      return false;
    }
  }

  const Module& module_;
  const Scalars& scalars_;
  const Vectors& vectors_;
  law_recorder recorder_;
};

template <module_over_ring Module, class Scalars, class Vectors>
law_report check_module_laws(const Module& structure, const Scalars& scalars, const Vectors& vectors, law_report report,
                             bool unit) {
  const auto group_of_vectors = structure.vectors();
  operation_checker(group_of_vectors, vectors, report, "vectors: ")
      .check({.associative = true, .commutative = true, .identity = true, .inverse = true}, false);
  module_checker(structure, scalars, vectors, report).check(unit);
  return report;
}

}  // namespace detail

/// The scalars as a ring, the vectors as an abelian group, and the action of one on the other. `scalars` and `vectors`
/// are samples; the places in a failure are those of its scalars, then those of its vectors.
template <module_over_ring Module, class Scalars, class Vectors>
law_report check_module(const Module& structure, const Scalars& scalars, const Vectors& vectors) {
  return detail::check_module_laws(structure, scalars, vectors, check_ring(structure.scalars(), scalars), false);
}
template <unitary_module Module, class Scalars, class Vectors>
law_report check_unitary_module(const Module& structure, const Scalars& scalars, const Vectors& vectors) {
  return detail::check_module_laws(structure, scalars, vectors, check_ring_with_unity(structure.scalars(), scalars),
                                   true);
}
template <vector_space Module, class Scalars, class Vectors>
law_report check_vector_space(const Module& structure, const Scalars& scalars, const Vectors& vectors) {
  return detail::check_module_laws(structure, scalars, vectors, check_field(structure.scalars(), scalars), true);
}

}  // namespace shoal::algebra
