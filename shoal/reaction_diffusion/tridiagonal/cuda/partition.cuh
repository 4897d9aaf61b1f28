// One large tridiagonal system in two passes over memory (Wang 1981, on three levels): a thread eliminates all but the
// last of its rows, a block all but the last of its threads' rows, and one block solves what is left. The second pass
// does the first one's work again rather than keep it, and puts in what is known by then.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/reaction_diffusion/cuda/fused.cuh>
#include <shoal/reaction_diffusion/cuda/lane_exchange.cuh>

namespace shoal::reaction_diffusion::tridiagonal {

/// x = right − left·(the last row before) − own·(the last row here).
template <class Scalar>
struct relation {
  Scalar right, left, own;
};

/// Rows of one thread.
template <class Scalar, int own>
struct thread_rows {
  Scalar lower[own], diagonal[own], upper[own], right[own];
};

/// What a block says of its last row, and of its first.
template <class Scalar>
struct alignas(16) block_row {
  Scalar lower, diagonal;
  Scalar upper;  ///< of the row behind
  Scalar right;
  relation<Scalar> first;
  Scalar solution;  ///< the last row's, from between the passes on
};

/// Memory for the blocks: a row of each, and a relation between the passes.
template <class Scalar>
struct block_memory {
  block_row<Scalar>* rows;
  relation<Scalar>* relations;

  static constexpr std::size_t values = (sizeof(block_row<Scalar>) + sizeof(relation<Scalar>)) / sizeof(Scalar);
  static block_memory in(Scalar* scratch, std::size_t blocks) {
    block_row<Scalar>* const rows = reinterpret_cast<block_row<Scalar>*>(scratch);
    return {rows, reinterpret_cast<relation<Scalar>*>(rows + blocks)};
  }
};

inline constexpr int partition_threads = 128;
inline constexpr int middle_threads = 1024;

/// The first row whose pivot was zero.
using refused_row = unsigned long long;
inline constexpr refused_row no_refused_row = ~refused_row{0};

template <class Scalar>
__device__ Scalar inverse_of(Scalar pivot, long long row, refused_row* refused) {
  if (pivot == 0) atomicMin(refused, static_cast<refused_row>(row));
  return 1 / pivot;
}

/// Elimination of a thread's rows one after another. After take() of the rows 0 … i the present one says
/// x[i] = right − left·(row before) − own·x[i + 1], and `head` the same of x[0].
template <class Scalar>
struct elimination {
  relation<Scalar> present, head;

  __device__ void begin(Scalar lower, Scalar diagonal, Scalar upper, Scalar right, long long row,
                        refused_row* refused) {
    const Scalar inverse = inverse_of(diagonal, row, refused);
    present = {right * inverse, lower * inverse, upper * inverse};
    head = present;
  }
  __device__ void take(Scalar lower, Scalar diagonal, Scalar upper, Scalar right, long long row, refused_row* refused) {
    const Scalar inverse = inverse_of(fused(-lower, present.own, diagonal), row, refused);
    present = {fused(-lower, present.right, right) * inverse, -(lower * present.left) * inverse, upper * inverse};
    head = {fused(-head.own, present.right, head.right), fused(-head.own, present.left, head.left),
            -(head.own * present.own)};
  }
};

/// Shared memory of a block's threads' last rows.
template <class Scalar, int threads>
struct shared_rows {
  relation<Scalar> rows[2][threads];
};

/// Parallel cyclic reduction of the first `count` rows of a block; thread i has row i, lower·x[i − 1] + diagonal·x[i] +
/// upper·x[i + 1] = right. Returns what it says in the end, of the rows −1 and `count`, and leaves all of these in
/// the returned half of `room`.
template <class Scalar, int threads>
__device__ int reduce_rows(Scalar lower, Scalar diagonal, Scalar upper, Scalar right, int count, long long row,
                           refused_row* refused, shared_rows<Scalar, threads>& room) {
  const int i = static_cast<int>(threadIdx.x);
  relation<Scalar> mine{0, 0, 0};
  if (i < count) {
    const Scalar inverse = inverse_of(diagonal, row, refused);
    mine = {right * inverse, lower * inverse, upper * inverse};
  }
  room.rows[0][i] = mine;
  __syncthreads();
  int half = 0;
  for (int distance = 1; distance < count; distance *= 2) {
    if (i < count) {
      Scalar pivot = 1;
      relation<Scalar> next = mine;
      if (i >= distance) {
        const relation<Scalar> before = room.rows[half][i - distance];
        pivot = fused(-mine.left, before.own, pivot);
        next.right = fused(-mine.left, before.right, next.right);
        next.left = -(mine.left * before.left);
      }
      if (i + distance < count) {
        const relation<Scalar> behind = room.rows[half][i + distance];
        pivot = fused(-mine.own, behind.left, pivot);
        next.right = fused(-mine.own, behind.right, next.right);
        next.own = -(mine.own * behind.own);
      }
      const Scalar inverse = inverse_of(pivot, row, refused);
      mine = {next.right * inverse, next.left * inverse, next.own * inverse};
    }
    half = 1 - half;
    room.rows[half][i] = mine;
    __syncthreads();
  }
  return half;
}

/// A block's rows, eliminated down to what its threads' last rows say of the block's neighbours.
template <class Scalar, int own>
struct block_elimination {
  relation<Scalar> head;                 ///< of the thread's first row
  Scalar lower, diagonal, upper, right;  ///< the thread's last row; of the block's last one `upper` is not put in
  int half;                              ///< of the shared rows

