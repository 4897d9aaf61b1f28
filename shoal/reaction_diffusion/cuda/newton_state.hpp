// What a GPU keeps of an implicit scheme on an axon.
#pragma once

namespace shoal::reaction_diffusion {

/// Coefficients of one stage: own·v − κ·(D·v_xx + f(v)) = right, own = 1 + κβ.
template <class Scalar>
struct stage_coefficients {
  Scalar kappa, beta, own, keep, input;
  double squared;  ///< times a change squared: the error that Newton's method leaves, at most
  double accuracy;
  double time;  ///< for messages
};

/// Which stage of a step it is. A whole step becomes the state when its iterations end; the stages of TR-BDF2 do not.
enum class stage_place { step, middle, end };

/// How the iterations ended.
enum class newton_end { converged, too_many, not_finite };

/// What the GPU knows of the iterations; it alone writes here.
template <class Scalar>
struct newton_state {
  stage_coefficients<Scalar> stage;
  double before;               ///< the last change
  unsigned long long change;   ///< bits of the largest one of this iteration
  unsigned long long refused;  ///< the first row whose pivot was zero
  unsigned long long iterations;
  int iteration;
  // Which of the vectors holds what.
  int iterate, spare;  ///< spare: what the next iterate is written to; afterwards the iterate before the last
  int now, earlier;    ///< the state, and the one before, which the guess needs
  int middle, third;   ///< of TR-BDF2: the middle of the step, and the vector that is left
  bool accepts;
  bool done;  ///< the iterations of this stage have ended
  newton_end end;
  double failed_at;  ///< the time of the first stage that did not converge
};

/// An axon's equations for a kernel.
template <class Scalar>
struct axon_equations {
  Scalar a, weight;  ///< weight = D / Δx²
  long long nodes;
  bool has_input, around;
  /// Where the axon closes, v of the node before the first and of the one behind the last stand there.
  long long low, high;
  /// Rows that fill up the last thread's then stand between these two nodes like nodes without a rate of their own;
  /// with so many times the weight the two see each other as with the weight. A long chain of such rows would lose
  /// digits: its pivots come near to 1, and the closing corner's error grows with its length squared.
  Scalar stretch;
};

/// All that kernels of one GPU read and write. Pointers to values of nodes are such that a node's number in the whole
/// axon is its index.
template <class Scalar>
struct newton_memory {
  Scalar* vectors[5];  ///< a scheme without a middle stage needs three
  Scalar* w;           ///< w, or while a stage is solved what w has beside β·v
  Scalar* right;
  Scalar* scratch;
  newton_state<Scalar>* state;
  axon_equations<Scalar> equations;
  long long first, end;  ///< the GPU's nodes: whole blocks of the partition method, but for the last one's
};

/// What a GPU of several tells the others after each iteration: its largest change, and its nodes at both ends.
template <class Scalar>
struct newton_letter {
  unsigned long long change;
  Scalar first, last;
};

}  // namespace shoal::reaction_diffusion
