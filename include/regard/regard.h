// Everything public.
#ifndef REGARD_REGARD_H_
#define REGARD_REGARD_H_

#include "regard/attention.h"
#include "regard/error.h"
#include "regard/io.h"
#include "regard/kv_cache.h"
#include "regard/lens.h"
#include "regard/mask.h"
#include "regard/model.h"
#include "regard/nn.h"
#include "regard/render.h"
#include "regard/tensor.h"
#include "regard/threads.h"
#include "regard/tokenizer.h"
#include "regard/version.h"

#endif  // REGARD_REGARD_H_
