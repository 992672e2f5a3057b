# Completes tidings in bash: the program itself knows the commands, and the names in its database.
_tidings() {
    local line word=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    while IFS= read -r line; do
        line=${line%%$'\t'*}
        case $word in
            # In an open quote, bash adds the quote at the end.
            \"*)
                line=${line//\\/\\\\} line=${line//\"/\\\"}
                line=${line//\$/\\\$} line=${line//\`/\\\`} ;;
            \'*) [[ $line != *\'* ]] || continue ;;
            *) printf -v line %q "$line" ;;
        esac
        COMPREPLY+=("$line")
        if [[ $line == */ ]]; then
            compopt -o nospace 2>/dev/null
        fi
    done < <("$1" __complete --shell bash "$COMP_CWORD" -- "${COMP_WORDS[@]}" 2>/dev/null)
}
if ((BASH_VERSINFO[0] > 4 || (BASH_VERSINFO[0] == 4 && BASH_VERSINFO[1] >= 4))); then
    complete -o nosort -F _tidings tidings
else
    complete -F _tidings tidings
fi
