// Package experiment reads experiment files, strictly, and knows their language: the
// placeholders of command lines, the launchers that say where tiers run, the claims.
//
// The usual steps: [Load] what a user named, a file or one of the binary's own
// ([Builtins]), or [Parse] the text of one. What is wrong comes as [Mistakes], all at
// once, each with its line, its column and what is accepted instead.
//
// Limits: it knows the file and nothing of the machine; whether an experiment can run
// is for package lab's plan to say. The structs of the format are package record's,
// since a run keeps the experiment that it ran.
package experiment
