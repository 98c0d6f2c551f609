/* The C interface from C: every function of regard_c.h is called here
 * (symbols.py sees to that), with a result that is known or an error that is
 * due. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "regard/regard_c.h"
#include "regard/version.h"

static int failures = 0;

#define CHECK(condition)                                                    \
  do {                                                                      \
    if (!(condition)) {                                                     \
      ++failures;                                                           \
      printf("%s:%d: %s is false (last message: %s)\n", __FILE__, __LINE__, \
             #condition, regard_last_message());                            \
    }                                                                       \
  } while (0)
#define CHECK_OK(call) CHECK((call) == REGARD_OK)
/* The status, and a part of the message. */
#define CHECK_FAILS(call, status, part) \
  CHECK((call) == (status) && strstr(regard_last_message(), (part)) != NULL)

static int near(double a, double b) { return fabs(a - b) < 1e-6; }

/* ---------------------------------------------------------------- fixture */

/* One batch entry, one head, 3 queries and 3 keys of size 1. q = 0, so that a
 * row is the mean of the values that it sees: 2, 4, 12. */
typedef struct Fixture {
  float q[3], k[3], v[3], out[3], lse[3], weights[9];
  regard_tensor q_view, k_view, v_view, out_view, lse_view, weights_view;
  regard_problem* problem;
  regard_mask* mask;
} Fixture;

static regard_tensor View(const void* data, int32_t rank,
                          const int64_t* shape) {
  regard_tensor tensor;
  CHECK_OK(regard_tensor_init(&tensor, data, REGARD_F32, rank, shape));
  return tensor;
}

static void SetUp(Fixture* f) {
  static const float values[] = {2, 4, 12};
  static const int64_t arrays[] = {1, 1, 3, 1}, rows[] = {1, 1, 3},
                       matrix[] = {1, 1, 3, 3};
  memset(f, 0, sizeof(*f));
  memcpy(f->v, values, sizeof(values));
  f->q_view = View(f->q, 4, arrays);
  f->k_view = View(f->k, 4, arrays);
  f->v_view = View(f->v, 4, arrays);
  f->out_view = View(f->out, 4, arrays);
  f->lse_view = View(f->lse, 3, rows);
  f->weights_view = View(f->weights, 4, matrix);
  CHECK_OK(regard_problem_create(&f->problem));
  CHECK_OK(
      regard_problem_set_qkv(f->problem, &f->q_view, &f->k_view, &f->v_view));
  CHECK_OK(regard_mask_create(&f->mask));
}

static void TearDown(Fixture* f) {
  regard_mask_destroy(f->mask);
  regard_problem_destroy(f->problem);
}

/* Attention under the mask of the fixture gives these rows. */
static int Gives(Fixture* f, double row0, double row1, double row2) {
  memset(f->out, 0x7F, sizeof(f->out));
  if (regard_problem_set_mask(f->problem, f->mask) != REGARD_OK) return 0;
  if (regard_attend(f->problem, NULL, &f->out_view, NULL, NULL) != REGARD_OK) {
    return 0;
  }
  return near(f->out[0], row0) && near(f->out[1], row1) &&
         near(f->out[2], row2);
}

/* ---------------------------------------------------------------- tests */

static void TestVersionAndNames(void) {
  CHECK(strcmp(regard_version(), REGARD_VERSION) == 0);
  CHECK(strcmp(regard_version(), PROJECT_VERSION) == 0);
  CHECK(strcmp(regard_last_message(), "") == 0);
  CHECK(strcmp(regard_status_name(REGARD_OK), "ok") == 0);
  CHECK(strcmp(regard_status_name(REGARD_ERROR_SIZE), "size") == 0);
  CHECK(strcmp(regard_status_name(-5), "unknown") == 0);
}

static void TestLists(void) {
  const char* names[32];
  const char* usable[32];
  size_t count = 0, usable_count = 0;
  CHECK_OK(regard_kernels(NULL, 0, &count));
  CHECK(count >= 2);
  CHECK_OK(regard_kernels(names, 32, &count));
  CHECK(strcmp(names[count - 1], "reference") == 0);
  names[1] = "untouched";
  CHECK_OK(regard_kernels(names, 1, &count));
  CHECK(strcmp(names[1], "untouched") == 0);

  CHECK_OK(regard_built_instruction_sets(names, 32, &count));
  CHECK_OK(regard_usable_instruction_sets(usable, 32, &usable_count));
  CHECK(usable_count >= 1 && usable_count <= count);
  /* The last runs anywhere. */
  CHECK(strcmp(usable[usable_count - 1], names[count - 1]) == 0);

  CHECK_FAILS(regard_kernels(names, 32, NULL), REGARD_ERROR_ARGUMENT,
              "regard_kernels: count: is NULL");
  CHECK_FAILS(regard_kernels(NULL, 32, &count), REGARD_ERROR_ARGUMENT,
              "names: is NULL");
}

static void TestTensors(void) {
  static const int64_t shape[] = {2, 3, 4}, huge[] = {INT64_MAX, 4};
  float data[24] = {0};
  regard_tensor tensor;
  CHECK_OK(regard_tensor_init(&tensor, data, REGARD_F32, 3, shape));
  CHECK(tensor.data == data && tensor.dtype == REGARD_F32 && tensor.rank == 3);
  CHECK(tensor.shape[0] == 2 && tensor.shape[1] == 3 && tensor.shape[2] == 4);
  CHECK(tensor.strides[0] == 12 && tensor.strides[1] == 4 &&
        tensor.strides[2] == 1);
  CHECK_OK(regard_tensor_init(&tensor, data, REGARD_F64, 0, NULL));
  CHECK_FAILS(regard_tensor_init(&tensor, data, 13, 3, shape),
              REGARD_ERROR_ARGUMENT, "dtype 13");
  CHECK_FAILS(regard_tensor_init(&tensor, data, REGARD_F32, 9, shape),
              REGARD_ERROR_ARGUMENT, "rank 9");
  CHECK_FAILS(regard_tensor_init(&tensor, data, REGARD_F32, 2, huge),
              REGARD_ERROR_SIZE, "regard_tensor_init");
  CHECK_FAILS(regard_tensor_init(NULL, data, REGARD_F32, 3, shape),
              REGARD_ERROR_ARGUMENT, "tensor: is NULL");
}

