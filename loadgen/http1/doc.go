// Package http1 frames HTTP/1.1 messages incrementally: it finds where a
// response or a request ends, whatever pieces the bytes come in, and keeps only
// what framing and a benchmark need to know.
//
// The usual steps: Reset a [Response] (or [Request]), give Parse the bytes as
// they arrive until it says done, and Reset again for the next message. Parse
// takes no byte beyond the end of its message, so what is left over is visible
// to the caller. Both types are pure functions of the bytes: they allocate
// nothing, hold no reference to what they were given, and the same bytes give
// the same answer however they were split.
//
// The grammar is RFC 9112. Where it leaves a choice, a response is read
// leniently (bare LF ends a line, folded fields, blanks before the colon) and a
// request strictly; neither guesses at a length: whatever makes the end of a
// message doubtful is an [Error].
package http1
