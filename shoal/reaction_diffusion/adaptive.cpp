#include <shoal/reaction_diffusion/adaptive.hpp>

#include <algorithm>
#include <cmath>

#include <shoal/reaction_diffusion/second_derivative.hpp>

namespace shoal::reaction_diffusion {
namespace {

// The state holds all nodes of the underlying grid; those that are not in use lie on the lines between the others.
template <class Scalar>
class adaptive final : public stepper<Scalar> {
 public:
  adaptive(const problem& wave, const adaptive_options& how, double step)
      : wave_(wave),
        how_(how),
        step_(step),
        nodes_(wave.grid.columns),
        around_(wave.boundary == boundary::periodic),
        period_(around_ ? static_cast<double>(nodes_) * wave.grid.spacing : 0) {}

  std::size_t advance(state<Scalar>& now, const span& over, std::size_t most) override {
    if (places_.empty()) begin(now);
    const std::size_t steps = over.steps_of(step_);
    const double step = (over.end - over.begin) / static_cast<double>(steps);
    const std::size_t first = now.done, end = std::min(steps, first + most);
    while (now.done < end) {
      ++now.done;
      now.time = now.done == steps ? over.end : over.begin + static_cast<double>(now.done) * step;
      take_step(now, step);
      choose_nodes(now);
    }
    return end - first;
  }

  // The nodes in use, how many were used, and in how many steps.
  std::vector<double> memory() const override {
    std::vector<double> kept = {nodes_used_, steps_taken_};
    kept.insert(kept.end(), places_.begin(), places_.end());
    return kept;
  }
  void restore(const std::vector<double>& kept) override {
    if (kept.size() < 2) throw foreign_memory();
    expect_words(kept, kept.size());
    nodes_used_ = kept[0];
    steps_taken_ = kept[1];
    places_.clear();
    for (auto word = kept.begin() + 2; word != kept.end(); ++word) {
      const std::size_t place = count_in(*word);
      if (place >= nodes_ || (!places_.empty() && place <= places_.back())) throw foreign_memory();
      places_.push_back(place);
    }
    // Both ends are always in use, once there are any.
    if (!places_.empty() && (places_.front() != 0 || places_.back() + 1 != nodes_)) throw foreign_memory();
  }

  double mean_nodes() const override { return steps_taken_ > 0 ? nodes_used_ / steps_taken_ : 0; }
  std::vector<std::size_t> nodes_in_use() const override { return places_; }

 private:
  void begin(const state<Scalar>& now) {
    for (std::size_t i = 0; i < nodes_; ++i) places_.push_back(i);
    rates_.assign(nodes_, 0);
    read(now);
    choose_nodes(now);
  }

  void read(const state<Scalar>& now) {
    x_.resize(places_.size());
    v_.resize(places_.size());
    for (std::size_t k = 0; k < places_.size(); ++k) {
      x_[k] = static_cast<double>(places_[k]) * wave_.grid.spacing;
      v_[k] = static_cast<double>(now.v[places_[k]]);
    }
  }

  void take_step(state<Scalar>& now, double step) {
    const parameters& of = wave_.parameters;
    read(now);
    second_derivative(how_.differences, x_, v_, bends_, period_);
    if (of.recovery_diffusion > 0) {
      w_.resize(places_.size());
      for (std::size_t k = 0; k < places_.size(); ++k) w_[k] = static_cast<double>(now.w[places_[k]]);
      second_derivative(how_.differences, x_, w_, recovery_bends_, period_);
    }
    rates_.resize(places_.size());
    for (std::size_t k = 0; k < places_.size(); ++k) {
      const double v = v_[k], w = static_cast<double>(now.w[places_[k]]);
      rates_[k] = of.diffusion * bends_[k] + v * (1 - v) * (v - of.a) - w;
      now.v[places_[k]] = static_cast<Scalar>(v + step * rates_[k]);
      const double spread = of.recovery_diffusion > 0 ? of.recovery_diffusion * recovery_bends_[k] : 0;
      now.w[places_[k]] = static_cast<Scalar>(w + step * (of.epsilon * (v - of.gamma * w) + spread));
    }
    if (wave_.has_input()) {
      const double v = wave_.input_at(now.time);
      rates_.back() = (v - v_.back()) / step;
      now.v[nodes_ - 1] = static_cast<Scalar>(v);
    }
    nodes_used_ += static_cast<double>(places_.size());
    steps_taken_ += 1;
    fill_between(now.v.data());
    fill_between(now.w.data());
  }