static void TestMasksOfPositions(void) {
  Fixture f;
  SetUp(&f);
  CHECK(Gives(&f, 6, 6, 6));
  CHECK_OK(regard_mask_and_window(f.mask, REGARD_NO_LIMIT, 1, 0));
  CHECK(Gives(&f, 3, 6, 6));
  CHECK_OK(regard_mask_and_prefix(f.mask, 2));
  CHECK(Gives(&f, 3, 3, 6));
  CHECK_OK(regard_mask_and_causal(f.mask));
  CHECK(Gives(&f, 2, 3, 6));
  CHECK_OK(regard_mask_and_window(f.mask, 2, REGARD_NO_LIMIT, 0));
  CHECK(Gives(&f, 2, 3, 8));
  CHECK_OK(regard_mask_and_chunk(f.mask, 2));
  CHECK(Gives(&f, 2, 3, 12));
  /* What is refused is refused when it is used. */
  CHECK_OK(regard_mask_and_window(f.mask, 0, 0, 0));
  CHECK_OK(regard_problem_set_mask(f.problem, f.mask));
  CHECK_FAILS(regard_attend(f.problem, NULL, &f.out_view, NULL, NULL),
              REGARD_ERROR_ARGUMENT, "regard_attend: mask");
  CHECK_OK(regard_problem_set_mask(f.problem, NULL));
  CHECK_OK(regard_attend(f.problem, NULL, &f.out_view, NULL, NULL));
  CHECK(near(f.out[0], 6));
  TearDown(&f);
}

/* A window of one key beside the first, then the patterns in memory. */
static void TestMasksOfArrays(void) {
  static const int64_t three[] = {3}, layout_shape[] = {2, 2},
                       bits_shape[] = {3, 1};
  static const int32_t ids[] = {0, 1, 1};
  static const uint8_t layout[] = {1, 1, 0, 1};
  static const uint8_t bits[] = {1, 7, 4};
  regard_tensor id_view, layout_view, bits_view;
  Fixture f;
  SetUp(&f);
  CHECK_OK(regard_tensor_init(&id_view, ids, REGARD_I32, 1, three));
  CHECK_OK(
      regard_tensor_init(&layout_view, layout, REGARD_U8, 2, layout_shape));
  CHECK_OK(regard_tensor_init(&bits_view, bits, REGARD_U8, 2, bits_shape));
  CHECK_OK(regard_mask_and_documents(f.mask, &id_view, &id_view));
  CHECK(Gives(&f, 2, 8, 8));
  /* Blocks of two: queries 0 and 1 see all, query 2 only key 2. */
  CHECK_OK(regard_mask_and_block_sparse(f.mask, &layout_view, 2, 2));
  CHECK(Gives(&f, 2, 8, 12));
  regard_mask_destroy(f.mask);
  CHECK_OK(regard_mask_create(&f.mask));
  CHECK_OK(regard_mask_and_window(f.mask, 1, 0, 1));
  CHECK(Gives(&f, 2, 3, 7));
  CHECK_OK(regard_mask_and_bits(f.mask, &bits_view));
  CHECK(Gives(&f, 2, 3, 12));
  CHECK_FAILS(regard_mask_and_documents(f.mask, &id_view, NULL),
              REGARD_ERROR_ARGUMENT, "key: is NULL");
  CHECK_FAILS(regard_mask_and_block_sparse(f.mask, NULL, 1, 1),
              REGARD_ERROR_ARGUMENT, "layout: is NULL");
  CHECK_FAILS(regard_mask_and_bits(f.mask, NULL), REGARD_ERROR_ARGUMENT,
              "bytes: is NULL");
  TearDown(&f);
}

/* Keys up to one past the query; counts how often it is asked. */
static int32_t OneAhead(const regard_mask_frame* frame, int64_t query,
                        int64_t key, void* user) {
  ++*(int*)user;
  CHECK(frame->query_length == 3 && frame->key_length == 3);
  CHECK(frame->batch == 0 && frame->head == 0);
  return key <= query + frame->offset + 1;
}

static void OneAheadRange(const regard_mask_frame* frame, int64_t query_begin,
                          int64_t query_end, int64_t* key_begin,
                          int64_t* key_end, void* user) {
  const int64_t last = query_end + frame->offset;
  (void)user;
  CHECK(query_begin >= 0 && *key_begin >= 0);
  if (*key_end > last + 1) *key_end = last + 1;
}

static int32_t Everything(const regard_mask_frame* frame, int64_t query,
                          int64_t key, void* user) {
  (void)frame, (void)query, (void)key, (void)user;
  return 1;
}

static int32_t AllFull(const regard_mask_frame* frame, int64_t query_begin,
                       int64_t query_end, int64_t key_begin, int64_t key_end,
                       void* user) {
  (void)frame, (void)user;
  CHECK(query_begin < query_end && key_begin < key_end);
  return REGARD_TILE_FULL;
}

static void TestMaskOfFunctions(void) {
  int asked = 0;
  Fixture f;
  SetUp(&f);
  CHECK_OK(regard_mask_and_function(f.mask, OneAhead, NULL, NULL, &asked));
  CHECK(Gives(&f, 3, 6, 6));
  CHECK(asked > 0);
  regard_mask_destroy(f.mask);
  CHECK_OK(regard_mask_create(&f.mask));
  CHECK_OK(
      regard_mask_and_function(f.mask, OneAhead, OneAheadRange, NULL, &asked));
  CHECK(Gives(&f, 3, 6, 6));
  regard_mask_destroy(f.mask);
  CHECK_OK(regard_mask_create(&f.mask));
  CHECK_OK(regard_mask_and_function(f.mask, Everything, NULL, AllFull, &asked));
  CHECK(Gives(&f, 6, 6, 6));
  CHECK_FAILS(regard_mask_and_function(f.mask, NULL, NULL, NULL, NULL),
              REGARD_ERROR_ARGUMENT, "allows: is NULL");
  TearDown(&f);
}

