# Build rules shared by every module. Warnings ride on the interface target emp_warnings;
# only sanitizers, which must cover everything, are global.

set(EMP_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined or thread")
set(EMP_LAUNCHER "" CACHE STRING "A program that test programs run under, and its options, e.g. valgrind;-q")
option(EMP_WERROR "Treat warnings as errors" OFF)

add_library(emp_warnings INTERFACE)
target_compile_options(emp_warnings INTERFACE
  $<$<COMPILE_LANG_AND_ID:C,GNU,Clang>:
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes
    -Wmissing-prototypes -Wcast-qual -Wwrite-strings -Wundef>
  $<$<AND:$<BOOL:${EMP_WERROR}>,$<COMPILE_LANG_AND_ID:C,GNU,Clang>>:-Werror>)
if(EMP_SANITIZE)
  add_compile_options(-fsanitize=${EMP_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${EMP_SANITIZE})
endif()

# The levels of optimization at which a release compiles these folders, and those in them. Others, which have the
# methods and the simulator, are compiled at 2. Compilers take half of its CPU time again for 3, which a few loops gain
# from: their sources have EMP_HOT among their options.
set(EMP_HOT $<$<CONFIG:Release>:-O3>)
set(EMP_LEVELS
  policy/nn     3 # loops over arrays, which 2 leaves scalar
  policy/seq2seq 3
  graphs        1 # what is in proportion to a graph, once a command
  parallel      1
  replay        1
  run           1
  sim/cost      1
  sim/graph     1
  sim/problem   1
  sim/rules     1
  bench         g # what is in proportion to what is shown
  bench/speed   2 # like what it is compared with
  cli           g
  replay/planner g
  sim/explain   g
  sim/machine   g
  sim/runtime   g
  tests         1)

# emp_optimize(<folder> <level>)
# Has a release compile the targets of a folder, and of those in it, at -O<level>, unless EMP_LEVELS says otherwise.
# For the end, when all targets are there.
function(emp_optimize folder level)
  file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${folder})
  list(FIND EMP_LEVELS "${name}" at)
  if(at GREATER_EQUAL 0)
    math(EXPR at "${at} + 1")
    list(GET EMP_LEVELS ${at} level)
  endif()
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "LIBRARY|EXECUTABLE" AND NOT type STREQUAL "INTERFACE_LIBRARY")
      target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O${level}>)
    endif()
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(inner IN LISTS folders)
    emp_optimize(${inner} ${level})
  endforeach()
endfunction()

# emp_list_sources(<variable>)
# The C files of the current folder, for folders in which each new file is one more of a kind (a
# method, a family of workloads). A build looks again.
function(emp_list_sources variable)
  file(GLOB sources CONFIGURE_DEPENDS *.c)
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()

