# Writes OUTPUT with the version, the commit, whether the tree differs from it, and the compiler with its flags.
# Run at every build; the file changes only when its content does.
#   cmake -DSOURCE=<tree> -DVERSION=<x.y.z> -DCODE=<compiler and flags> -DOUTPUT=<file> -P build_info.cmake
find_program(GIT git)
set(commit "")
set(dirty "0")
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse HEAD OUTPUT_VARIABLE commit
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${GIT} --no-optional-locks -C ${SOURCE} status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    set(dirty "1")
  endif()
endif()
if(NOT commit)
  set(commit "unknown")
endif()
set(text "#define EMP_BUILD_VERSION \"${VERSION}\"
#define EMP_BUILD_COMMIT \"${commit}\"
#define EMP_BUILD_IS_DIRTY ${dirty}
#define EMP_BUILD_CODE \"${CODE}\"
")
set(before "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT before STREQUAL text)
  file(WRITE ${OUTPUT} "${text}")
endif()