static void TestMasksOfNumbers(void) {
  static const int64_t query[] = {2}, key[] = {2}, matrix[] = {3, 3};
  static const uint8_t allowed[] = {1, 1, 1, 0, 1, 0, 1, 1, 1};
  regard_tensor pattern;
  Fixture f;
  SetUp(&f);
  CHECK_OK(regard_tensor_init(&pattern, allowed, REGARD_U8, 2, matrix));
  CHECK_OK(regard_mask_and_lengths(f.mask, 1, NULL, key));
  CHECK(Gives(&f, 3, 3, 3));
  CHECK_OK(regard_mask_and_boolean(f.mask, &pattern));
  CHECK(Gives(&f, 3, 4, 3));
  CHECK_OK(regard_mask_and_lengths(f.mask, 1, query, NULL));
  CHECK(Gives(&f, 3, 4, 0));
  CHECK_FAILS(regard_mask_and_boolean(f.mask, NULL), REGARD_ERROR_ARGUMENT,
              "regard_mask_and_boolean: allowed: is NULL");
  CHECK_FAILS(regard_mask_and_lengths(f.mask, -1, query, key),
              REGARD_ERROR_ARGUMENT, "batch: -1");
  CHECK_FAILS(regard_mask_and_causal(NULL), REGARD_ERROR_ARGUMENT,
              "mask: is NULL");
  CHECK_FAILS(regard_mask_create(NULL), REGARD_ERROR_ARGUMENT, "mask: is NULL");
  TearDown(&f);
}

static void TestQueryOffset(void) {
  static const int64_t last[] = {1, 1, 1, 1};
  Fixture f;
  SetUp(&f);
  f.q_view = View(f.q, 4, last);
  f.out_view = View(f.out, 4, last);
  CHECK_OK(regard_problem_set_qkv(f.problem, &f.q_view, &f.k_view, &f.v_view));
  CHECK_OK(regard_mask_and_causal(f.mask));
  CHECK_OK(regard_problem_set_mask(f.problem, f.mask));
  CHECK_FAILS(regard_attend(f.problem, NULL, &f.out_view, NULL, NULL),
              REGARD_ERROR_ARGUMENT, "query_offset");
  CHECK_OK(regard_problem_set_query_offset(f.problem, REGARD_TOP_LEFT, 0));
  CHECK_OK(regard_attend(f.problem, NULL, &f.out_view, NULL, NULL));
  CHECK(near(f.out[0], 2));
  CHECK_OK(regard_problem_set_query_offset(f.problem, REGARD_AT, 1));
  CHECK_OK(regard_attend(f.problem, NULL, &f.out_view, NULL, NULL));
  CHECK(near(f.out[0], 3));
  CHECK_OK(regard_problem_set_query_offset(f.problem, REGARD_BOTTOM_RIGHT, 0));
  CHECK_OK(regard_attend(f.problem, NULL, &f.out_view, NULL, NULL));
  CHECK(near(f.out[0], 6));
  CHECK_FAILS(regard_problem_set_query_offset(f.problem, 3, 0),
              REGARD_ERROR_ARGUMENT, "kind: 3");
  TearDown(&f);
}

static void TestScores(void) {
  static const int64_t shape[] = {3};
  static const float bias[] = {0, -INFINITY, 0};
  regard_tensor bias_view;
  Fixture f;
  SetUp(&f);
  bias_view = View(bias, 1, shape);
  CHECK_OK(regard_problem_set_bias(f.problem, &bias_view));
  CHECK(Gives(&f, 7, 7, 7));
  CHECK_OK(regard_problem_set_bias(f.problem, NULL));
  CHECK(Gives(&f, 6, 6, 6));
  /* Scores 3, 0, 0 of the first query. */
  f.q[0] = f.k[0] = 1;
  CHECK_OK(regard_problem_set_scale(f.problem, 3));
  CHECK(Gives(&f, (2 * exp(3) + 4 + 12) / (exp(3) + 2), 6, 6));
  CHECK_OK(regard_problem_set_softcap(f.problem, 1));
  CHECK(Gives(&f, (2 * exp(tanh(3)) + 4 + 12) / (exp(tanh(3)) + 2), 6, 6));
  CHECK_OK(regard_problem_set_softcap(f.problem, -1));
  CHECK_FAILS(regard_attend(f.problem, NULL, &f.out_view, NULL, NULL),
              REGARD_ERROR_ARGUMENT, "softcap");
  TearDown(&f);
}

static void TestAlibiAndSink(void) {
  static const int64_t heads[] = {1};
  static const float slope[] = {1}, sink[] = {0};
  double slopes[2] = {0, 0};
  regard_tensor slope_view, sink_view;
  Fixture f;
  SetUp(&f);
  slope_view = View(slope, 1, heads);
  sink_view = View(sink, 1, heads);
  CHECK_OK(regard_problem_set_alibi_slopes(f.problem, &slope_view));
  CHECK(Gives(&f, (2 + 4 * exp(-1) + 12 * exp(-2)) / (1 + exp(-1) + exp(-2)),
              (2 + 4 * exp(1) + 12) / (exp(1) + 2),
              (2 * exp(-2) + 4 * exp(-1) + 12) / (1 + exp(-1) + exp(-2))));
  CHECK_OK(regard_problem_set_alibi_slopes(f.problem, NULL));
  /* One more of four equal shares. */
  CHECK_OK(regard_problem_set_sink_logit(f.problem, &sink_view));
  CHECK(Gives(&f, 4.5, 4.5, 4.5));
  CHECK_OK(regard_problem_set_sink_logit(f.problem, NULL));
  CHECK(Gives(&f, 6, 6, 6));
  CHECK_OK(regard_alibi_slopes(2, slopes));
  CHECK(near(slopes[0], 1.0 / 16) && near(slopes[1], 1.0 / 256));
  CHECK_FAILS(regard_alibi_slopes(-1, slopes), REGARD_ERROR_ARGUMENT,
              "regard_alibi_slopes");
  CHECK_FAILS(regard_alibi_slopes(2, NULL), REGARD_ERROR_ARGUMENT,
              "slopes: is NULL");
  TearDown(&f);
}

