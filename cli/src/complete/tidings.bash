# Completes tidings in bash: the program itself knows the commands, and the names in its database.
_tidings() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        printf -v line %q "${line%%$'\t'*}"
        COMPREPLY+=("$line")
        if [[ $line == */ ]]; then
            compopt -o nospace 2>/dev/null
        fi
    done < <("$1" __complete "$COMP_CWORD" -- "${COMP_WORDS[@]}" 2>/dev/null)
}
if ((BASH_VERSINFO[0] > 4 || (BASH_VERSINFO[0] == 4 && BASH_VERSINFO[1] >= 4))); then
    complete -o nosort -F _tidings tidings
else
    complete -F _tidings tidings
fi
