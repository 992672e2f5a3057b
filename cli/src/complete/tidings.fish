# Completes tidings in fish: the program itself knows the commands, and the names in its database.
function __tidings_complete
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    set -l current (commandline --current-token --cut-at-cursor)
    $words[1] __complete --shell fish (count $words) -- $words "$current" 2>/dev/null
end
complete --command tidings --no-files --keep-order --arguments '(__tidings_complete)'
