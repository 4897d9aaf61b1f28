// A map on every GPU of a group, and passes of the rows over it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/nearest/cuda/float16_memory.hpp>
#include <shoal/som/cuda/kernels.hpp>

namespace shoal::som {

/// What a pass adds up apart from Σ w·distance and Σ w of each unit.
enum class pass {
  units,     ///< nothing
  sums,      ///< Σ w(x − m) of each unit
  topology,  ///< the weight of rows whose two best-matching units are not neighbours
};

/// The units of a map and what rows add up to about them. Borrows the rows. The same bits for resident and for streamed
/// rows and for any number of GPUs: sums are of whole numbers, over rows as over GPUs.
template <class Scalar>
class device_map {
 public:
  /// Called, with the piece's GPU current, when the units of some of its rows are enqueued in that GPU's compute
  /// stream: `first` is the first row's number in the whole data.
  using labels_visitor =
      std::function<void(std::size_t first, std::size_t count, const std::int32_t* labels, cudaStream_t stream)>;

  /// `summary` is of the rows. Throws out_of_memory.
  device_map(cuda::device_rows<Scalar>& rows, const data_summary& summary, const lattice_shape& shape, metric metric);

  /// From the next upload on units that no row can be near are looked for: those that a mexican hat drives away.
  void expect_far_units() { expects_far_ = true; }
  /// Gives every GPU a codebook [units][columns].
  void upload(const std::vector<double>& codebook);
  std::vector<double> download() const;

  /// Enqueues a pass; afterwards the statistics lie on the first GPU.
  void enqueue(pass what, const labels_visitor& visit = {});
  /// Enqueues the codebook's way from the first GPU to the others.
  void enqueue_broadcast();

  /// On the first GPU: of read_sums(), and what the sums are about, [columns].
  const double* statistics() const { return places_[0].statistics.data(); }
  double* codebook() { return places_[0].codebook.data(); }
  const double* centre() const { return places_[0].wide_centre.data(); }
  /// Waits for the pass.
  std::vector<double> read_statistics() const;

  cuda::device_rows<Scalar>& rows() const { return *rows_; }
  const lattice_shape& shape() const { return shape_; }
  cudaStream_t stream() const { return rows_->group()[0].compute; }
  int first_device() const { return rows_->group()[0].device; }

 private:
  // On one GPU.
  struct place {
    device_units<Scalar> units;
    fixed_sums sums;
    cuda::device_buffer<double> codebook, exact, searched, wide_centre, scale, statistics;
    cuda::device_buffer<Scalar> centre, turned, starts, minima;
    cuda::device_buffer<unsigned char> operands;
    cuda::device_buffer<near_columns> near;
    cuda::device_buffer<unit_bounds> bounds;
    cuda::device_buffer<long long> fixed;  // all of `sums`, one array after another
    cuda::device_buffer<int> at_place;
    cuda::device_buffer<unsigned> doubtful_counts;
    cuda::device_buffer<int2> doubtful_list;
    cuda::device_buffer<std::int32_t> labels;
    // Of the search by float16 products.
    float16_memory float16;
    cuda::device_buffer<Scalar> centred;
    cuda::device_buffer<float> half_norms, unit_origin, row_origin, limits;
    cuda::device_buffer<near_centroid> lists;
    cuda::device_buffer<unsigned char> counts;
  };

  void set_units(place& here, const cuda::gpu& gpu, const std::vector<double>& centre, metric metric);
  void set_float16(place& here, const cuda::gpu& gpu, const std::vector<double>& rows_centre,
                   const std::vector<double>& units_centre);
  void set_sums(place& here, const cuda::gpu& gpu, const data_summary& summary, const std::vector<double>& centre);
  // Of the scores that settle() gets.
  score_kind search(searched_rows<Scalar>& some, pass what, std::size_t first, place& here, const cuda::gpu& gpu);
  score_kind search_float16_units(searched_rows<Scalar>& some, pass what, std::size_t first, place& here,
                                  const cuda::gpu& gpu);
  // Of rows of a piece, `first` the number of the first of them in it.
  void enqueue_rows(const searched_rows<Scalar>& rows, pass what, std::size_t g, std::size_t first,
                    std::size_t piece_first, const labels_visitor& visit);
  void convert_all_rows();
  void leave_out_far_units();
  // Rough products do not find second-best units.
  bool by_float16(pass what) const {
    return in_float16_ && (what != pass::topology || places_[0].units.float16.products == precision::float32);
  }
  bool by_short_rows(pass what) const { return short_rows_ && what != pass::topology; }

  cuda::device_rows<Scalar>* rows_;
  lattice_shape shape_;
  std::size_t columns_;
  std::size_t rows_at_once_ = 0;
  bool short_rows_ = false;         // settle_short_rows() searches too
  bool few_units_ = false;          // searches decide rows that are added by label
  bool on_tensor_cores_ = false;    // rows are searched by search_tensor
  bool in_float16_ = false;         // by float16 products
  bool fetches_rows_ = true;        // sums of wide rows fetch them ahead
  std::size_t float16_rows_ = 0;    // of them at one time
  std::size_t most_row_parts_ = 0;  // that lists have room for
  // Operands of rows that stay on the GPU stay there too, where they have room.
  bool keeps_operands_ = false;
  bool converted_ = false;
  bool expects_far_ = false;
  double reach_ = 0;  // no row is farther from the centre
  std::vector<place> places_;
};
extern template class device_map<float>;
extern template class device_map<double>;

}  // namespace shoal::som
