# Writes the files STYLE and SCRIPT as C strings to OUTPUT.
function(add_bytes name file)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes
    "${bytes}")
  file(APPEND ${OUTPUT} "const unsigned char ${name}[] = {\n${bytes}0};\n")
endfunction()

file(WRITE ${OUTPUT} "extern const unsigned char emp_explore_style[], emp_explore_script[];\n\n")
add_bytes(emp_explore_style ${STYLE})
add_bytes(emp_explore_script ${SCRIPT})
