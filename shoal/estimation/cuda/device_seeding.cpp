#include <shoal/estimation/cuda/device_seeding.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <shoal/estimation/cuda/seeding_kernels.hpp>

namespace shoal {
namespace {

template <class Scalar, class Work>
class device_passes final : public seeding_passes {
 public:
  device_passes(cuda::device_rows<Scalar>& rows, const fold_context& context, const data_summary& summary)
      : rows_(&rows),
        summary_(&summary),
        units_(rows.rows(), rows.columns(), sizeof(Scalar)),
        draw_by_weight_(context, rows.data()),
        shares_(rows.group().size()) {
    for (std::size_t g = 0; g < shares_.size(); ++g) {
      const cuda::device_scope scope(device(g).device);
      const std::size_t count = rows.share_rows(g);
      shares_[g].least.upload(std::vector<Work>(count, std::numeric_limits<Work>::infinity()), device(g).compute);
      shares_[g].owner.grow(count);
      shares_[g].owner.fill_with_zeros(device(g).compute);
      shares_[g].sums.grow(blocks_of(rows.most_piece_rows()) * most_trials);
      device(g).compute.synchronize();
    }
  }

  std::size_t columns() const override { return rows_->columns(); }
  const row_units& units() const override { return units_; }

  void append_row(std::size_t row, std::vector<double>& points) override {
    shoal::append_row(*rows_->data().rows, row, points);
  }
  std::size_t draw_by_weight(double u) override { return draw_by_weight_(u); }

  // The points wait for the next pass, which may as well apply them.
  void add(std::span<const double> points) override { pending_.insert(pending_.end(), points.begin(), points.end()); }

  std::vector<double> masses_by_unit() override {
    std::vector<double> blocks(blocks_of(rows_->rows()));
    pass(true, [&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
      share& mine = shares_[g];
      sum_masses<Scalar, Work>(piece, mine.least.data() + piece.share_first, mine.sums.data(), device(g).compute);
      fetch(g, mine.sums.data(), blocks_of(piece.count), blocks.data() + piece.first / block_rows);
    });
    return by_unit(blocks, 1);
  }

  std::vector<double> trial_masses_by_unit(std::span<const double> trials) override {
    const std::size_t count = trials.size() / columns();
    std::vector<double> all(units_.count() * count);
    for (std::size_t from = 0; from < count; from += most_trials) {
      const std::size_t some = std::min(most_trials, count - from);
      std::vector<double> blocks(blocks_of(rows_->rows()) * some);
      upload(trials.subspan(from * columns(), some * columns()), &share::trials);
      pass(true, [&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
        share& mine = shares_[g];
        sum_trials<Scalar, Work>(piece, columns(), mine.trials.data(), some, mine.least.data() + piece.share_first,
                                 mine.sums.data(), device(g).compute);
        fetch(g, mine.sums.data(), blocks_of(piece.count) * some, blocks.data() + piece.first / block_rows * some);
      });
      const std::vector<double> sums = by_unit(blocks, some);
      for (std::size_t unit = 0; unit < units_.count(); ++unit) {
        std::copy_n(sums.begin() + static_cast<std::ptrdiff_t>(unit * some), some,
                    all.begin() + static_cast<std::ptrdiff_t>(unit * count + from));
      }
    }
    return all;
  }

  void masses(std::size_t first, std::size_t count, double* out) override {
    if (!pending_.empty()) pass(true, [](std::size_t, const cuda::device_piece<Scalar>&) {});
    std::size_t g = 0;
    while (first >= rows_->share_first(g) + rows_->share_rows(g)) ++g;
    const cuda::device_scope scope(device(g).device);
    std::vector<Work> least(count);
    fetch(g, shares_[g].least.data() + (first - rows_->share_first(g)), count, least.data());
    device(g).compute.synchronize();
    const weighted_rows<Scalar>& data = rows_->data();
    aligned_buffer<Scalar> buffer;
    matrix_view<const Scalar> weights;
    if (data.weights != nullptr) weights = data.weights->read(first, count, buffer);
    for (std::size_t i = 0; i < count; ++i) {
      const double weight = data.weights == nullptr ? 1.0 : static_cast<double>(weights(i, 0));
      out[i] = weight > 0 ? weight * static_cast<double>(least[i]) : 0.0;
    }
  }

  std::vector<std::size_t> sample(std::uint64_t seed, std::uint64_t stream, double rate) override {
    std::size_t capacity = std::size_t{1} << 16;
    while (true) {
      for (std::size_t g = 0; g < shares_.size(); ++g) {
        const cuda::device_scope scope(device(g).device);
        shares_[g].kept.grow(capacity);
        shares_[g].counter.grow(1);
        shares_[g].counter.fill_with_zeros(device(g).compute);
      }
      pass(true, [&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
        share& mine = shares_[g];
        sample_rows<Scalar, Work>(piece, mine.least.data() + piece.share_first, rate, seed, stream, mine.kept.data(),
                                  capacity, mine.counter.data(), device(g).compute);
      });
      std::vector<std::size_t> kept;
      unsigned long long most = 0;
      for (std::size_t g = 0; g < shares_.size(); ++g) {
        const cuda::device_scope scope(device(g).device);
        const unsigned long long found = shares_[g].counter.download(1, device(g).compute)[0];
        most = std::max(most, found);
        if (found > capacity) continue;
        const auto rows = shares_[g].kept.download(found, device(g).compute);
        kept.insert(kept.end(), rows.begin(), rows.end());
      }
      if (most <= capacity) {
        std::sort(kept.begin(), kept.end());
        return kept;
      }
      capacity = most;
    }
  }

