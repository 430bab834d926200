// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/engine/engine.h"
#include "waiter/internal/mutex.h"
#include "waiter/telemetry/metrics.h"
#include "waiter/thread_value.h"

namespace waiter {
namespace {

constexpr size_t kBuckets = std::tuple_size_v<BucketBounds> + 1;
constexpr size_t kShards = 8;

// Threads that record at the same time write to different shards of a series.
// All but the last shard belong to one thread at a time, which needs no atomic
// addition: it alone writes. Any further threads share the last one.
constexpr size_t kSharedShard = kShards - 1;

class ShardOfThread {
 public:
  static size_t Get() {
    // A number without a constructor is faster to access than an object.
    if (shard_ == kNone) Acquire();
    return shard_;
  }

 private:
  static constexpr size_t kNone = kShards;

  static void Acquire() {
    uint32_t taken = taken_.load(std::memory_order_relaxed);
    do {
      shard_ = static_cast<size_t>(std::countr_one(taken));
      if (shard_ >= kSharedShard) {
        shard_ = kSharedShard;
        return;
      }
    } while (!taken_.compare_exchange_weak(taken, taken | (1U << shard_),
                                           std::memory_order_acquire,
                                           std::memory_order_relaxed));
    // One more than the number: null is no value.
    if (!internal::ThreadValue<Release>::Set(
            reinterpret_cast<void*>(shard_ + 1))) {
      Free(std::exchange(shard_, kSharedShard));
    }
  }

  static void WAITER_AT_THREAD_END Release(void* value) {
#ifndef __MINGW32__  // Which would allocate it again.
    // Other objects of the thread may still record while they are destroyed.
    shard_ = kSharedShard;
#endif
    Free(reinterpret_cast<uintptr_t>(value) - 1);
  }

  // The thread that takes the shard afterwards sees everything that this thread
  // has written.
  static void Free(size_t shard) {
    taken_.fetch_and(~(1U << shard), std::memory_order_release);
  }

  static inline std::atomic<uint32_t> taken_ = 0;
  static inline thread_local size_t shard_ = kNone;
};

// Returns the bucket of `value`: the number of bounds below it.
size_t BucketOf(const BucketBounds& bounds, double value) {
  // Time matters only for small values.
  if (value <= bounds[0]) return 0;
  // No comparison waits for another, so this is faster than a binary search.
  size_t below = 0;
  for (const double bound : bounds) below += bound < value ? 1 : 0;
  return below;
}

// Gauges, in the order of their families.
constexpr std::array kGauges = std::to_array<InstrumentInfo>({
    {"waiter.engine.pending", "{wait}",
     "Waits of an engine that have not ended.", InstrumentKind::kGauge},
    {"waiter.engine.due", "{wait}",
     "Waits that were due in an engine's last round.", InstrumentKind::kGauge},
    {"waiter.engine.polls", "{poll}", "Polls that an engine has begun.",
     InstrumentKind::kCounter},
    {"waiter.engine.lateness", "s",
     "Lateness with which an engine's rounds began.",
     InstrumentKind::kHistogram},
    {"waiter.retry_quota.tokens", "{token}", "Tokens that a retry quota has.",
     InstrumentKind::kGauge},
    {"waiter.rate_limiter.rate", "{poll}/s",
     "Polls per second that a rate limiter allows; absent while it limits "
     "nothing.",
     InstrumentKind::kGauge},
});

}  // namespace

class MetricsTable::Series {
 public:
  explicit Series(const MetricSeries& series)
      : instrument_(series.instrument()), bounds_(BoundsOf(instrument_)) {
    const auto add = [&](std::string_view name, std::string_view value) {
      if (!value.empty()) labels_.emplace_back(name, value);
    };
    add("operation", series.operation());
    add("stop_reason", series.stop_reason());
    add("error_type", series.error_type());
    add("status", series.status());
  }