static void TestDropout(void) {
  static const int64_t id[] = {7};
  Fixture f;
  SetUp(&f);
  /* Halves of 2, 4 and 12 stay, twice as heavy. */
  CHECK_OK(regard_problem_set_dropout(f.problem, 0.5, 1, 0, NULL));
  CHECK(Gives(&f, 12, 4.0 / 3, 4.0 / 3));
  CHECK_OK(regard_problem_set_dropout(f.problem, 0.5, 1, 1, id));
  CHECK(Gives(&f, 32.0 / 3, 28.0 / 3, 32.0 / 3));
  CHECK_OK(regard_problem_set_dropout(f.problem, 0, 1, 0, NULL));
  CHECK(Gives(&f, 6, 6, 6));
  CHECK_OK(regard_problem_set_dropout(f.problem, 1, 1, 0, NULL));
  CHECK_FAILS(regard_attend(f.problem, NULL, &f.out_view, NULL, NULL),
              REGARD_ERROR_ARGUMENT, "dropout");
  CHECK_FAILS(regard_problem_set_dropout(f.problem, 0.5, 1, -1, id),
              REGARD_ERROR_ARGUMENT, "sequences: -1 is negative");
  TearDown(&f);
}

static void TestOutputs(void) {
  Fixture f;
  SetUp(&f);
  CHECK_OK(regard_attend(f.problem, NULL, &f.out_view, &f.lse_view,
                         &f.weights_view));
  CHECK(near(f.out[2], 6) && near(f.lse[1], log(3)) &&
        near(f.weights[8], 1.0 / 3));
  CHECK_FAILS(regard_attend(f.problem, NULL, &f.v_view, NULL, NULL),
              REGARD_ERROR_ARGUMENT, "out: shares memory with v");
  CHECK_FAILS(regard_attend(f.problem, NULL, NULL, NULL, NULL),
              REGARD_ERROR_ARGUMENT, "out: is NULL");
  CHECK_FAILS(regard_attend(f.problem, NULL, &f.lse_view, NULL, NULL),
              REGARD_ERROR_ARGUMENT, "out: shape [1, 1, 3]");
  CHECK_FAILS(regard_attend(NULL, NULL, &f.out_view, NULL, NULL),
              REGARD_ERROR_ARGUMENT, "problem: is NULL");
  f.q_view.dtype = REGARD_I32;
  CHECK_OK(regard_problem_set_qkv(f.problem, &f.q_view, &f.k_view, &f.v_view));
  CHECK_FAILS(regard_attend(f.problem, NULL, &f.out_view, NULL, NULL),
              REGARD_ERROR_UNSUPPORTED, "q: type i32");
  CHECK_FAILS(regard_problem_set_qkv(f.problem, &f.q_view, NULL, &f.v_view),
              REGARD_ERROR_ARGUMENT, "k: is NULL");
  CHECK_FAILS(regard_problem_create(NULL), REGARD_ERROR_ARGUMENT,
              "problem: is NULL");
  TearDown(&f);
}

/* 1 and 2.5 in 16 bits; out is rounded to its own type, lse stays f32. */
static void TestTypes(void) {
  static const uint16_t brain[] = {0x3F80, 0x4020, 0x3F80};
  static const uint16_t half[] = {0x3C00, 0x4100, 0x3C00};
  static const double wide[] = {1, 2.5, 1};
  static const int64_t shape[] = {1, 1, 3, 1};
  uint16_t out[3] = {0};
  Fixture f;
  regard_tensor v_view, out_view;
  SetUp(&f);
  CHECK_OK(regard_tensor_init(&v_view, brain, REGARD_BF16, 4, shape));
  CHECK_OK(regard_tensor_init(&out_view, out, REGARD_F16, 4, shape));
  CHECK_OK(regard_problem_set_qkv(f.problem, &f.q_view, &f.k_view, &v_view));
  CHECK_OK(regard_attend(f.problem, NULL, &out_view, &f.lse_view, NULL));
  CHECK(out[0] == 0x3E00 && out[2] == 0x3E00); /* 1.5 */
  CHECK(near(f.lse[0], log(3)));

  CHECK_OK(regard_tensor_init(&v_view, half, REGARD_F16, 4, shape));
  CHECK_OK(regard_tensor_init(&out_view, out, REGARD_BF16, 4, shape));
  CHECK_OK(regard_problem_set_qkv(f.problem, &f.q_view, &f.k_view, &v_view));
  CHECK_OK(regard_attend(f.problem, NULL, &out_view, NULL, NULL));
  CHECK(out[0] == 0x3FC0 && out[2] == 0x3FC0);
  CHECK_FAILS(regard_attend(f.problem, NULL, &out_view, &out_view, NULL),
              REGARD_ERROR_ARGUMENT, "lse: shape");
  f.lse_view.dtype = REGARD_F64;
  CHECK_FAILS(regard_attend(f.problem, NULL, &out_view, &f.lse_view, NULL),
              REGARD_ERROR_ARGUMENT, "lse: type f64 beside q of f32");

  CHECK_OK(regard_tensor_init(&v_view, wide, REGARD_F64, 4, shape));
  CHECK_OK(regard_problem_set_qkv(f.problem, &f.q_view, &f.k_view, &v_view));
  CHECK_FAILS(regard_attend(f.problem, NULL, &out_view, NULL, NULL),
              REGARD_ERROR_UNSUPPORTED, "v: type f64 beside q of f32");
  TearDown(&f);
}

