# A man page from what --help prints with a wide margin. Variables: name, summary, version.

# Text for troff: backslashes and hyphens are escaped, and no line begins with a control character.
function escaped(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  if (text ~ /^[.']/) text = "\\&" text
  return text
}

# Begins a section unless it is the current one.
function section(title) {
  end_lines()
  if (title != current) print ".SH " title
  current = title
}

# Lines that keep their ends: examples and lists.
function end_lines() { if (in_lines) print ".fi\n.RE"; in_lines = 0 }
function print_line(text) {
  if (!in_lines) print ".PP\n.RS\n.nf"
  in_lines = 1
  print escaped(text)
}

BEGIN {
  title = toupper(name)
  print ".TH " escaped(title) " 1 \"\" \"emplace " version "\" \"User Commands\""
  print ".SH NAME\n" escaped(name) " \\- " escaped(summary)
}
/^(Usage|  or):/ {
  sub(/^(Usage|  or): +/, "")
  section("SYNOPSIS")
  print (synopsis++ ? ".br\n" : "") escaped($0)
  next
}
/^Mandatory or optional arguments/ { next }
/^ +(-., )?--[a-z-]+(\[?=[^ ]+)?(  |$)/ {
  section("OPTIONS")
  sub(/^ +/, "")
  gap = match($0, /  +/)
  print ".TP\n.B " escaped(gap ? substr($0, 1, gap - 1) : $0)
  if (gap) print escaped(substr($0, gap + RLENGTH))
  next
}
/^ +[^ ]/ && current == "OPTIONS" && !blank { sub(/^ +/, ""); print escaped($0); next }
/^ *$/ { end_lines(); blank = 1; next }
{
  if (current == "SYNOPSIS") section("DESCRIPTION")
  if (current == "OPTIONS") section("NOTES")
  if (/^ /) {
    print_line(substr($0, 3))
  } else {
    end_lines()
    if (blank) print ".PP"
    print escaped($0)
  }
  blank = 0
}
END {
  end_lines()
  if (name != "emplace") print ".SH SEE ALSO\n.BR emplace (1)"
}
