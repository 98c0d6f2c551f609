/* The C interface: exact attention on CPUs. C99; this header stands alone.
 *
 *   s       = scale * q k^T                   [B, Hq, Lq, Lk]
 *   s       = softcap * tanh(s / softcap)     when softcap is set
 *   s       = s + bias - slope * |i + offset - j|       with ALiBi
 *   weights = softmax over the visible keys of each row
 *   out     = weights v                       [B, Hq, Lq, Dv]
 *
 * B batch, Hq query heads, Hkv key/value heads (Hq = g * Hkv; query head h uses
 * kv head h / g), Lq and Lk lengths, D and Dv head sizes.
 *
 * Every function that can fail returns a regard_status: REGARD_OK, or a code
 * whose reason regard_last_message() tells; nothing has been written then. No
 * function prints, exits, or lets an exception out. Results are what the C++
 * interface gives, bit for bit.
 *
 * Handles (regard_mask, regard_problem, regard_options, regard_plan,
 * regard_kv_cache) are made by _create and freed by _destroy, which takes NULL
 * too. One handle must not
 * be changed, or run if it is a plan, by two threads at once; different handles
 * are independent.
 *
 * The shared library keeps this interface within a version number of its name:
 * programs linked with libregard.so.X run with every libregard.so.X.
 */
#ifndef REGARD_REGARD_C_H_
#define REGARD_REGARD_C_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A build that wants these symbols for itself defines it empty. */
#ifndef REGARD_API
#if defined(__GNUC__)
#define REGARD_API __attribute__((visibility("default")))
#else
#define REGARD_API
#endif
#endif

/* ---------------------------------------------------------------- errors */

typedef int32_t regard_status;
enum {
  REGARD_OK = 0,
  REGARD_ERROR_USAGE = 1,       /* names something that does not exist */
  REGARD_ERROR_ARGUMENT = 2,    /* an argument breaks a rule (shape, range) */
  REGARD_ERROR_FILE = 3,        /* a file can't be read or written */
  REGARD_ERROR_FORMAT = 4,      /* a file is not what it claims to be */
  REGARD_ERROR_UNSUPPORTED = 5, /* valid, but not something this version does */
  REGARD_ERROR_SIZE = 6,        /* larger than can be counted */
  REGARD_ERROR_MEMORY = 7,      /* not enough memory */
  REGARD_ERROR_STOPPED = 8,     /* a callback asked to stop */
  REGARD_ERROR_INTERNAL = 9     /* a fault of Regard, or of a C++ callback */
};

/* "ok", "argument", ...; "unknown" for any other number. */
REGARD_API const char* regard_status_name(regard_status status);

/* What the last failed call of this thread has to say: function, argument,
 * rule and what to do, on one line; "" before the first. Lives until the next
 * failed call of this thread. */
REGARD_API const char* regard_last_message(void);

/* ---------------------------------------------------------------- version */

/* Of the library, "0.1.0". */
REGARD_API const char* regard_version(void);

/* Lists: writes up to `capacity` names, best or widest first, which live
 * forever, and how many there are into `count`. `names` may be NULL with a
 * capacity of 0. */

/* "flash", ..., "reference" */
REGARD_API regard_status regard_kernels(const char** names, size_t capacity,
                                        size_t* count);
/* Instruction sets built in, and those usable on this machine, which the
 * environment variable REGARD_MAX_ISA caps: "AVX3", "AVX2", ... */
REGARD_API regard_status regard_built_instruction_sets(const char** names,
                                                       size_t capacity,
                                                       size_t* count);
REGARD_API regard_status regard_usable_instruction_sets(const char** names,
                                                        size_t capacity,
                                                        size_t* count);

/* ---------------------------------------------------------------- tensors */

/* Element types. */
enum {
  REGARD_BOOL = 0, /* one byte, 0 or not 0 */
  REGARD_U8 = 1,
  REGARD_I8 = 2,
  REGARD_U16 = 3,
  REGARD_I16 = 4,
  REGARD_F16 = 5,
  REGARD_BF16 = 6,
  REGARD_U32 = 7,
  REGARD_I32 = 8,
  REGARD_F32 = 9,
  REGARD_U64 = 10,
  REGARD_I64 = 11,
  REGARD_F64 = 12
};

#define REGARD_MAX_RANK 8

/* A window on the caller's memory. Strides count elements, not bytes, and may
 * be 0 or negative. What a function takes as an input is never written. */