  void Record(double value) {
    const size_t mine = ShardOfThread::Get();
    const bool is_alone = mine != kSharedShard;
    Shard& shard = shards_[mine];
    Shard::Add(shard.buckets[BucketOf(bounds_, value)], uint64_t{1}, is_alone);
    Shard::Add(shard.sum, value, is_alone);
  }

  void Add(int64_t value) {
    const size_t mine = ShardOfThread::Get();
    Shard::Add(shards_[mine].sum, static_cast<double>(value),
               mine != kSharedShard);
  }

  MetricSample Collect() const {
    MetricSample sample = {.labels = labels_, .value = 0, .buckets = {}};
    const bool is_histogram =
        InfoOf(instrument_).kind == InstrumentKind::kHistogram;
    if (is_histogram) sample.buckets.resize(kBuckets);
    for (const Shard& shard : shards_) {
      sample.value += shard.sum.load(std::memory_order_relaxed);
      for (size_t i = 0; i < sample.buckets.size(); ++i) {
        sample.buckets[i] += shard.buckets[i].load(std::memory_order_relaxed);
      }
    }
    return sample;
  }

  Instrument instrument() const { return instrument_; }

 private:
  // A part of a series, for one or for some of the threads.
  struct alignas(64) Shard {
    // Adds `delta` to `number`. The only writer needs no atomic addition.
    template <typename Number>
    static void Add(std::atomic<Number>& number, Number delta, bool is_alone) {
      Number expected = number.load(std::memory_order_relaxed);
      if (is_alone) {
        number.store(expected + delta, std::memory_order_relaxed);
        return;
      }
      while (!number.compare_exchange_weak(expected, expected + delta,
                                           std::memory_order_relaxed)) {
      }
    }

    std::array<std::atomic<uint64_t>, kBuckets> buckets = {};
    std::atomic<double> sum = 0;
  };

  const Instrument instrument_;
  const BucketBounds& bounds_;
  std::vector<std::pair<std::string_view, std::string>> labels_;
  std::array<Shard, kShards> shards_;
};

struct MetricsTable::Slots {
  std::array<std::atomic<Series*>, MetricSeries::kCount> series = {};
};

class MetricsTable::Watched {
 public:
  struct Engine {
    const WaitEngine* engine;
  };
  struct Quota {
    std::shared_ptr<const RetryQuota> quota;
    Clock* clock;
  };
  struct Limiter {
    std::shared_ptr<const RateLimiter> limiter;
  };
  using Resource = std::variant<Engine, Quota, Limiter>;

  void Add(std::string name, Resource resource) {
    const size_t type = resource.index();
    const internal::MutexLock lock(mutex_);
    // The former object is destroyed with the parameter, after the lock is
    // released.
    std::swap(resources_[{std::move(name), type}], resource);
  }

  void Forget(std::string_view name) {
    std::vector<Resource> gone;  // Destructors may use the table.
    const internal::MutexLock lock(mutex_);
    std::erase_if(resources_, [&](auto& entry) {
      if (entry.first.first != name) return false;
      gone.push_back(std::move(entry.second));
      return true;
    });
  }

  void CollectInto(std::vector<MetricFamily>& families) const {
    std::array<MetricFamily, kGauges.size()> gauges;
    {
      const internal::MutexLock lock(mutex_);
      for (const auto& [key, resource] : resources_) {
        std::visit([&, &name = key.first](
                       const auto& watched) { Read(name, watched, gauges); },
                   resource);
      }
    }
    for (size_t i = 0; i < gauges.size(); ++i) {
      if (gauges[i].samples.empty()) continue;
      gauges[i].info = kGauges[i];
      families.push_back(std::move(gauges[i]));
    }
  }

 private:
  using Gauges = std::array<MetricFamily, kGauges.size()>;

  static MetricSample& AddSample(const std::string& name, double value,
                                 MetricFamily& family) {
    return family.samples.emplace_back(MetricSample{
        .labels = {{"name", name}}, .value = value, .buckets = {}});
  }

