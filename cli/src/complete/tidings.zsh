#compdef tidings
# Completes tidings in zsh: the program itself knows the commands, and the names in its database.
_tidings() {
    local -a lines described
    local line value
    lines=("${(@f)$("${(Q)words[1]}" __complete --shell zsh $((CURRENT - 1)) -- "${(@Q)words[1,CURRENT-1]}" "$words[CURRENT]" 2>/dev/null)}")
    for line in $lines; do
        value=${line%%$'\t'*}
        described+=("${value//:/\\:}:${line#*$'\t'}")
    done
    (( $#described )) && _describe -V tidings described
}
if [ "$funcstack[1]" = "_tidings" ]; then
    _tidings "$@"
else
    compdef _tidings tidings
fi