typedef struct regard_tensor {
  void* data;
  int32_t dtype;
  int32_t rank; /* 0 to REGARD_MAX_RANK */
  int64_t shape[REGARD_MAX_RANK];
  int64_t strides[REGARD_MAX_RANK];
} regard_tensor;

/* Row-major and contiguous. `shape` has `rank` sizes. */
REGARD_API regard_status regard_tensor_init(regard_tensor* tensor,
                                            const void* data, int32_t dtype,
                                            int32_t rank, const int64_t* shape);

/* ---------------------------------------------------------------- masks */

/* Which query may look at which key. Begins with everything visible; each
 * function after `create` leaves visible what its rule allows too. Query i
 * stands at position i + offset (regard_problem_set_query_offset), key j at
 * position j. */
typedef struct regard_mask regard_mask;

REGARD_API regard_status regard_mask_create(regard_mask** mask);
REGARD_API void regard_mask_destroy(regard_mask* mask);

/* j <= i + offset */
REGARD_API regard_status regard_mask_and_causal(regard_mask* mask);
/* j < keys, or j <= i + offset */
REGARD_API regard_status regard_mask_and_prefix(regard_mask* mask,
                                                int64_t keys);
/* Both positions in the same chunk of `size`, from position 0 on. */
REGARD_API regard_status regard_mask_and_chunk(regard_mask* mask, int64_t size);
/* i + offset - j < left and j - (i + offset) <= right. `left` counts the query
 * itself (1: only itself). REGARD_NO_LIMIT: no limit on that side. The first
 * `first_keys` keys stay visible however far back they are. */
#define REGARD_NO_LIMIT (-1)
REGARD_API regard_status regard_mask_and_window(regard_mask* mask, int64_t left,
                                                int64_t right,
                                                int64_t first_keys);
/* Real lengths of the B sequences of a batch, copied; NULL: all. Queries past
 * theirs are empty rows, keys past theirs are never read. */
REGARD_API regard_status regard_mask_and_lengths(regard_mask* mask,
                                                 int64_t batch,
                                                 const int64_t* query,
                                                 const int64_t* key);

/* The memory of these arrays stays the caller's and has to live as long as the
 * mask, or a problem that it was given to, is used. */

/* Query and key have the same id: i32 or i64 [Lq] and [Lk], or [B, Lq] and
 * [B, Lk]. */
REGARD_API regard_status regard_mask_and_documents(regard_mask* mask,
                                                   const regard_tensor* query,
                                                   const regard_tensor* key);
/* layout[b, h, i / query_block, j / key_block] is not 0: bool or u8,
 * [ceil(Lq / query_block), ceil(Lk / key_block)] behind axes that broadcast to
 * B and Hq. i and j count from 0 whatever the query offset. */
REGARD_API regard_status
regard_mask_and_block_sparse(regard_mask* mask, const regard_tensor* layout,
                             int64_t query_block, int64_t key_block);
/* One bit a key, the least significant one first: u8 [..., Lq, ceil(Lk / 8)],
 * the axes before the last broadcast to [B, Hq, Lq] by numpy's rules. */
REGARD_API regard_status regard_mask_and_bits(regard_mask* mask,
                                              const regard_tensor* bytes);
/* Bool or u8 (not 0: visible), broadcast to [B, Hq, Lq, Lk] by numpy's
 * rules. */
REGARD_API regard_status regard_mask_and_boolean(regard_mask* mask,
                                                 const regard_tensor* allowed);

/* Whose scores a mask function is asked about: one query head, counted from
 * 0; query i stands at position i + offset. */
typedef struct regard_mask_frame {
  int64_t batch, head;
  int64_t query_length, key_length;
  int64_t offset;
} regard_mask_frame;

/* A mask of the caller's own. The answers must follow from the arguments alone:
 * they are asked for from several threads, in any order and number. The
 * functions must not throw or jump out; they and `user` have to live as long as
 * the mask, or a problem that it was given to, is used.
 *
 * Not 0: the query may attend to the key. */
typedef int32_t (*regard_mask_allows)(const regard_mask_frame* frame,
                                      int64_t query, int64_t key, void* user);
/* Narrows the keys [*key_begin, *key_end) to a part outside which none of the
 * queries [query_begin, query_end) sees any of them. More queries or more keys
 * must never make it smaller. What no query sees is not read. */
typedef void (*regard_mask_range)(const regard_mask_frame* frame,
                                  int64_t query_begin, int64_t query_end,
                                  int64_t* key_begin, int64_t* key_end,
                                  void* user);
