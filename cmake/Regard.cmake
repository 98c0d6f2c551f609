# How the project declares its libraries and tests, in one place.

add_library(regard_options INTERFACE)
target_compile_features(regard_options INTERFACE cxx_std_20)
target_include_directories(regard_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
# g++ contracts a * b + c into one rounding by default, clang does not: the same
# bits come from both only without it.
target_compile_options(regard_options INTERFACE
  -ffp-contract=off -Wall -Wextra -Wpedantic -Wconversion
  -Wno-sign-conversion)
# Vectors whose length is known at run time only (SVE) are not what the kernels
# are written for: there NEON serves.
target_compile_definitions(regard_options INTERFACE
  "HWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)")
# g++ 12 reports overlapping copies inside std::string where there are none
# (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(regard_options INTERFACE -Wno-restrict)
endif()
if(REGARD_WERROR)
  target_compile_options(regard_options INTERFACE -Werror)
endif()
if(REGARD_SANITIZE)
  target_compile_options(regard_options INTERFACE
    -fsanitize=${REGARD_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(regard_options INTERFACE -fsanitize=${REGARD_SANITIZE})
  # In instrumented code g++ 12 takes the unused members of a std::variant for
  # uninitialized ones; the build without sanitizers keeps the warning.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(regard_options INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
# Coverage for libFuzzer, in the libraries too.
if(REGARD_FUZZ)
  target_compile_options(regard_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# regard_library(NAME SOURCES a.cc ... LINK regard::x ... PRIVATE lib ...)
# makes the static library regard_NAME, its alias regard::NAME, and installs it.
function(regard_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;PRIVATE" ${ARGN})
  add_library(regard_${name} STATIC ${ARG_SOURCES})
  add_library(regard::${name} ALIAS regard_${name})
  set_property(GLOBAL APPEND PROPERTY REGARD_LIBRARIES regard_${name})
  set_target_properties(regard_${name} PROPERTIES
    EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_features(regard_${name} PUBLIC cxx_std_20)
  target_include_directories(regard_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(regard_${name} PUBLIC ${ARG_LINK}
    PRIVATE $<BUILD_INTERFACE:regard_options> ${ARG_PRIVATE})
  # An export file for each, so that who links the engine alone needs only what
  # the engine needs (see regard-config.cmake).
  install(TARGETS regard_${name} EXPORT regard-${name}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT regard-${name} NAMESPACE regard::
    FILE regard-${name}-targets.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/regard)
endfunction()

function(regard_test_options target)
  target_link_libraries(${target} PRIVATE regard_options GTest::gmock
    GTest::gtest_main)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE
    REGARD_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  # The time in a precompiled header would keep compiler caches from finding it
  # again.
  if(REGARD_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
  # Tests are compiled more often than they are run; sanitized code compiles
  # slowly.
  if(REGARD_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  else()
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# What every test includes, compiled once. One build of the checks goes without
# it, and so finds a test that lacks an #include.
function(regard_precompile_test_headers)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/test_headers.cc CONTENT "")
  add_library(test_headers OBJECT ${PROJECT_BINARY_DIR}/test_headers.cc)
  regard_test_options(test_headers)
  foreach(header gmock/gmock.h gtest/gtest.h functional random string vector)
    target_precompile_headers(test_headers PRIVATE
      "$<$<COMPILE_LANGUAGE:CXX>:<${header}$<ANGLE-R>>")
  endforeach()
endfunction()

# regard_test(NAME SOURCES x_test.cc ... LINK regard::x ...): one GoogleTest
# program, each of its tests known to ctest.
function(regard_test name)
  if(NOT REGARD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  regard_test_options(${name})
  if(REGARD_PRECOMPILE)
    target_precompile_headers(${name} REUSE_FROM test_headers)
  endif()
  # Tests ask for more memory than there is; AddressSanitizer would end the
  # program instead of letting the library answer.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
    PROPERTIES TIMEOUT 600
      ENVIRONMENT ASAN_OPTIONS=allocator_may_return_null=1)
endfunction()

# The program counts its allocations (tests/support/allocations.h).
function(regard_counts_allocations target)
  if(NOT REGARD_TESTS)
    return()
  endif()
  target_sources(${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/tests/support/allocations.cc)
  foreach(function malloc calloc realloc aligned_alloc free)
    target_link_options(${target} PRIVATE LINKER:--wrap=${function})
  endforeach()
endfunction()

# A C program that uses the library: what sanitizers add to the library's C++
# needs their C++ runtime in the program.
function(regard_c_program target)
  if(REGARD_SANITIZE)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
endfunction()