  std::vector<double> weights_by_point() override {
    if (!pending_.empty()) pass(true, [](std::size_t, const cuda::device_piece<Scalar>&) {});
    // The largest power of two by which no sum of weights can pass 2⁶³.
    const double total = summary_->total_weight / rows_->data().weight_scale;
    const int exponent = 62 - std::ilogb(total + 1);
    for (std::size_t g = 0; g < shares_.size(); ++g) {
      const cuda::device_scope scope(device(g).device);
      shares_[g].totals.grow(points_);
      shares_[g].totals.fill_with_zeros(device(g).compute);
    }
    pass(false, [&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
      add_owner_weights(piece, shares_[g].owner.data() + piece.share_first, exponent, shares_[g].totals.data(),
                        device(g).compute);
    });
    std::vector<unsigned long long> sums(points_);
    for (std::size_t g = 0; g < shares_.size(); ++g) {
      const cuda::device_scope scope(device(g).device);
      const auto part = shares_[g].totals.download(points_, device(g).compute);
      for (std::size_t p = 0; p < points_; ++p) sums[p] += part[p];
    }
    std::vector<double> weights(points_);
    for (std::size_t p = 0; p < points_; ++p) weights[p] = std::ldexp(static_cast<double>(sums[p]), -exponent);
    return weights;
  }

 private:
  struct share {
    cuda::device_buffer<Work> least;          // [rows] of the share, squared distance to the points applied
    cuda::device_buffer<std::int32_t> owner;  // [rows] the point at that distance
    cuda::device_buffer<Work> points;         // that this pass applies
    cuda::device_buffer<Work> trials;
    cuda::device_buffer<double> sums;
    cuda::device_buffer<unsigned long long> kept;
    cuda::device_buffer<unsigned long long> counter;
    cuda::device_buffer<unsigned long long> totals;
  };

  static std::size_t blocks_of(std::size_t rows) { return (rows + block_rows - 1) / block_rows; }
  const cuda::gpu& device(std::size_t g) const { return rows_->group()[g]; }

  void upload(std::span<const double> points, cuda::device_buffer<Work> share::*where) {
    const std::vector<Work> converted(points.begin(), points.end());
    for (std::size_t g = 0; g < shares_.size(); ++g) {
      const cuda::device_scope scope(device(g).device);
      (shares_[g].*where).upload(converted, device(g).compute);
      device(g).compute.synchronize();  // `converted` dies here
    }
  }

  template <class Element>
  void fetch(std::size_t g, const Element* from, std::size_t count, Element* to) {
    cuda::check(cudaMemcpyAsync(to, from, count * sizeof(Element), cudaMemcpyDeviceToHost, device(g).compute),
                "copy from the device");
  }

  // One pass over all rows, which first applies the points that wait when `applying`. Waits for the devices.
  template <class Visit>
  void pass(bool applying, const Visit& visit) {
    const std::size_t count = applying ? pending_.size() / columns() : 0;
    if (count > 0) upload(pending_, &share::points);
    rows_->for_each_piece([&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
      share& mine = shares_[g];
      if (count > 0) {
        apply_points<Scalar, Work>(piece, columns(), mine.points.data(), count, static_cast<std::int32_t>(points_),
                                   mine.least.data() + piece.share_first, mine.owner.data() + piece.share_first,
                                   device(g).compute);
      }
      visit(g, piece);
    });
    rows_->group().synchronize();
    if (count > 0) {
      points_ += count;
      pending_.clear();
    }
  }

  // Sums of blocks into sums of units, in order.
  std::vector<double> by_unit(const std::vector<double>& blocks, std::size_t stride) const {
    std::vector<double> sums(units_.count() * stride);
    for (std::size_t block = 0; block * stride < blocks.size(); ++block) {
      const std::size_t unit = units_.unit_of(block * block_rows);
      for (std::size_t t = 0; t < stride; ++t) sums[unit * stride + t] += blocks[block * stride + t];
    }
    return sums;
  }

  cuda::device_rows<Scalar>* rows_;
  const data_summary* summary_;
  row_units units_;
  weight_draw<Scalar> draw_by_weight_;
  std::vector<share> shares_;
  std::vector<double> pending_;  // points that wait for a pass
  std::size_t points_ = 0;       // points applied
};

}  // namespace

template <class Scalar>
std::unique_ptr<seeding_passes> make_device_passes(cuda::device_rows<Scalar>& rows, const fold_context& context,
                                                   const data_summary& summary) {
  if (squares_need_float64(summary)) return std::make_unique<device_passes<Scalar, double>>(rows, context, summary);
  return std::make_unique<device_passes<Scalar, Scalar>>(rows, context, summary);
}

template std::unique_ptr<seeding_passes> make_device_passes(cuda::device_rows<float>&, const fold_context&,
                                                            const data_summary&);
template std::unique_ptr<seeding_passes> make_device_passes(cuda::device_rows<double>&, const fold_context&,
                                                            const data_summary&);

}  // namespace shoal
