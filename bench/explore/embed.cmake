# Writes the files STYLE and SCRIPT as C strings to OUTPUT.
function(add_bytes name file)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes
    "${bytes}")
  file(APPEND ${OUTPUT} "const unsigned char ${name}[] = {\n${bytes}0};\n")
endfunction()

file(WRITE ${OUTPUT} "#include \"bench/explore/explore_internal.h\"\n\n")
add_bytes(emp_explore_style ${STYLE})
add_bytes(emp_explore_script ${SCRIPT})