static void TestOptions(void) {
  regard_options* options = NULL;
  Fixture f;
  SetUp(&f);
  CHECK_OK(regard_options_create(&options));
  CHECK_OK(regard_options_set_threads(options, 1));
  CHECK_OK(regard_options_set_kernel(options, "reference"));
  CHECK_OK(regard_attend(f.problem, options, &f.out_view, NULL, NULL));
  CHECK(near(f.out[0], 6));
  CHECK_OK(regard_options_set_kernel(options, "fast"));
  CHECK_FAILS(regard_attend(f.problem, options, &f.out_view, NULL, NULL),
              REGARD_ERROR_ARGUMENT,
              "\"fast\" is unknown: use one of decode_bf16, decode, flash");
  CHECK_OK(regard_options_set_kernel(options, NULL));
  CHECK_OK(regard_options_set_instruction_set(options, "AVX5"));
  CHECK_FAILS(regard_attend(f.problem, options, &f.out_view, NULL, NULL),
              REGARD_ERROR_ARGUMENT, "regard_attend: instruction_set");
  CHECK_OK(regard_options_set_instruction_set(options, NULL));
  CHECK_OK(regard_attend(f.problem, options, &f.out_view, NULL, NULL));
  CHECK_FAILS(regard_options_set_threads(options, -1), REGARD_ERROR_ARGUMENT,
              "threads: -1 is negative");
  CHECK_FAILS(regard_options_create(NULL), REGARD_ERROR_ARGUMENT,
              "options: is NULL");
  regard_options_destroy(options);
  TearDown(&f);
}

/* A pool that runs its loops one after the other, the last one first. */
static void Backwards(int32_t loops, regard_loop loop, void* context,
                      void* user) {
  int32_t i;
  int32_t* most = user;
  for (i = loops - 1; i >= 0; --i) loop(i, context);
  if (loops > *most) *most = loops;
}

static void TestThreadPool(void) {
  enum { kHeads = 8, kLength = 64, kSize = 64 };
  static float q[kHeads * kLength * kSize], own[kHeads * kLength * kSize],
      hosted[kHeads * kLength * kSize];
  const int64_t shape[] = {1, kHeads, kLength, kSize};
  int32_t most = 0;
  regard_problem* problem = NULL;
  regard_options* options = NULL;
  const regard_tensor x = View(q, 4, shape), y = View(own, 4, shape),
                      z = View(hosted, 4, shape);
  int i;
  for (i = 0; i < kHeads * kLength * kSize; ++i) q[i] = (float)(i % 97) / 50;
  CHECK_OK(regard_problem_create(&problem));
  CHECK_OK(regard_problem_set_qkv(problem, &x, &x, &x));
  CHECK_OK(regard_options_create(&options));
  CHECK_OK(regard_attend(problem, options, &y, NULL, NULL));

  CHECK_OK(regard_set_thread_pool(Backwards, 3, &most));
  CHECK_OK(regard_attend(problem, options, &z, NULL, NULL));
  CHECK(most == 3);
  most = 0;
  CHECK(memcmp(own, hosted, sizeof(own)) == 0);
  CHECK_OK(regard_options_set_threads(options, 2));
  CHECK_OK(regard_attend(problem, options, &z, NULL, NULL));
  CHECK(most == 2);
  most = 0;
  CHECK_OK(regard_options_set_threads(options, 1));
  CHECK_OK(regard_attend(problem, options, &z, NULL, NULL));
  CHECK(most == 0);
  CHECK_FAILS(regard_set_thread_pool(Backwards, 0, &most),
              REGARD_ERROR_ARGUMENT,
              "regard_set_thread_pool: pool: has 0 threads");

  CHECK_OK(regard_set_thread_pool(NULL, 0, NULL));
  CHECK_OK(regard_options_set_threads(options, 2));
  CHECK_OK(regard_attend(problem, options, &z, NULL, NULL));
  CHECK(most == 0);
  regard_options_destroy(options);
  regard_problem_destroy(problem);
}

static void TestPlans(void) {
  static const int64_t longer[] = {1, 1, 4, 1};
  regard_options* options = NULL;
  regard_plan* plan = NULL;
  regard_tile_counts counts;
  Fixture f;
  SetUp(&f);
  CHECK_OK(regard_options_create(&options));
  CHECK_OK(regard_options_set_kernel(options, "reference"));
  CHECK_OK(regard_plan_create(f.problem, options, &plan));
  CHECK(strcmp(regard_plan_kernel(plan), "reference") == 0);
  CHECK(strlen(regard_plan_instruction_set(plan)) > 0);
  CHECK(strstr(regard_plan_description(plan), "reference: chosen") != NULL);
  CHECK(regard_plan_scratch_bytes(plan) > 0);
  CHECK_OK(regard_plan_run(plan, f.problem, &f.out_view, NULL, NULL));
  CHECK(near(f.out[0], 6));
  /* The same plan, another mask. */
  CHECK_OK(regard_mask_and_causal(f.mask));
  CHECK_OK(regard_problem_set_mask(f.problem, f.mask));
  CHECK_OK(regard_plan_run(plan, f.problem, &f.out_view, &f.lse_view,
                           &f.weights_view));
  CHECK(near(f.out[0], 2) && near(f.lse[1], log(2)) && f.weights[1] == 0);
  CHECK_OK(regard_plan_count_tiles(plan, f.problem, &counts));
  CHECK(counts.empty == 0 && counts.full > 0 && counts.mixed > 0);
  CHECK_FAILS(regard_plan_count_tiles(plan, f.problem, NULL),
              REGARD_ERROR_ARGUMENT, "counts: is NULL");
  f.q_view = View(f.q, 4, longer);
  CHECK_OK(regard_problem_set_query_offset(f.problem, REGARD_TOP_LEFT, 0));
  CHECK_OK(regard_problem_set_qkv(f.problem, &f.q_view, &f.k_view, &f.v_view));
  CHECK_FAILS(regard_plan_run(plan, f.problem, &f.out_view, NULL, NULL),
              REGARD_ERROR_ARGUMENT, "regard_plan_run: q: 4 queries are more");
  CHECK_FAILS(regard_plan_create(f.problem, NULL, NULL), REGARD_ERROR_ARGUMENT,
              "plan: is NULL");
  CHECK(strcmp(regard_plan_kernel(NULL), "") == 0);
  CHECK(strcmp(regard_plan_instruction_set(NULL), "") == 0);
  CHECK(strcmp(regard_plan_description(NULL), "") == 0);
  CHECK(regard_plan_scratch_bytes(NULL) == 0);
  regard_plan_destroy(plan);
  regard_options_destroy(options);
  TearDown(&f);
}