/* One of these about a block. EMPTY and FULL are promises; anything else is
 * taken for MIXED, which is always right. */
enum { REGARD_TILE_MIXED = 0, REGARD_TILE_EMPTY = 1, REGARD_TILE_FULL = 2 };
typedef int32_t (*regard_mask_classify)(const regard_mask_frame* frame,
                                        int64_t query_begin, int64_t query_end,
                                        int64_t key_begin, int64_t key_end,
                                        void* user);
/* `range` and `classify` save work and may be NULL. */
REGARD_API regard_status regard_mask_and_function(regard_mask* mask,
                                                  regard_mask_allows allows,
                                                  regard_mask_range range,
                                                  regard_mask_classify classify,
                                                  void* user);

/* ---------------------------------------------------------------- problems */

/* What is to be computed. The arrays stay the caller's. */
typedef struct regard_problem regard_problem;

REGARD_API regard_status regard_problem_create(regard_problem** problem);
REGARD_API void regard_problem_destroy(regard_problem* problem);

/* q [B, Hq, Lq, D], k [B, Hkv, Lk, D], v [B, Hkv, Lk, Dv], any strides. Each
 * f32, bf16 or f16, computed in f32; or q f64 and k and v of any of the four,
 * computed in f64. */
REGARD_API regard_status regard_problem_set_qkv(regard_problem* problem,
                                                const regard_tensor* q,
                                                const regard_tensor* k,
                                                const regard_tensor* v);
/* Copied, so that `mask` may be changed or destroyed. NULL: all visible. */
REGARD_API regard_status regard_problem_set_mask(regard_problem* problem,
                                                 const regard_mask* mask);
/* Where query 0 stands among the keys. Has to be chosen when Lq != Lk and a
 * mask compares positions. */
enum {
  REGARD_TOP_LEFT = 0,     /* at key 0 */
  REGARD_BOTTOM_RIGHT = 1, /* the last query at the last key, by real lengths */
  REGARD_AT = 2            /* at `position` */
};
REGARD_API regard_status regard_problem_set_query_offset(
    regard_problem* problem, int32_t kind, int64_t position);
/* Unless set, 1/sqrt(D). 0 and negative numbers are legal. */
REGARD_API regard_status regard_problem_set_scale(regard_problem* problem,
                                                  double scale);
/* > 0. Unless set, none. */
REGARD_API regard_status regard_problem_set_softcap(regard_problem* problem,
                                                    double softcap);
/* f32, f64, bf16 or f16, broadcast to [B, Hq, Lq, Lk] by numpy's rules;
 * -infinity hides a key. NULL: none. */
REGARD_API regard_status regard_problem_set_bias(regard_problem* problem,
                                                 const regard_tensor* bias);

/* ALiBi: [Hq], any floating type, finite. NULL: none. */
REGARD_API regard_status regard_problem_set_alibi_slopes(
    regard_problem* problem, const regard_tensor* slopes);
/* The usual slopes for so many heads, written to slopes[heads]. */
REGARD_API regard_status regard_alibi_slopes(int64_t heads, double* slopes);
/* A learned sink, [Hq], any floating type: one more logit in the denominator of
 * every row, which lse leaves out. NULL: none. Parts to be merged are made
 * without. */
REGARD_API regard_status regard_problem_set_sink_logit(
    regard_problem* problem, const regard_tensor* sink_logit);
/* Dropout on the weights, for training: each becomes 0 with probability p, in
 * [0, 1), the others are multiplied by 1 / (1 - p); lse and returned weights
 * are those before. What is dropped follows from seed, sequence id, head, query
 * and key alone (Philox4x32-10; attention.h has the counter). `sequence_ids`:
 * one for each of `sequences` batch entries, from 0 to 2^32 - 1, copied; NULL:
 * 0, 1, 2 ... p of 0 takes dropout away again. */
REGARD_API regard_status
regard_problem_set_dropout(regard_problem* problem, double p, uint64_t seed,
                           int64_t sequences, const int64_t* sequence_ids);

/* The queries alone, for a problem whose keys are set otherwise. */
REGARD_API regard_status regard_problem_set_q(regard_problem* problem,
                                              const regard_tensor* q);

/* Sequences of different lengths in one call. S sequences, each with masks,
 * bias, offset and results of its own, as if it had been given alone, bit for
 * bit: in what a mask or bias says, B means the sequence, Lq and Lk those of
 * the longest, and query and key 0 its own first. The lists are i32 or i64, of
 * any strides; their memory stays the caller's, NULL: none. */

