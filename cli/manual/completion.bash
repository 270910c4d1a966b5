    *) return 1 ;;
  esac
}

# What stands before the cursor decides: the command, and its topic if it has topics. Options that
# take a value end with =; files complete values and arguments.
_emplace() {
  local word=${COMP_WORDS[COMP_CWORD]} command=' ' words
  ((COMP_CWORD > 1)) && command=" ${COMP_WORDS[1]}"
  ((COMP_CWORD > 2)) && _emplace_words "$command ${COMP_WORDS[2]}" >/dev/null && command+=" ${COMP_WORDS[2]}"
  words=$(_emplace_words "$command") || return 0
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null || :
}
complete -o default -F _emplace emplace