/* Adds up the weights of key 0; stops when there are `most` tiles. */
typedef struct Column {
  double sum;
  int tiles, most;
} Column;

static int32_t AddColumn(const regard_weight_tile* tile, void* user) {
  Column* column = user;
  int64_t q;
  if (column->tiles == column->most) return 1;
  ++column->tiles;
  if (tile->batch != 0 || tile->head != 0 || tile->key_begin > 0) return 0;
  for (q = tile->query_begin; q < tile->query_end; ++q) {
    column->sum += tile->weights[(q - tile->query_begin) * tile->stride];
  }
  return 0;
}

static void TestWeightTiles(void) {
  Column column = {0, 0, 100}, none = {0, 0, 0};
  regard_options* options = NULL;
  Fixture f;
  SetUp(&f);
  CHECK_OK(regard_options_create(&options));
  CHECK_OK(regard_options_set_threads(options, 1));
  CHECK_OK(regard_mask_and_causal(f.mask));
  CHECK_OK(regard_problem_set_mask(f.problem, f.mask));
  CHECK_OK(regard_for_each_weight_tile(f.problem, options, AddColumn, &column));
  CHECK(near(column.sum, 1 + 1.0 / 2 + 1.0 / 3) && column.tiles > 0);
  CHECK_FAILS(regard_for_each_weight_tile(f.problem, options, AddColumn, &none),
              REGARD_ERROR_STOPPED, "callback: asked to stop");
  CHECK_FAILS(regard_for_each_weight_tile(f.problem, options, NULL, NULL),
              REGARD_ERROR_ARGUMENT, "callback: is NULL");
  regard_options_destroy(options);
  TearDown(&f);
}

/* Keys 0 and 1 on their own, key 2 on its own, and nothing. */
static void TestMerge(void) {
  static const int64_t arrays[] = {1, 1, 3, 1}, rows[] = {1, 1, 3};
  static const int64_t two[] = {2};
  float out[2][3], lse[2][3], nothing[3];
  regard_partial parts[3];
  Fixture f;
  int i;
  SetUp(&f);
  for (i = 0; i < 3; ++i) nothing[i] = -INFINITY;
  for (i = 0; i < 2; ++i) {
    parts[i].out = View(out[i], 4, arrays);
    parts[i].lse = View(lse[i], 3, rows);
  }
  parts[2].out = parts[0].out; /* not read */
  parts[2].lse = View(nothing, 3, rows);
  CHECK_OK(regard_mask_and_lengths(f.mask, 1, NULL, two));
  CHECK_OK(regard_problem_set_mask(f.problem, f.mask));
  CHECK_OK(regard_attend(f.problem, NULL, &parts[0].out, &parts[0].lse, NULL));
  f.k_view.shape[2] = f.v_view.shape[2] = 1;
  f.v_view.data = f.v + 2;
  CHECK_OK(regard_problem_set_qkv(f.problem, &f.q_view, &f.k_view, &f.v_view));
  CHECK_OK(regard_problem_set_mask(f.problem, NULL));
  CHECK_OK(regard_attend(f.problem, NULL, &parts[1].out, &parts[1].lse, NULL));

  CHECK_OK(regard_merge(parts, 3, &f.out_view, &f.lse_view, 0));
  CHECK(near(f.out[0], 6) && near(f.out[2], 6) && near(f.lse[0], log(3)));
  CHECK_OK(regard_merge(NULL, 0, &f.out_view, NULL, 0));
  CHECK(f.out[0] == 0);
  parts[1].lse.rank = -1;
  CHECK_FAILS(regard_merge(parts, 2, &f.out_view, NULL, 0),
              REGARD_ERROR_ARGUMENT, "regard_merge: parts[1].lse: rank -1");
  CHECK_FAILS(regard_merge(NULL, 2, &f.out_view, NULL, 0),
              REGARD_ERROR_ARGUMENT, "parts: is NULL");
  CHECK_FAILS(regard_merge(parts, 1, &parts[0].out, NULL, 0),
              REGARD_ERROR_ARGUMENT, "out: shares memory with parts[0]");
  TearDown(&f);
}

/* ---------------------------------------------------------------- sequences */

/* Of the fixture's three rows the first is one sequence, the others are
 * another: rows 0 to 2 see the values 2; 4 and 12. */
static void TestPackedSequences(void) {
  static const int32_t starts[] = {0, 1, 3};
  static const int64_t three[] = {3}, bad[] = {0, 3, 1};
  regard_tensor starts_view, bad_view;
  Fixture f;
  SetUp(&f);
  CHECK_OK(regard_tensor_init(&starts_view, starts, REGARD_I32, 1, three));
  CHECK_OK(regard_tensor_init(&bad_view, bad, REGARD_I64, 1, three));
  CHECK_OK(regard_problem_set_query_starts(f.problem, &starts_view));
  CHECK_OK(regard_problem_set_key_starts(f.problem, &starts_view));
  CHECK(Gives(&f, 2, 8, 8));
  CHECK_OK(regard_mask_and_causal(f.mask));
  CHECK(Gives(&f, 2, 4, 8));
  CHECK_OK(regard_problem_set_key_starts(f.problem, &bad_view));
  CHECK_FAILS(regard_attend(f.problem, NULL, &f.out_view, NULL, NULL),
              REGARD_ERROR_ARGUMENT,
              "regard_attend: key_starts: 1 of entry 2 comes after 3");
  CHECK_FAILS(regard_problem_set_query_starts(NULL, &starts_view),
              REGARD_ERROR_ARGUMENT, "problem: is NULL");
  TearDown(&f);
}