/* Cumulative lengths [S + 1]: 0 first, in order, the total last. q, out, lse
 * and weights are [1, Hq, total, ...]. */
REGARD_API regard_status regard_problem_set_query_starts(
    regard_problem* problem, const regard_tensor* starts);
/* The same: k and v are [1, Hkv, total, ...]. */
REGARD_API regard_status regard_problem_set_key_starts(
    regard_problem* problem, const regard_tensor* starts);
/* [S]: the first keys of [S, Hkv, capacity, ...], or of pages, are real. What
 * lies behind them is not read. */
REGARD_API regard_status regard_problem_set_key_lengths(
    regard_problem* problem, const regard_tensor* lengths);
/* [S, n]: k and v are [pages, Hkv, page rows, ...]; key j of sequence s is row
 * j % rows of page table[s, j / rows]. Needs key lengths. */
REGARD_API regard_status regard_problem_set_block_table(
    regard_problem* problem, const regard_tensor* table);
/* What each row of k or v of type REGARD_I8 is multiplied by: f32 [B, Hkv, Lk]
 * as k and v lie, without their last axis. NULL: none. */
REGARD_API regard_status regard_problem_set_scales(
    regard_problem* problem, const regard_tensor* k_scales,
    const regard_tensor* v_scales);
/* Keys that overwrite each other: key j from first_keys on lies in slot
 * first_keys + (j - first_keys) % period. Of n keys the first `first_keys` and
 * the last `period` are held, less those before oldest[s] where it is given
 * ([S]); no query may see another one. Needs key lengths, as many as there ever
 * were. Period 0: no ring. */
REGARD_API regard_status regard_problem_set_ring(regard_problem* problem,
                                                 int64_t first_keys,
                                                 int64_t period,
                                                 const regard_tensor* oldest);

/* ---------------------------------------------------------------- caches */

/* Keys and values of the past, for decoding. Key j of a sequence is the j-th
 * that was appended to it, whatever has been evicted since: masks, ALiBi and
 * offsets use this true position. Attention over a cache has the bits of
 * attention over the same keys in one array. Nothing but _create allocates. A
 * cache must not be changed while attention runs on it. */
typedef struct regard_kv_cache regard_kv_cache;

typedef struct regard_kv_cache_sizes {
  int64_t sequences, kv_heads;
  int64_t key_size, value_size; /* D, Dv */
  int32_t dtype; /* of what is stored: REGARD_F32, REGARD_BF16, REGARD_I8 ... */
} regard_kv_cache_sizes;

/* Up to `capacity` keys in each sequence. */
REGARD_API regard_status
regard_kv_cache_create(const regard_kv_cache_sizes* sizes, int64_t capacity,
                       regard_kv_cache** cache);
/* The first keys and, of the others, the last window + longest_append - 1:
 * those that a query sees whose window counts `window` keys, itself included,
 * when up to `longest_append` are appended in one step. */
REGARD_API regard_status regard_kv_cache_create_ring(
    const regard_kv_cache_sizes* sizes, int64_t window, int64_t first_keys,
    int64_t longest_append, regard_kv_cache** cache);
/* Up to `capacity` keys in each sequence, in pages of `page_rows` keys out of a
 * pool of `pages` for all of them. */
REGARD_API regard_status regard_kv_cache_create_paged(
    const regard_kv_cache_sizes* sizes, int64_t capacity, int64_t pages,
    int64_t page_rows, regard_kv_cache** cache);
REGARD_API void regard_kv_cache_destroy(regard_kv_cache* cache);

/* New rows behind those of every sequence: k [S, Hkv, n, D], v [S, Hkv, n, Dv],
 * any floating types and strides, rounded to the type of the cache. */
REGARD_API regard_status regard_kv_cache_append(regard_kv_cache* cache,
                                                const regard_tensor* k,
                                                const regard_tensor* v);
/* As many for each as it has packed rows: k [1, Hkv, total, D], v alike, starts
 * i32 or i64 [S + 1]. */
REGARD_API regard_status regard_kv_cache_append_packed(
    regard_kv_cache* cache, const regard_tensor* k, const regard_tensor* v,
    const regard_tensor* starts);
/* To one sequence: k [1, Hkv, n, D], v alike. */
REGARD_API regard_status regard_kv_cache_append_to(regard_kv_cache* cache,
                                                   int64_t sequence,
                                                   const regard_tensor* k,
                                                   const regard_tensor* v);