  void fill_between(Scalar* values) const {
    for (std::size_t k = 0; k + 1 < places_.size(); ++k) {
      const std::size_t from = places_[k], to = places_[k + 1];
      for (std::size_t i = from + 1; i < to; ++i) {
        const double share = static_cast<double>(i - from) / static_cast<double>(to - from);
        values[i] = static_cast<Scalar>((1 - share) * static_cast<double>(values[from]) +
                                        share * static_cast<double>(values[to]));
      }
    }
  }

  // The source's rule: a coarse grid everywhere, a finer one where v is steep, a finer one where it changes, and every
  // node around inflection points of what is steep, and near an end with input, where waves begin.
  void choose_nodes(const state<Scalar>& now) {
    strides_.assign(nodes_, how_.coarse_stride);
    read(now);
    const auto last = static_cast<std::ptrdiff_t>(nodes_) - 1;
    const auto mark = [&](std::ptrdiff_t from, std::ptrdiff_t to, std::size_t stride) {
      if (!around_) from = std::max<std::ptrdiff_t>(from, 0), to = std::min(to, last);
      for (std::ptrdiff_t i = from; i <= std::min(to, from + last); ++i) {
        const auto node = static_cast<std::size_t>((i + last + 1) % (last + 1));
        strides_[node] = std::min(strides_[node], stride);
      }
    };
    const auto radius =
        static_cast<std::ptrdiff_t>(std::min(std::ceil(how_.inflection_radius / wave_.grid.spacing), double(last)));
    if (wave_.has_input()) mark(last - radius, last, 1);
    // Around, the first node comes once more behind the last.
    const std::size_t count = places_.size(), pairs = around_ ? count : count - 1;
    const auto slope = [&](std::size_t k) {
      return k + 1 < count ? (v_[k + 1] - v_[k]) / (x_[k + 1] - x_[k]) : (v_[0] - v_[k]) / (x_[0] + period_ - x_[k]);
    };
    for (std::size_t k = 0; k < pairs; ++k) {
      const std::size_t next = (k + 1) % count;
      const auto from = static_cast<std::ptrdiff_t>(places_[k]),
                 to = next > 0 ? static_cast<std::ptrdiff_t>(places_[next]) : last + 1;
      const bool steep = std::abs(slope(k)) > how_.slope;
      if (steep) mark(from, to, std::max<std::size_t>(1, how_.coarse_stride / 2));
      if (std::max(std::abs(rates_[k]), std::abs(rates_[next])) > how_.rate) {
        mark(from, to, std::max<std::size_t>(1, how_.coarse_stride / 4));
      }
      if (!steep || (!around_ && (k == 0 || next + 1 == count))) continue;
      const double before = slope(k) - slope(k > 0 ? k - 1 : count - 1), behind = slope(next) - slope(k);
      if ((before < 0) != (behind < 0)) mark(from - radius, to + radius, 1);
    }
    places_.clear();
    for (std::size_t i = 0; i < nodes_; ++i) {
      if (i % strides_[i] == 0 || i + 1 == nodes_) places_.push_back(i);
    }
  }

  problem wave_;
  adaptive_options how_;
  double step_;
  std::size_t nodes_;
  bool around_;
  double period_;  // 0: there are ends
  double nodes_used_ = 0;
  double steps_taken_ = 0;
  std::vector<std::size_t> places_, strides_;
  std::vector<double> x_, v_, w_, bends_, recovery_bends_, rates_;
};

}  // namespace

double longest_adaptive_step(const problem& wave, second_differences differences) {
  const double eigenvalue = differences == second_differences::spline       ? 12
                            : differences == second_differences::five_point ? 16.0 / 3
                                                                            : 4;
  const parameters& of = wave.parameters;
  const double square = wave.grid.spacing * wave.grid.spacing;
  return std::min(2 / (eigenvalue * of.diffusion / square + std::abs(1 - of.a)),
                  2 / (eigenvalue * of.recovery_diffusion / square + of.epsilon * of.gamma));
}

template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_adaptive(const problem& wave, const adaptive_options& how, double step) {
  return std::make_unique<adaptive<Scalar>>(wave, how, step);
}

template std::unique_ptr<stepper<double>> make_adaptive<double>(const problem&, const adaptive_options&, double);
template std::unique_ptr<stepper<float>> make_adaptive<float>(const problem&, const adaptive_options&, double);

}  // namespace shoal::reaction_diffusion
