#include <shoal/gmm/chunked/asynchronous.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include <shoal/core/error.hpp>
#include <shoal/gmm/maximise.hpp>

namespace shoal::gmm {
namespace {

// Σₖ |ΔWₖ| / Σ w: what a chunk's responsibilities moved by at least, and exactly when it has one row.
double movement(const statistics& before, const statistics& after) {
  double moved = 0;
  for (std::size_t k = 0; k < after.layout().components(); ++k) moved += std::abs(after.weight(k) - before.weight(k));
  return after.total_weight() > 0 ? moved / after.total_weight() : 0;
}

}  // namespace

template <class Scalar>
asynchronous_fit<Scalar>::asynchronous_fit(const host_rows<Scalar>& rows)
    : keeping_fit<Scalar>(rows), memory_(rows.context.workers->threads()) {
  for (worker_memory& memory : memory_) {
    memory.fresh.assign(this->plan_.superchunk, statistics(this->layout_));
    memory.moved.resize(this->plan_.superchunk);
  }
  if (rows.options.chunks.memberships) memberships_.resize(this->plan_.rows * this->layout_.components());
}

template <class Scalar>
std::shared_ptr<const typename asynchronous_fit<Scalar>::published> asynchronous_fit<Scalar>::newest() const {
  const std::scoped_lock lock(newest_lock_);
  return newest_;
}

template <class Scalar>
void asynchronous_fit<Scalar>::publish(std::shared_ptr<const published> model) {
  const std::scoped_lock lock(newest_lock_);
  if (newest_ == nullptr || newest_->version < model->version) newest_ = std::move(model);
}

template <class Scalar>
bool asynchronous_fit<Scalar>::visit(chunk_reader<Scalar>& reader, std::size_t chunk,
                                     const parameters<Scalar>& components, const parameters<Scalar>& about, bool every,
                                     worker_memory& memory, statistics& into) {
  if (!memberships_.empty()) return visit_memberships(reader, chunk, components, about, every, memory, into);
  const double threshold = this->rows_.options.chunks.threshold;
  reader.sum(this->plan_, chunk, {&components, nullptr, &about}, into);
  return every || threshold == 0 || movement(this->kept_.chunk(chunk), into) > threshold;
}

template <class Scalar>
bool asynchronous_fit<Scalar>::visit_memberships(chunk_reader<Scalar>& reader, std::size_t chunk,
                                                 const parameters<Scalar>& components, const parameters<Scalar>& about,
                                                 bool every, worker_memory& memory, statistics& into) {
  const std::size_t K = this->layout_.components();
  const double threshold = this->rows_.options.chunks.threshold;
  gmm::score sums;
  bool any = every;
  reader.for_each_piece(this->plan_, chunk, [&](const row_block<Scalar>& block, workspace<Scalar>& kernels) {
    const std::size_t rows = block.rows.rows();
    if (memory.probabilities.size() < rows * K) memory.probabilities.resize(rows * K);
    predict_rows(components, block, kernels, {nullptr, memory.probabilities.data(), nullptr}, sums);
    for (std::size_t i = 0; i < rows; ++i) {
      const Scalar* const now = memory.probabilities.data() + i * K;
      Scalar* const kept = memberships_.data() + (block.first + i) * K;
      double moved = 0;
      for (std::size_t k = 0; k < K; ++k) moved += std::abs(static_cast<double>(now[k]) - static_cast<double>(kept[k]));
      if (!every && !(moved > threshold)) continue;
      // A row that weighs nothing may have a density of zero, and then belongs to no component.
      std::transform(now, now + K, kept, [](Scalar value) { return std::isnan(value) ? Scalar{0} : value; });
      any = true;
    }
  });
  if (any) {
    const responsibilities_function<Scalar> kept_ones = [&](const row_block<Scalar>& block, Scalar* responsibilities,
                                                            std::size_t stride) {
      for (std::size_t i = 0; i < block.rows.rows(); ++i) {
        const Scalar* const kept = memberships_.data() + (block.first + i) * K;
        for (std::size_t k = 0; k < K; ++k) responsibilities[k * stride + i] = kept[k];
      }
    };
    reader.sum(this->plan_, chunk, {&components, &kept_ones, &about}, into);
  }
  into.values()[statistics_layout::log_likelihood()] = sums.log_likelihood;
  return any;
}

// What one thread would publish if it were alone with this chunk.
template <class Scalar>
void asynchronous_fit<Scalar>::advance_local(std::size_t chunk, const statistics& fresh, published& local) const {
  const statistics_group group(this->layout_);
  group.subtract_from(local.total, this->kept_.chunk(chunk));
  group.combine_into(local.total, fresh);
  if (!this->maximise_once(local.total, local.model, nullptr)) return;
  local.prepared = prepare_about<Scalar>(local.model, this->kept_.centres());
}

template <class Scalar>
void asynchronous_fit<Scalar>::consolidate(std::span<const std::size_t> chunks, worker_memory& memory) {
  auto next = std::make_shared<published>();
  {
    const std::scoped_lock lock(sums_);
    std::size_t folded = 0;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      if (memory.moved[i]) {
        this->kept_.replace(chunks[i], memory.fresh[i]);
        ++folded;
      } else {
        this->kept_.replace_log_likelihood(chunks[i], memory.fresh[i].log_likelihood());
      }
    }
    if (folded == 0) return;
    folded_ += folded;
    next->model = this->model_;
    if (!this->maximise_once(this->kept_.total(), next->model, nullptr)) {
      jumped_ = true;
      return;
    }
    this->model_ = next->model;
    next->version = ++consolidations_;
    if (this->rows_.options.chunks.local_models) next->total = this->kept_.total();
  }
  next->prepared = prepare_about<Scalar>(next->model, this->kept_.centres());
  publish(std::move(next));
}