# emp_add_library(<name> SOURCES ... [LINK ...] [DEFINE ...])
# A static library; headers are included from the repository root. LINK takes the usual
# PUBLIC/PRIVATE lists.
function(emp_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK;DEFINE")
  add_library(${name} STATIC ${arg_SOURCES})
  add_library(emp::${name} ALIAS ${name})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_compile_features(${name} PUBLIC c_std_17)
  target_compile_definitions(${name} PUBLIC ${arg_DEFINE})
  set_target_properties(${name} PROPERTIES C_EXTENSIONS OFF)
  target_link_libraries(${name} ${arg_LINK} PRIVATE emp_warnings)
endfunction()

# emp_add_test(<name> [FULL | PEERS] [PEER_SUITE <suite>] [DOUBLE] [SANITIZED | UNSANITIZED]
#              [LINK <more>] [SOURCES <more>] [TIMEOUT <s>])
# Builds <name>.c as a Criterion program on all of the product and tests/support. DOUBLE: its
# networks are those in double, which LINK names. UNSANITIZED: builds with sanitizers do not run it.
# It starts programs hundreds of times, and other tests start the same ones a few times. Each test
# has one tier as its CTest label:
#   fast   (default)  takes less than about three seconds
#   full   FULL       takes longer
#   peers  PEERS      compares with other programs or files, and is skipped without them
# SANITIZED: in builds with sanitizers it is of the tier fast. The target all has the tests of the
# tier fast, and the target tests has the others.
# A fourth tier, slow, takes minutes: `scripts/test --slow`.
# PEER_SUITE adds a second test <name>_peers of the tier peers: that suite of the program once
# more with EMP_PEERS=1, on the files of others (tests/support/facts.h).
function(emp_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "DOUBLE;FULL;PEERS;SANITIZED;UNSANITIZED" "TIMEOUT;PEER_SUITE" "LINK;SOURCES")
  set(tier fast)
  if(arg_FULL AND NOT (EMP_SANITIZE AND arg_SANITIZED))
    set(tier full)
  elseif(arg_PEERS)
    set(tier peers)
  endif()
  if(EMP_SANITIZE STREQUAL "thread" OR EMP_LAUNCHER)
    list(APPEND arg_SOURCES ${PROJECT_SOURCE_DIR}/tests/support/forks_main.c)
  elseif(arg_PEERS OR arg_PEER_SUITE)
    list(APPEND arg_SOURCES ${PROJECT_SOURCE_DIR}/tests/support/peers_main.c)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(EMP_LAUNCHER)
    math(EXPR arg_TIMEOUT "20 * ${arg_TIMEOUT}")
  elseif(EMP_SANITIZE STREQUAL "thread")
    math(EXPR arg_TIMEOUT "5 * ${arg_TIMEOUT}")
  endif()
  add_executable(${name} ${name}.c ${arg_SOURCES})
  if(NOT arg_DOUBLE)
    list(APPEND arg_LINK test_support emp_all)
  endif()
  target_link_libraries(${name} PRIVATE ${arg_LINK} emp_warnings PkgConfig::CRITERION m)
  # What takes time is in the libraries. Clang takes three times the CPU time for a test at -O1 with these checks.
  if(EMP_SANITIZE MATCHES address)
    target_compile_options(${name} PRIVATE -O0)
  endif()
  target_link_options(${name} PRIVATE ${EMP_TEST_LINKER})
  set_target_properties(${name} PROPERTIES C_EXTENSIONS ON) # as Criterion needs
  if(NOT tier STREQUAL "fast")
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    add_dependencies(tests ${name})
  endif()
  if(EMP_SANITIZE AND arg_UNSANITIZED)
    return()
  endif()
  emp_register_test(${name} ${tier} "${arg_TIMEOUT}" ${EMP_LAUNCHER} $<TARGET_FILE:${name}>)
  if(EMP_LAUNCHER)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT EMP_LAUNCHED=1)
  elseif(EMP_SANITIZE STREQUAL "thread")
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT EMP_RACES_FAIL=1)
  endif()
  if(arg_PEER_SUITE AND NOT EMP_LAUNCHER AND NOT EMP_SANITIZE STREQUAL "thread")
    emp_register_test(${name}_peers peers "${arg_TIMEOUT}" ${name} --filter ${arg_PEER_SUITE}/*)
    set_property(TEST ${name}_peers APPEND PROPERTY ENVIRONMENT EMP_PEERS=1)
  endif()
endfunction()

# emp_register_test(<name> <tier> <timeout> <command>...)
# Tests run beside each other, so that idle threads had better sleep. Those that take long begin
# first, also where CTest has no times of them yet.
function(emp_register_test name tier timeout)
  add_test(NAME ${name} COMMAND ${ARGN})
  if(NOT tier STREQUAL "fast")
    set_tests_properties(${name} PROPERTIES COST 10)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS ${tier} TIMEOUT ${timeout} SKIP_RETURN_CODE 77
    ENVIRONMENT "EMP_SOURCE_DIR=${PROJECT_SOURCE_DIR};EMP_BINARY_DIR=${PROJECT_BINARY_DIR};OMP_WAIT_POLICY=passive")
endfunction()

# emp_add_fuzzer(<name> [LINK <more>])
# Builds <name>.c as a driver of libFuzzer for a reader of files, with the option EMP_FUZZ alone: the
# preset fuzz. The target fuzz builds all of them. scripts/fuzz runs them.
function(emp_add_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK")
  if(NOT EMP_FUZZ)
    return()
  endif()
  add_executable(${name} ${name}.c)
  target_link_libraries(${name} PRIVATE ${arg_LINK} test_support emp_warnings -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzzers)
  add_dependencies(fuzz ${name})
endfunction()
