/* The shared library loaded at run time, as bindings do: used by several
 * threads, each with a last message of its own, and closed while the threads of
 * its pool wait. Usage: load_test LIBRARY.so */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "regard/regard_c.h"

static const char* (*last_message)(void);
static regard_status (*mask_and_causal)(regard_mask*);
static regard_status (*merge)(const regard_partial*, size_t,
                              const regard_tensor*, const regard_tensor*,
                              int32_t);

static void Require(int condition, const char* what) {
  if (condition) return;
  printf("%s: %s\n", what, last_message == NULL ? dlerror() : last_message());
  exit(EXIT_FAILURE);
}

/* POSIX has no other way to make a function of what dlsym gives. */
static void Find(void* library, const char* name, void* function) {
  void* found = dlsym(library, name);
  Require(found != NULL, name);
  memcpy(function, &found, sizeof(found));
}

static void* OnAThread(void* unused) {
  (void)unused;
  Require(strcmp(last_message(), "") == 0, "a message of another thread");
  Require(mask_and_causal(NULL) == REGARD_ERROR_ARGUMENT, "NULL was taken");
  Require(strstr(last_message(), "mask_and_causal") != NULL, "no message");
  return NULL;
}

/* Enough rows for two threads. */
static void UsePool(void) {
  enum { kRows = 4096, kSize = 64 };
  float* out = malloc(sizeof(float) * kRows * kSize);
  regard_tensor tensor;
  memset(&tensor, 0, sizeof(tensor));
  tensor.data = out;
  tensor.dtype = REGARD_F32;
  tensor.rank = 4;
  tensor.shape[0] = tensor.shape[1] = 1;
  tensor.shape[2] = kRows;
  tensor.shape[3] = kSize;
  tensor.strides[0] = tensor.strides[1] = kRows * kSize;
  tensor.strides[2] = kSize;
  tensor.strides[3] = 1;
  Require(merge(NULL, 0, &tensor, NULL, 2) == REGARD_OK, "merge");
  Require(out[kRows * kSize - 1] == 0, "nothing was written");
  free(out);
}

int main(int argc, char** argv) {
  void* library;
  pthread_t thread;
  Require(argc == 2, "usage: load_test LIBRARY.so");
  library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  Require(library != NULL, argv[1]);
  Find(library, "regard_last_message", &last_message);
  Find(library, "regard_mask_and_causal", &mask_and_causal);
  Find(library, "regard_merge", &merge);

  Require(merge(NULL, 0, NULL, NULL, 0) == REGARD_ERROR_ARGUMENT, "NULL");
  Require(pthread_create(&thread, NULL, OnAThread, NULL) == 0, "thread");
  Require(pthread_join(thread, NULL) == 0, "join");
  Require(strstr(last_message(), "regard_merge") != NULL,
          "the message is gone");

  UsePool();
  Require(dlclose(library) == 0, "dlclose");
  Require(dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) != NULL,
          "code that threads wait in was taken away");
  return EXIT_SUCCESS;
}
