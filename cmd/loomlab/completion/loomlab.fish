# Completion of loomlab for fish. Use it with
#   loomlab completion fish > ~/.config/fish/completions/loomlab.fish
function __loomlab_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found ($words[1] complete $words[2..-1] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c loomlab -f -a '(__loomlab_complete)'