template <class Scalar>
void asynchronous_fit<Scalar>::visit_superchunk(std::size_t superchunk, bool every, chunk_reader<Scalar>& reader,
                                                worker_memory& memory) {
  const std::span<const std::size_t> chunks = this->chunks_of(superchunk);
  const std::shared_ptr<const published> seen = newest();
  const bool local_models = this->rows_.options.chunks.local_models;
  published local;
  bool own = false;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const parameters<Scalar>& components = own ? local.prepared : seen->prepared;
    memory.moved[i] = visit(reader, chunks[i], components, components, every, memory, memory.fresh[i]);
    if (!local_models || !memory.moved[i] || i + 1 == chunks.size()) continue;
    if (!own) {
      local.model = seen->model;
      local.total = seen->total;
      own = true;
    }
    advance_local(chunks[i], memory.fresh[i], local);
  }
  consolidate(chunks, memory);
}

template <class Scalar>
void asynchronous_fit<Scalar>::free_pass(bool every) {
  executor& workers = *this->rows_.context.workers;
  auto first = std::make_shared<published>();
  first->model = this->model_;
  first->prepared = prepare_about<Scalar>(this->model_, this->kept_.centres(), &workers);
  if (this->rows_.options.chunks.local_models) first->total = this->kept_.total();
  newest_ = std::move(first);
  consolidations_ = 0;
  folded_ = 0;
  jumped_ = false;
  this->chunks_of(0);  // draws the order of the pass, which the threads then only read
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  workers.run(workers.threads(), 1, [&](std::size_t, const team_member& member) {
    try {
      while (!failed && !jumped_) {
        const std::size_t superchunk = next.fetch_add(1);
        if (superchunk >= this->plan_.superchunks()) return;
        visit_superchunk(superchunk, every, this->readers_[member.team()], memory_[member.team()]);
      }
    } catch (...) {
      failed = true;
      throw;
    }
  });
}

template <class Scalar>
void asynchronous_fit<Scalar>::step_on_all() {
  this->full_pass([this](chunk_reader<Scalar>& reader, std::size_t chunk, const parameters<Scalar>& components,
                         const parameters<Scalar>& about, statistics& into) {
    const auto thread = static_cast<std::size_t>(&reader - this->readers_.data());
    visit(reader, chunk, components, about, true, memory_[thread], into);
  });
}

template <class Scalar>
std::vector<step_record> asynchronous_fit<Scalar>::advance(std::size_t) {
  bool full = !this->kept_valid();
  const bool every = quiet_ || this->pass_ % this->rows_.options.chunks.rebuild_passes == 0;
  if (!full) {
    free_pass(every);
    full = jumped_;
  }
  if (full) step_on_all();
  const bool nothing = !full && !every && folded_ == 0;
  const bool settled = nothing && renewed_;
  quiet_ = nothing && !renewed_;
  renewed_ = full || every;
  return {{this->finish_pass(), 0.0, settled}};
}

template <class Scalar>
std::vector<double> asynchronous_fit<Scalar>::save() const {
  return this->save_model();
}

template <class Scalar>
void asynchronous_fit<Scalar>::restore(std::span<const double> state) {
  state_reader words(state);
  this->restore_model(words);
  words.end();
  this->valid_ = false;
  quiet_ = false;
}

template class asynchronous_fit<float>;
template class asynchronous_fit<double>;

}  // namespace shoal::gmm
