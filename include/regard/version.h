// Version of the library and of its (inline) namespace.
#ifndef REGARD_VERSION_H_
#define REGARD_VERSION_H_

#define REGARD_VERSION_MAJOR 0
#define REGARD_VERSION_MINOR 1
#define REGARD_VERSION_PATCH 0
#define REGARD_VERSION "0.1.0"

#endif  // REGARD_VERSION_H_