  static void Read(const std::string& name, const Engine& watched,
                   Gauges& gauges) {
    const EngineStatistics now = watched.engine->statistics();
    AddSample(name, static_cast<double>(now.pending), gauges[0]);
    AddSample(name, static_cast<double>(now.due), gauges[1]);
    AddSample(name, static_cast<double>(now.polls), gauges[2]);
    gauges[3].bounds.assign(EngineStatistics::kLatenessBounds.begin(),
                            EngineStatistics::kLatenessBounds.end());
    AddSample(name, absl::ToDoubleSeconds(now.lateness), gauges[3])
        .buckets.assign(now.late_rounds.begin(), now.late_rounds.end());
  }

  static void Read(const std::string& name, const Quota& watched,
                   Gauges& gauges) {
    AddSample(name, watched.quota->Available(watched.clock->MonotonicNow()),
              gauges[4]);
  }

  static void Read(const std::string& name, const Limiter& watched,
                   Gauges& gauges) {
    if (const std::optional<double> rate = watched.limiter->Rate()) {
      AddSample(name, *rate, gauges[5]);
    }
  }

  mutable internal::Mutex mutex_;
  std::map<std::pair<std::string, size_t>, Resource> resources_
      ABSL_GUARDED_BY(mutex_);
};

MetricsTable::MetricsTable()
    : slots_(std::make_unique<Slots>()),
      watched_(std::make_unique<Watched>()) {}

MetricsTable::~MetricsTable() {
  for (const std::atomic<Series*>& series : slots_->series) {
    delete series.load(std::memory_order_relaxed);
  }
}

MetricsTable::Series& MetricsTable::SeriesOf(const MetricSeries& series) {
  std::atomic<Series*>& slot = slots_->series[series.ordinal()];
  Series* found = slot.load(std::memory_order_acquire);
  if (found != nullptr) return *found;
  auto added = std::make_unique<Series>(series);
  if (slot.compare_exchange_strong(found, added.get(),
                                   std::memory_order_acq_rel,
                                   std::memory_order_acquire)) {
    return *added.release();
  }
  return *found;
}

void MetricsTable::Record(const MetricSeries& series, double value) {
  SeriesOf(series).Record(value);
}

void MetricsTable::Add(const MetricSeries& series, int64_t value) {
  SeriesOf(series).Add(value);
}

void MetricsTable::Watch(std::string name, const WaitEngine& engine) {
  watched_->Add(std::move(name), Watched::Engine{&engine});
}

void MetricsTable::Watch(std::string name,
                         std::shared_ptr<const RetryQuota> quota,
                         Clock& clock) {
  watched_->Add(std::move(name), Watched::Quota{std::move(quota), &clock});
}

void MetricsTable::Watch(std::string name,
                         std::shared_ptr<const RateLimiter> limiter) {
  watched_->Add(std::move(name), Watched::Limiter{std::move(limiter)});
}

void MetricsTable::Forget(std::string_view name) { watched_->Forget(name); }

std::vector<MetricFamily> MetricsTable::Collect() const {
  std::vector<MetricFamily> families;
  for (const Instrument instrument : kInstruments) {
    MetricFamily family = {
        .info = InfoOf(instrument), .bounds = {}, .samples = {}};
    for (const std::atomic<Series*>& slot : slots_->series) {
      const Series* const series = slot.load(std::memory_order_acquire);
      if (series == nullptr || series->instrument() != instrument) continue;
      family.samples.push_back(series->Collect());
    }
    if (family.samples.empty()) continue;
    if (family.info.kind == InstrumentKind::kHistogram) {
      const BucketBounds& bounds = BoundsOf(instrument);
      family.bounds.assign(bounds.begin(), bounds.end());
    }
    families.push_back(std::move(family));
  }
  watched_->CollectInto(families);
  return families;
}

}  // namespace waiter
