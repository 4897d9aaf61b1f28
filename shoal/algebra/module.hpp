// Scalars acting on vectors: module, unitary module, vector space.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <shoal/algebra/ring.hpp>

namespace shoal::algebra {

/// What an action of scalars on vectors promises.
struct module_laws {
  law distributes_over_vectors = law::unclaimed;  ///< s(v + w) = sv + sw
  law distributes_over_scalars = law::unclaimed;  ///< (s + t)v = sv + tv
  law associates = law::unclaimed;                ///< (st)v = s(tv)
  law unit = law::unclaimed;                      ///< 1v = v

  friend constexpr bool operator==(const module_laws&, const module_laws&) = default;
};

constexpr bool any_approximate(const module_laws& laws) {
  return laws.distributes_over_vectors == law::approximate || laws.distributes_over_scalars == law::approximate ||
         laws.associates == law::approximate || laws.unit == law::approximate;
}

template <class Module>
using scalars_of = std::remove_cvref_t<decltype(std::declval<const Module&>().scalars())>;
template <class Module>
using vectors_of = std::remove_cvref_t<decltype(std::declval<const Module&>().vectors())>;
template <class Module>
using scalar_value = value_of<scalars_of<Module>>;
template <class Module>
using vector_value = value_of<vectors_of<Module>>;

// Named for the compilers' messages, as the laws of one operation are.
template <class Module>
concept declares_distribution_over_vectors = Module::laws.distributes_over_vectors != law::unclaimed;
template <class Module>
concept declares_distribution_over_scalars = Module::laws.distributes_over_scalars != law::unclaimed;
template <class Module>
concept declares_associative_scaling = Module::laws.associates != law::unclaimed;
template <class Module>
concept declares_unit_law = Module::laws.unit != law::unclaimed;

/// The structure gives `scale(scalar, vector) const`.
template <class Module>
concept gives_scale = requires(const Module& structure, const scalar_value<Module>& scalar,
                               const vector_value<Module>& vector) {
  { Module::laws } -> std::convertible_to<module_laws>;
  { structure.scale(scalar, vector) } -> std::same_as<vector_value<Module>>;
};

/// A ring `scalars() const`, an abelian group `vectors() const` and `scale(scalar, vector) const`.
template <class Module>
concept module_over_ring = gives_scale<Module> && ring<scalars_of<Module>> && abelian_group<vectors_of<Module>> &&
    declares_distribution_over_vectors<Module> && declares_distribution_over_scalars<Module> &&
    declares_associative_scaling<Module>;

/// A module over a ring with unity whose 1 leaves vectors alone.
template <class Module>
concept unitary_module = module_over_ring<Module> && ring_with_unity<scalars_of<Module>> && declares_unit_law<Module>;

/// A unitary module over a field. (The source asks only that the scalars be an abelian group; a mean divides, so they
/// must be a field.)
template <class Module>
concept vector_space = unitary_module<Module> && field<scalars_of<Module>>;

}  // namespace shoal::algebra
