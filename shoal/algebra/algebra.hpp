// The door of the algebra: structures, laws, reductions, ways to compose structures, and ready instances.
//
// A structure is a value: a set with one operation or two, which declares the laws that it keeps. Whoever folds with it
// asks for what the fold needs: `reduce` asks for a monoid (an empty range gives the identity), `reduce_unordered` for
// one that commutes. The protocol is `value_type`, `laws`, `identity()`, `combine(a, b)` or `combine_into(into, from)`,
// and `inverse(a)` for groups.
#pragma once

#include <shoal/algebra/adapt.hpp>
#include <shoal/algebra/compose.hpp>
#include <shoal/algebra/finite_group.hpp>
#include <shoal/algebra/group.hpp>
#include <shoal/algebra/instances/affine.hpp>
#include <shoal/algebra/instances/boolean.hpp>
#include <shoal/algebra/instances/dihedral.hpp>
#include <shoal/algebra/instances/extrema.hpp>
#include <shoal/algebra/instances/higher_moments.hpp>
#include <shoal/algebra/instances/integers.hpp>
#include <shoal/algebra/instances/log_sum_exp.hpp>
#include <shoal/algebra/instances/moments.hpp>
#include <shoal/algebra/instances/permutations.hpp>
#include <shoal/algebra/instances/processes.hpp>
#include <shoal/algebra/instances/reals.hpp>
#include <shoal/algebra/instances/strings.hpp>
#include <shoal/algebra/instances/sums.hpp>
#include <shoal/algebra/instances/syntactic.hpp>
#include <shoal/algebra/instances/top_k.hpp>
#include <shoal/algebra/instances/traces.hpp>
#include <shoal/algebra/instances/tropical.hpp>
#include <shoal/algebra/instances/types.hpp>
#include <shoal/algebra/laws.hpp>
#include <shoal/algebra/module.hpp>
#include <shoal/algebra/reduce.hpp>
#include <shoal/algebra/ring.hpp>
#include <shoal/algebra/scan.hpp>
#include <shoal/algebra/segmented_reduce.hpp>
#include <shoal/algebra/summary.hpp>
