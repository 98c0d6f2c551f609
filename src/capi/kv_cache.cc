#include "regard/kv_cache.h"

#include <string>
#include <utility>

#include "capi/boundary.h"
#include "capi/handles.h"
#include "capi/tensor.h"

namespace {

using regard::Guard;
using regard::Required;

regard::KvCacheSizes SizesOf(const regard_kv_cache_sizes* sizes) {
  const regard_kv_cache_sizes& c = Required(sizes, "sizes");
  if (c.dtype < REGARD_BOOL || c.dtype > REGARD_F64) {
    throw regard::Error(regard::ErrorKind::kArgument, "sizes.dtype",
                        std::to_string(c.dtype) + " does not exist",
                        "use REGARD_F32, REGARD_BF16, ...");
  }
  return {c.sequences, c.kv_heads, c.key_size, c.value_size,
          static_cast<regard::DType>(c.dtype)};
}

// A new handle; the place for it is looked at first.
template <typename Make>
regard_status Create(const char* function, const regard_kv_cache_sizes* sizes,
                     regard_kv_cache** cache, const Make& make) {
  return Guard(function, [&] {
    regard_kv_cache*& result = Required(cache, "cache");
    regard::KvCache value = make(SizesOf(sizes));
    result = new regard_kv_cache{std::move(value)};
  });
}

}  // namespace

regard_status regard_kv_cache_create(const regard_kv_cache_sizes* sizes,
                                     int64_t capacity,
                                     regard_kv_cache** cache) {
  return Create("regard_kv_cache_create", sizes, cache,
                [&](const regard::KvCacheSizes& value) {
                  return regard::KvCache::Contiguous(value, capacity);
                });
}

regard_status regard_kv_cache_create_ring(const regard_kv_cache_sizes* sizes,
                                          int64_t window, int64_t first_keys,
                                          int64_t longest_append,
                                          regard_kv_cache** cache) {
  return Create("regard_kv_cache_create_ring", sizes, cache,
                [&](const regard::KvCacheSizes& value) {
                  return regard::KvCache::Ring(value, window, first_keys,
                                               longest_append);
                });
}

regard_status regard_kv_cache_create_paged(const regard_kv_cache_sizes* sizes,
                                           int64_t capacity, int64_t pages,
                                           int64_t page_rows,
                                           regard_kv_cache** cache) {
  return Create("regard_kv_cache_create_paged", sizes, cache,
                [&](const regard::KvCacheSizes& value) {
                  return regard::KvCache::Paged(value, capacity, pages,
                                                page_rows);
                });
}

void regard_kv_cache_destroy(regard_kv_cache* cache) { delete cache; }

regard_status regard_kv_cache_append(regard_kv_cache* cache,
                                     const regard_tensor* k,
                                     const regard_tensor* v) {
  return Guard("regard_kv_cache_append", [&] {
    Required(cache, "cache")
        .value.Append(regard::RequiredViewOf(k, "k"),
                      regard::RequiredViewOf(v, "v"));
  });
}

regard_status regard_kv_cache_append_packed(regard_kv_cache* cache,
                                            const regard_tensor* k,
                                            const regard_tensor* v,
                                            const regard_tensor* starts) {
  return Guard("regard_kv_cache_append_packed", [&] {
    Required(cache, "cache")
        .value.AppendPacked(regard::RequiredViewOf(k, "k"),
                            regard::RequiredViewOf(v, "v"),
                            regard::RequiredViewOf(starts, "starts"));
  });
}

regard_status regard_kv_cache_append_to(regard_kv_cache* cache,
                                        int64_t sequence,
                                        const regard_tensor* k,
                                        const regard_tensor* v) {
  return Guard("regard_kv_cache_append_to", [&] {
    Required(cache, "cache")
        .value.AppendTo(sequence, regard::RequiredViewOf(k, "k"),
                        regard::RequiredViewOf(v, "v"));
  });
}

regard_status regard_kv_cache_trim(regard_kv_cache* cache, int64_t sequence,
                                   int64_t length) {
  return Guard("regard_kv_cache_trim",
               [&] { Required(cache, "cache").value.Trim(sequence, length); });
}

regard_status regard_kv_cache_fork(regard_kv_cache* cache, int64_t from,
                                   int64_t to, int64_t length) {
  return Guard("regard_kv_cache_fork",
               [&] { Required(cache, "cache").value.Fork(from, to, length); });
}

regard_status regard_kv_cache_read(const regard_kv_cache* cache,
                                   int64_t sequence, int64_t begin,
                                   const regard_tensor* k,
                                   const regard_tensor* v) {
  return Guard("regard_kv_cache_read", [&] {
    Required(cache, "cache")
        .value.Read(sequence, begin, regard::RequiredViewOf(k, "k"),
                    regard::RequiredViewOf(v, "v"));
  });
}

regard_status regard_kv_cache_length(const regard_kv_cache* cache,
                                     int64_t sequence, int64_t* length) {
  return Guard("regard_kv_cache_length", [&] {
    int64_t& result = Required(length, "length");
    result = Required(cache, "cache").value.length(sequence);
  });
}

regard_status regard_kv_cache_oldest(const regard_kv_cache* cache,
                                     int64_t sequence, int64_t* oldest) {
  return Guard("regard_kv_cache_oldest", [&] {
    int64_t& result = Required(oldest, "oldest");
    result = Required(cache, "cache").value.oldest(sequence);
  });
}

int64_t regard_kv_cache_capacity(const regard_kv_cache* cache) {
  return cache == nullptr ? 0 : cache->value.capacity();
}

int64_t regard_kv_cache_pages(const regard_kv_cache* cache) {
  return cache == nullptr ? 0 : cache->value.pages();
}

int64_t regard_kv_cache_free_pages(const regard_kv_cache* cache) {
  return cache == nullptr ? 0 : cache->value.free_pages();
}

size_t regard_kv_cache_bytes(const regard_kv_cache* cache) {
  return cache == nullptr ? 0 : cache->value.bytes();
}

regard_status regard_problem_set_kv_cache(regard_problem* problem,
                                          const regard_kv_cache* cache,
                                          int64_t first, int64_t sequences) {
  return Guard("regard_problem_set_kv_cache", [&] {
    regard::AttentionProblem& value = Required(problem, "problem").value;
    Required(cache, "cache").value.Bind(value, first, sequences);
  });
}