/* Keys of one sequence behind a length, in pages of one row, and in a ring of
 * two slots. */
static void TestLengthsPagesAndRings(void) {
  static const int64_t one[] = {1}, pages[] = {3, 1, 1, 1},
                       table_shape[] = {1, 2}, ring_shape[] = {1, 1, 2, 1},
                       two = 2, five = 5, six = 6;
  static const int32_t table[] = {2, 0};
  regard_tensor length, table_view, k, v, oldest;
  Fixture f;
  SetUp(&f);
  CHECK_OK(regard_tensor_init(&length, &two, REGARD_I64, 1, one));
  CHECK_OK(regard_tensor_init(&table_view, table, REGARD_I32, 2, table_shape));
  CHECK_OK(regard_problem_set_key_lengths(f.problem, &length));
  CHECK(Gives(&f, 3, 3, 3));
  k = View(f.k, 4, pages);
  v = View(f.v, 4, pages);
  CHECK_OK(regard_problem_set_qkv(f.problem, &f.q_view, &k, &v));
  CHECK_OK(regard_problem_set_block_table(f.problem, &table_view));
  CHECK_OK(regard_problem_set_query_offset(f.problem, REGARD_TOP_LEFT, 0));
  CHECK_OK(regard_mask_and_causal(f.mask));
  CHECK(Gives(&f, 12, 7, 7)); /* pages 2 and 0 */
  CHECK_OK(regard_problem_set_block_table(f.problem, NULL));

  /* Of six keys the ring holds 4 and 5, in slots 0 and 1. */
  k = View(f.k, 4, ring_shape);
  v = View(f.v, 4, ring_shape);
  CHECK_OK(regard_tensor_init(&length, &six, REGARD_I64, 1, one));
  CHECK_OK(regard_problem_set_key_lengths(f.problem, &length));
  CHECK_OK(regard_problem_set_qkv(f.problem, &f.q_view, &k, &v));
  CHECK_OK(regard_problem_set_ring(f.problem, 0, 2, NULL));
  CHECK_OK(regard_problem_set_query_offset(f.problem, REGARD_AT, 5));
  CHECK_OK(regard_mask_and_window(f.mask, 2, REGARD_NO_LIMIT, 0));
  CHECK(Gives(&f, 3, 4, 0)); /* the others stand at 6 and 7 */
  CHECK_OK(regard_tensor_init(&oldest, &five, REGARD_I64, 1, one));
  CHECK_OK(regard_problem_set_ring(f.problem, 0, 2, &oldest));
  CHECK_FAILS(regard_attend(f.problem, NULL, &f.out_view, NULL, NULL),
              REGARD_ERROR_ARGUMENT, "mask: may show key 4 of sequence 0");
  CHECK_OK(regard_problem_set_ring(f.problem, 0, 0, NULL));
  CHECK_FAILS(regard_attend(f.problem, NULL, &f.out_view, NULL, NULL),
              REGARD_ERROR_ARGUMENT, "key_lengths: 6 of sequence 0");
  TearDown(&f);
}

/* Values of i8: 2, 4 and 12 as 4, 2 and 3 times 0.5, 2 and 4. */
static void TestScales(void) {
  static const int8_t eight[] = {4, 2, 3};
  static const float scales[] = {0.5f, 2, 4};
  static const int64_t arrays[] = {1, 1, 3, 1}, rows[] = {1, 1, 3};
  const regard_tensor v_scales = View(scales, 3, rows);
  regard_tensor v;
  Fixture f;
  SetUp(&f);
  CHECK_OK(regard_tensor_init(&v, eight, REGARD_I8, 4, arrays));
  CHECK_OK(regard_problem_set_qkv(f.problem, &f.q_view, &f.k_view, &v));
  CHECK_FAILS(regard_attend(f.problem, NULL, &f.out_view, NULL, NULL),
              REGARD_ERROR_ARGUMENT, "v_scales: not given, but v is i8");
  CHECK_OK(regard_problem_set_scales(f.problem, NULL, &v_scales));
  CHECK_OK(regard_mask_and_causal(f.mask));
  CHECK(Gives(&f, 2, 3, 6));
  TearDown(&f);
}

/* A row of k and v whose value is `value`. */
static void AppendOne(regard_kv_cache* cache, int64_t sequence, float value) {
  static const int64_t row[] = {1, 1, 1, 1};
  const regard_tensor v = View(&value, 4, row);
  CHECK_OK(regard_kv_cache_append_to(cache, sequence, &v, &v));
}

/* The mean of all values that one query sees of a sequence. */
static double Mean(const regard_kv_cache* cache, int64_t sequence,
                   const regard_mask* mask) {
  static const int64_t row[] = {1, 1, 1, 1};
  static const float zero = 0;
  float mean = -1;
  regard_problem* problem = NULL;
  const regard_tensor q = View(&zero, 4, row), out = View(&mean, 4, row);
  CHECK_OK(regard_problem_create(&problem));
  CHECK_OK(regard_problem_set_q(problem, &q));
  CHECK_OK(regard_problem_set_kv_cache(problem, cache, sequence, 1));
  CHECK_OK(regard_problem_set_mask(problem, mask));
  CHECK_OK(regard_problem_set_query_offset(problem, REGARD_BOTTOM_RIGHT, 0));
  CHECK_OK(regard_attend(problem, NULL, &out, NULL, NULL));
  regard_problem_destroy(problem);
  return (double)mean;
}

