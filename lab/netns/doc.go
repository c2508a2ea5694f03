// Package netns makes network namespaces and works in them: for tiers that need
// settings of the network of their own, or that stand for machines of their own.
//
// The usual steps: [New] with settings, or [Open] one that ip(8) made; start tiers
// with its [Namespace.Path] and reach them with [Namespace.Dial]; [Namespace.Close].
//
// Limits: Linux, and root to make one. A namespace ends with the last process in it,
// so there is nothing to remove.
package netns