/* Forgets the keys from `length` on; pages that hold none go back to the pool.
 * A ring refuses where the window of the next query has been overwritten. */
REGARD_API regard_status regard_kv_cache_trim(regard_kv_cache* cache,
                                              int64_t sequence, int64_t length);
/* `to`, which must be empty, begins with the first `length` keys of `from`:
 * shared pages, each copied before it is written; copies elsewhere. A ring
 * copies all or nothing. */
REGARD_API regard_status regard_kv_cache_fork(regard_kv_cache* cache,
                                              int64_t from, int64_t to,
                                              int64_t length);
/* Copies the keys [begin, begin + n) of a sequence into k [1, Hkv, n, D] and
 * v [1, Hkv, n, Dv], of any floating type and strides. */
REGARD_API regard_status regard_kv_cache_read(const regard_kv_cache* cache,
                                              int64_t sequence, int64_t begin,
                                              const regard_tensor* k,
                                              const regard_tensor* v);
/* Keys that were appended and not trimmed: the position of the next one. */
REGARD_API regard_status regard_kv_cache_length(const regard_kv_cache* cache,
                                                int64_t sequence,
                                                int64_t* length);
/* The first key behind the ring's first keys that is still held; 0 where
 * nothing has been evicted. */
REGARD_API regard_status regard_kv_cache_oldest(const regard_kv_cache* cache,
                                                int64_t sequence,
                                                int64_t* oldest);
/* Keys that a sequence may have (of a ring: that it holds at a time), pages and
 * those that no sequence uses, and all bytes. Of NULL: 0. */
REGARD_API int64_t regard_kv_cache_capacity(const regard_kv_cache* cache);
REGARD_API int64_t regard_kv_cache_pages(const regard_kv_cache* cache);
REGARD_API int64_t regard_kv_cache_free_pages(const regard_kv_cache* cache);
REGARD_API size_t regard_kv_cache_bytes(const regard_kv_cache* cache);

/* Makes `sequences` of the cache, from `first` on, the keys and values of a
 * problem: sets k, v, scales, key lengths, block table and ring. They follow
 * what is appended; the cache has to live as long as the problem uses it. */
REGARD_API regard_status regard_problem_set_kv_cache(
    regard_problem* problem, const regard_kv_cache* cache, int64_t first,
    int64_t sequences);

/* ---------------------------------------------------------------- options */

/* How to compute it. NULL wherever options are taken: all defaults. */
typedef struct regard_options regard_options;

REGARD_API regard_status regard_options_create(regard_options** options);
REGARD_API void regard_options_destroy(regard_options* options);

/* 0: all cores, or those of the host's pool. Results don't depend on it. */
REGARD_API regard_status regard_options_set_threads(regard_options* options,
                                                    int32_t threads);
/* A name of regard_kernels(). NULL: the best that can serve. */
REGARD_API regard_status regard_options_set_kernel(regard_options* options,
                                                   const char* kernel);
/* A name of regard_usable_instruction_sets(). NULL: the widest. */
REGARD_API regard_status regard_options_set_instruction_set(
    regard_options* options, const char* instruction_set);

/* ---------------------------------------------------------------- threads */

/* One share of a call's work; loops take pieces from one list until it is
 * empty. Never waits for another one. */
typedef void (*regard_loop)(int32_t loop, void* context);
/* Calls loop(0, context), ..., loop(loops - 1, context), each once, from any
 * threads and in any order, and returns when all of them have returned. Must
 * not jump out.
 *
 * Comes from the thread that called Regard, and from several at once when
 * several do. If one of them can be a thread of the pool itself, it must not
 * wait for that thread: let it run loops itself, or set options to 1 thread,
 * for which no pool is used. Calls from inside a loop (from a callback) run on
 * their own thread and don't come here. */
typedef void (*regard_run_loops)(int32_t loops, regard_loop loop, void* context,
                                 void* user);
/* From now on the threads of the host program do the work of all calls, in any
 * thread; `run` NULL: Regard's own again, as at first. `threads`: how many
 * loops run at once, 1 or more; what 0 threads in options means then. Calls
 * that have begun keep the pool that they began with: end them before `user`
 * goes away. A forked child inherits the choice. */
REGARD_API regard_status regard_set_thread_pool(regard_run_loops run,
                                                int32_t threads, void* user);

/* ---------------------------------------------------------------- attention */

