# Completion of loomlab for bash. Use it with
#   source <(loomlab completion bash)
_loomlab() {
	local IFS=$'\n'
	COMPREPLY=($("${COMP_WORDS[0]/#\~/$HOME}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _loomlab loomlab