static void TestCaches(void) {
  static const regard_kv_cache_sizes sizes = {2, 1, 1, 1, REGARD_F32};
  static const int64_t both[] = {2, 1, 2, 1}, packed[] = {1, 1, 3, 1},
                       three[] = {3}, starts[] = {0, 1, 3};
  static const float rows[] = {2, 4, 8, 16};
  const regard_tensor alike = View(rows, 4, both),
                      parts = View(rows, 4, packed);
  regard_tensor starts_view, read_view;
  float read[3] = {0, 0, 0};
  regard_kv_cache* cache = NULL;
  int64_t length = 0;
  CHECK_OK(regard_tensor_init(&starts_view, starts, REGARD_I64, 1, three));
  read_view = View(read, 4, packed);
  CHECK_OK(regard_kv_cache_create(&sizes, 5, &cache));
  CHECK(regard_kv_cache_capacity(cache) == 5);
  CHECK(regard_kv_cache_bytes(cache) >= 2 * 2 * 5 * sizeof(float));
  CHECK_OK(regard_kv_cache_append(cache, &alike, &alike));
  CHECK_OK(regard_kv_cache_append_packed(cache, &parts, &parts, &starts_view));
  CHECK_OK(regard_kv_cache_length(cache, 0, &length));
  CHECK(length == 3);
  CHECK_OK(regard_kv_cache_length(cache, 1, &length));
  CHECK(length == 4);
  CHECK(near(Mean(cache, 0, NULL), (2 + 4 + 2) / 3.0));
  CHECK(near(Mean(cache, 1, NULL), (8 + 16 + 4 + 8) / 4.0));
  CHECK_OK(regard_kv_cache_trim(cache, 1, 1));
  CHECK(near(Mean(cache, 1, NULL), 8));
  CHECK_OK(regard_kv_cache_read(cache, 0, 0, &read_view, &read_view));
  CHECK(read[0] == 2 && read[1] == 4 && read[2] == 2);
  CHECK_FAILS(regard_kv_cache_append(cache, &alike, NULL),
              REGARD_ERROR_ARGUMENT, "regard_kv_cache_append: v: is NULL");
  CHECK_FAILS(regard_kv_cache_append_to(cache, 2, &parts, &parts),
              REGARD_ERROR_ARGUMENT, "sequence: 2 is not one of the 2");
  CHECK_FAILS(regard_kv_cache_append_to(cache, 0, &parts, &parts),
              REGARD_ERROR_ARGUMENT,
              "regard_kv_cache_append_to: k: 3 keys behind the 3");
  regard_kv_cache_destroy(cache);
  CHECK_FAILS(regard_kv_cache_create(NULL, 5, &cache), REGARD_ERROR_ARGUMENT,
              "sizes: is NULL");
  regard_kv_cache_destroy(NULL);
  CHECK(regard_kv_cache_bytes(NULL) == 0);
  CHECK(regard_kv_cache_capacity(NULL) == 0);
}

static void TestRingCache(void) {
  static const regard_kv_cache_sizes sizes = {1, 1, 1, 1, REGARD_BF16};
  regard_kv_cache* cache = NULL;
  regard_mask* mask = NULL;
  int64_t oldest = -1;
  int i;
  CHECK_OK(regard_mask_create(&mask));
  CHECK_OK(regard_mask_and_window(mask, 2, 0, 1));
  CHECK_OK(regard_kv_cache_create_ring(&sizes, 2, 1, 1, &cache));
  for (i = 0; i < 6; ++i) AppendOne(cache, 0, (float)(1 << i));
  CHECK_OK(regard_kv_cache_oldest(cache, 0, &oldest));
  CHECK(oldest == 4);
  CHECK(near(Mean(cache, 0, mask), (1 + 16 + 32) / 3.0));
  CHECK_FAILS(regard_kv_cache_trim(cache, 0, 3), REGARD_ERROR_ARGUMENT,
              "regard_kv_cache_trim: length: 3 keys: the window");
  CHECK_FAILS(regard_kv_cache_create_ring(&sizes, 0, 1, 1, &cache),
              REGARD_ERROR_ARGUMENT, "regard_kv_cache_create_ring: window: 0");
  regard_kv_cache_destroy(cache);
  regard_mask_destroy(mask);
}

static void TestPagedCache(void) {
  static const regard_kv_cache_sizes sizes = {2, 1, 1, 1, REGARD_F32};
  regard_kv_cache* cache = NULL;
  CHECK_OK(regard_kv_cache_create_paged(&sizes, 8, 3, 2, &cache));
  CHECK(regard_kv_cache_pages(cache) == 3);
  AppendOne(cache, 0, 2);
  AppendOne(cache, 0, 4);
  AppendOne(cache, 0, 6);
  CHECK(regard_kv_cache_free_pages(cache) == 1);
  CHECK_OK(regard_kv_cache_fork(cache, 0, 1, 3));
  CHECK(regard_kv_cache_free_pages(cache) == 1);
  AppendOne(cache, 1, 8); /* on a copy of the second page */
  CHECK(regard_kv_cache_free_pages(cache) == 0);
  CHECK(near(Mean(cache, 0, NULL), 4) && near(Mean(cache, 1, NULL), 5));
  CHECK_FAILS(regard_kv_cache_fork(cache, 0, 1, 3), REGARD_ERROR_ARGUMENT,
              "regard_kv_cache_fork: to: sequence 1 isn't empty");
  regard_kv_cache_destroy(cache);
}

static void TestDestroyTakesNull(void) {
  regard_mask_destroy(NULL);
  regard_problem_destroy(NULL);
  regard_options_destroy(NULL);
  regard_plan_destroy(NULL);
}

int main(void) {
  TestVersionAndNames();
  TestLists();
  TestTensors();
  TestMasksOfPositions();
  TestMasksOfNumbers();
  TestMasksOfArrays();
  TestMaskOfFunctions();
  TestQueryOffset();
  TestScores();
  TestAlibiAndSink();
  TestDropout();
  TestOutputs();
  TestTypes();
  TestOptions();
  TestThreadPool();
  TestPlans();
  TestWeightTiles();
  TestMerge();
  TestPackedSequences();
  TestLengthsPagesAndRings();
  TestScales();
  TestCaches();
  TestRingCache();
  TestPagedCache();
  TestDestroyTakesNull();
  printf("%d failures\n", failures);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