/* Writes out [B, Hq, Lq, Dv] and, unless NULL, lse [B, Hq, Lq] (natural log of
 * the sum over visible keys) and weights [B, Hq, Lq, Lk]; any strides, none
 * overlapping an input. out is f64, f32, bf16 or f16 and rounded to it once;
 * lse and weights are f32, or f64 where q is. A row without visible key: out 0,
 * lse -infinity, weights 0. What a mask hides has no effect, NaN included. */
REGARD_API regard_status regard_attend(const regard_problem* problem,
                                       const regard_options* options,
                                       const regard_tensor* out,
                                       const regard_tensor* lse,
                                       const regard_tensor* weights);

/* The choice of kernel, tiles and scratch memory, made once for one problem. */
typedef struct regard_plan regard_plan;

REGARD_API regard_status regard_plan_create(const regard_problem* problem,
                                            const regard_options* options,
                                            regard_plan** plan);
REGARD_API void regard_plan_destroy(regard_plan* plan);

/* As regard_attend, for problems of the planned types, heads and head sizes,
 * with any mask, bias and scale, that are no larger: no more sequences, none of
 * more queries than the longest, none of more keys than storage can hold
 * (capacity, pages of a row of the table). So one plan serves a growing cache.
 * Up to 16 queries and more are served by different kernels: a plan for
 * packed sequences of more has both, other plans have one. Allocates nothing.
 */
REGARD_API regard_status regard_plan_run(regard_plan* plan,
                                         const regard_problem* problem,
                                         const regard_tensor* out,
                                         const regard_tensor* lse,
                                         const regard_tensor* weights);

/* What was chosen; texts live as long as the plan. The description has a line
 * per kernel (chosen, or the reason of its refusal), then tiles, scratch and
 * threads. Of NULL: "" and 0. */
REGARD_API const char* regard_plan_kernel(const regard_plan* plan);
REGARD_API const char* regard_plan_instruction_set(const regard_plan* plan);
REGARD_API const char* regard_plan_description(const regard_plan* plan);
REGARD_API size_t regard_plan_scratch_bytes(const regard_plan* plan);

/* Tiles of the score matrix, over all heads: those that the mask hides
 * completely are neither computed nor read, those that it shows completely
 * don't ask it again. */
typedef struct regard_tile_counts {
  int64_t empty, full, mixed;
} regard_tile_counts;

/* What the mask of `problem` leaves, in tiles of the kernel that was chosen.
 * Runs nothing, but asks the mask about every tile. */
REGARD_API regard_status regard_plan_count_tiles(const regard_plan* plan,
                                                 const regard_problem* problem,
                                                 regard_tile_counts* counts);

/* A block of the weight matrix on its way by: rows [query_begin, query_end) of
 * one (batch, head), keys [key_begin, key_end). */
typedef struct regard_weight_tile {
  int64_t batch, head;
  int64_t query_begin, query_end, key_begin, key_end;
  const float* weights; /* [(q - query_begin) * stride + (k - key_begin)] */
  int64_t stride;
} regard_weight_tile;

/* Returns 0 to go on, anything else to stop. Must not jump out. */
typedef int32_t (*regard_weight_callback)(const regard_weight_tile* tile,
                                          void* user);

/* Streams the weights, in f32 and in memory linear in the length; q may not be
 * f64. Tiles that the mask hides completely are left out. The callback is
 * called from several threads at once; the tiles of one (batch, head, query
 * block) come in order of keys, from one thread. REGARD_ERROR_STOPPED when it
 * asked to. */
REGARD_API regard_status regard_for_each_weight_tile(
    const regard_problem* problem, const regard_options* options,
    regard_weight_callback callback, void* user);

/* What attention over some of the keys gave: out [B, Hq, Lq, Dv] and
 * lse [B, Hq, Lq], both f32 or both f64. */
typedef struct regard_partial {
  regard_tensor out, lse;
} regard_partial;

/* Puts together what attention over disjoint sets of keys gave, as if it had
 * seen all of them at once. Any number of parts, 0 included; rows with
 * lse -infinity are empty and not read. Writes out and, unless NULL, lse; none
 * may overlap a part. The same parts in the same order give the same bits.
 * `threads`: 0: all cores. */
REGARD_API regard_status regard_merge(const regard_partial* parts, size_t count,
                                      const regard_tensor* out,
                                      const regard_tensor* lse,
                                      int32_t threads);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* REGARD_REGARD_C_H_ */