  /// `rows` becomes relations to the row before the thread's and to the next row: right, lower and upper.
  /// `count`: how many of the block's threads' last rows are eliminated, all or those before the block's last row. Rows
  /// of threads behind that one are no part of the system.
  __device__ void eliminate(thread_rows<Scalar, own>& rows, long long first_row, int count, refused_row* refused,
                            shared_rows<Scalar, partition_threads>& room) {
    const int i = static_cast<int>(threadIdx.x);
    elimination<Scalar> run;
    run.begin(rows.lower[0], rows.diagonal[0], rows.upper[0], rows.right[0], first_row, refused);
    rows.right[0] = run.present.right;
    rows.lower[0] = run.present.left;
    rows.upper[0] = run.present.own;
#pragma unroll
    for (int k = 1; k < own - 1; ++k) {
      run.take(rows.lower[k], rows.diagonal[k], rows.upper[k], rows.right[k], first_row + k, refused);
      rows.right[k] = run.present.right;
      rows.lower[k] = run.present.left;
      rows.upper[k] = run.present.own;
    }
    head = run.head;
    lower = -(rows.lower[own - 1] * run.present.left);
    diagonal = fused(-rows.lower[own - 1], run.present.own, rows.diagonal[own - 1]);
    right = fused(-rows.lower[own - 1], run.present.right, rows.right[own - 1]);
    upper = rows.upper[own - 1];
    room.rows[0][i] = head;
    __syncthreads();
    if (i < count && i + 1 < partition_threads) {
      const relation<Scalar> next = room.rows[0][i + 1];
      diagonal = fused(-upper, next.left, diagonal);
      right = fused(-upper, next.right, right);
      upper = -(upper * next.own);
    }
    __syncthreads();
    half = reduce_rows(lower, diagonal, upper, right, count, first_row + own - 1, refused, room);
  }
};

/// Shared memory of a block: first its warps' ways to memory, then its threads' rows, and again the first.
template <class Scalar, int own>
union block_room {
  node_vector<Scalar> exchange[partition_threads / lanes][lanes * lane_exchange<Scalar, own>::stride];
  shared_rows<Scalar, partition_threads> rows;
};

/// Fills and eliminates a thread's rows; where `count` leaves threads out, the first of them has the block's last row.
template <class Scalar, int own, class Source>
__device__ void eliminate_own_rows(const Source& source, long long first_row, int count, refused_row* refused,
                                   block_room<Scalar, own>& room, thread_rows<Scalar, own>& rows,
                                   block_elimination<Scalar, own>& block) {
  source.rows(first_row, rows, room.exchange[static_cast<int>(threadIdx.x) / lanes]);
  __syncthreads();
  block.eliminate(rows, source.base() + first_row, count, refused, room.rows);
}

/// Finds a thread's other rows from its last, known[own − 1], and from the last of the thread before, and gives them to
/// the sink.
template <class Scalar, int own, class Sink>
__device__ void hand_over(const Sink& sink, long long first_row, const thread_rows<Scalar, own>& rows, Scalar left,
                          block_room<Scalar, own>& room, Scalar (&known)[own]) {
#pragma unroll
  for (int k = own - 2; k >= 0; --k) {
    known[k] = fused(-rows.upper[k], known[k + 1], fused(-rows.lower[k], left, rows.right[k]));
  }
  __syncthreads();
  sink.take(first_row, known, room.exchange[static_cast<int>(threadIdx.x) / lanes]);
}

/// Pass one, of the rows of block `place`. Source: rows(first_row, rows, warp's room) fills a thread's rows; base() is
/// what rows are counted from where one is refused. `last`: the thread whose last row is the block's.
template <class Scalar, int own, class Source>
__device__ void reduce_block(const Source& source, int place, block_row<Scalar>* blocks, refused_row* refused,
                             int last = partition_threads - 1) {
  __shared__ block_room<Scalar, own> room;
  const int i = static_cast<int>(threadIdx.x);
  const long long first_row = (static_cast<long long>(place) * partition_threads + i) * own;
  thread_rows<Scalar, own> rows;
  block_elimination<Scalar, own> block;
  eliminate_own_rows(source, first_row, last, refused, room, rows, block);
  if (i == last) {
    relation<Scalar> before{0, -1, 0};  // with one thread the row before the block itself
    if (last > 0) before = room.rows.rows[block.half][i - 1];
    block_row<Scalar>& out = blocks[place];
    out.lower = -(block.lower * before.left);
    out.diagonal = fused(-block.lower, before.own, block.diagonal);
    out.upper = block.upper;
    out.right = fused(-block.lower, before.right, block.right);
  }
  if (i == 0) {
    relation<Scalar> own_last{0, 0, -1};  // with one thread the block's last row itself
    if (last > 0) own_last = room.rows.rows[block.half][0];
    blocks[place].first = {fused(-block.head.own, own_last.right, block.head.right),
                           fused(-block.head.own, own_last.left, block.head.left), -(block.head.own * own_last.own)};
  }
}

/// Between the passes: one block solves for the blocks' last rows, of which there are `count`. `around`: the row before
/// the first is the last one.
template <class Scalar>
__device__ void solve_middle(const block_memory<Scalar>& blocks, int count, long long base, long long rows_of_block,
                             long long last_row, refused_row* refused, bool around = false) {
  __shared__ shared_rows<Scalar, middle_threads> room;
  const int i = static_cast<int>(threadIdx.x);
  const int each = (count + middle_threads - 1) / middle_threads;
  const int busy = (count + each - 1) / each;  // threads that have rows
  const int first = min(count, i * each), last = min(count, first + each) - 1;
  const auto row_of = [&](int block) { return min(base + (block + 1) * rows_of_block - 1, last_row); };
  const auto row = [&](int block) {
    const block_row<Scalar> own = blocks.rows[block];
    struct {
      Scalar lower, diagonal, upper, right;
    } made{own.lower, own.diagonal, 0, own.right};
    if (around || block + 1 < count) {
      const relation<Scalar> next = blocks.rows[block + 1 < count ? block + 1 : 0].first;
      made.diagonal = fused(-own.upper, next.left, made.diagonal);
      made.right = fused(-own.upper, next.right, made.right);
      made.upper = -(own.upper * next.own);
    }
    return made;
  };
  elimination<Scalar> run{{0, 0, 0}, {0, 0, 0}};
  Scalar lower = 0, diagonal = 1, upper = 0, value = 0;
  const bool alone = first == last;
  if (i < busy) {
    for (int k = first; k < last; ++k) {
      const auto here = row(k);
      if (k == first) {
        run.begin(here.lower, here.diagonal, here.upper, here.right, row_of(k), refused);
      } else {
        run.take(here.lower, here.diagonal, here.upper, here.right, row_of(k), refused);
      }
      blocks.relations[k] = run.present;
    }
    const auto here = row(last);
    lower = alone ? here.lower : -(here.lower * run.present.left);
    diagonal = alone ? here.diagonal : fused(-here.lower, run.present.own, here.diagonal);
    value = alone ? here.right : fused(-here.lower, run.present.right, here.right);
    upper = here.upper;
  }
  // A thread with one row has no first row beside its last: its neighbour's `upper` is of that row itself.
  room.rows[0][i] = alone ? relation<Scalar>{0, 0, -1} : run.head;
  __syncthreads();
  if (i + 1 < busy || (around && i + 1 == busy)) {
    const relation<Scalar> next = room.rows[0][i + 1 < busy ? i + 1 : 0];
    diagonal = fused(-upper, next.left, diagonal);
    value = fused(-upper, next.right, value);
    upper = -(upper * next.own);
  }
  __syncthreads();
  // Around, the last thread's last row stands at both ends of the others, and is found last.
  const int others = around ? busy - 1 : busy;
  const int half = reduce_rows(lower, diagonal, upper, value, others, row_of(last), refused, room);
  __shared__ Scalar closing;
  if (around) {
    if (i == busy - 1) {
      relation<Scalar> one_before{0, -1, 0}, first_one{0, -1, 0};  // with one busy thread the row itself
      if (others > 0) {
        one_before = room.rows[half][others - 1];
        first_one = room.rows[half][0];
      }
      Scalar pivot = fused(-lower, one_before.left + one_before.own, diagonal);
      pivot = fused(-upper, first_one.left + first_one.own, pivot);
      const Scalar rest = fused(-upper, first_one.right, fused(-lower, one_before.right, value));
      closing = rest * inverse_of(pivot, row_of(last), refused);
    }
    __syncthreads();
  }
  if (i >= busy) return;
  const auto found = [&](int thread) -> Scalar {
    if (!around) return room.rows[half][thread].right;
    if (thread == busy - 1) return closing;
    const relation<Scalar> row = room.rows[half][thread];
    return fused(-(row.left + row.own), closing, row.right);
  };
  const Scalar before = i > 0 ? found(i - 1) : around ? closing : Scalar(0);
  Scalar known = found(i);
  blocks.rows[last].solution = known;
  for (int k = last - 1; k >= first; --k) {
    const relation<Scalar> here = blocks.relations[k];
    known = fused(-here.own, known, fused(-here.left, before, here.right));
    blocks.rows[k].solution = known;
  }
}

/// A whole system by one block, in one pass.
template <class Scalar, int own, class Source, class Sink>
__device__ void solve_block(const Source& source, const Sink& sink, refused_row* refused) {
  __shared__ block_room<Scalar, own> room;
  const int i = static_cast<int>(threadIdx.x);
  const long long first_row = static_cast<long long>(i) * own;
  thread_rows<Scalar, own> rows;
  block_elimination<Scalar, own> block;
  eliminate_own_rows(source, first_row, partition_threads, refused, room, rows, block);
  const Scalar left = i > 0 ? room.rows.rows[block.half][i - 1].right : 0;
  Scalar known[own];
  known[own - 1] = room.rows.rows[block.half][i].right;
  hand_over(sink, first_row, rows, left, room, known);
}

/// Pass two: `known` becomes the thread's part of the solution. `before`: the block before block `place`, or −1.
template <class Scalar, int own, class Source, class Sink>
__device__ void finish_block(const Source& source, const Sink& sink, int place, int before,
                             const block_row<Scalar>* blocks, refused_row* refused, int last = partition_threads - 1) {
  __shared__ block_room<Scalar, own> room;
  const int i = static_cast<int>(threadIdx.x);
  const long long first_row = (static_cast<long long>(place) * partition_threads + i) * own;
  thread_rows<Scalar, own> rows;
  block_elimination<Scalar, own> block;
  eliminate_own_rows(source, first_row, last, refused, room, rows, block);
  const Scalar far_left = before >= 0 ? blocks[before].solution : 0;
  const Scalar far_right = blocks[place].solution;
  const auto last_of = [&](int thread) {
    if (thread < 0) return far_left;
    if (thread == last) return far_right;
    const relation<Scalar> row = room.rows.rows[block.half][thread];
    return fused(-row.own, far_right, fused(-row.left, far_left, row.right));
  };
  const Scalar left = last_of(i - 1);
  Scalar known[own];
  known[own - 1] = last_of(i);
  hand_over(sink, first_row, rows, left, room, known);
}

}  // namespace shoal::reaction_diffusion::tridiagonal
